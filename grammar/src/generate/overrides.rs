//! Reads the table of decisions that a PEG needs and that the ABNF leaves open.

use std::collections::BTreeMap;

use abnf::types::Node;

use super::error::GenerateError;
use super::rules::{BYTE_ORDER_MARK, Definition, HAS_BYTE_ORDER_MARK, Rules, lowercase_marks};

/// The decisions, by lower-case rule name.
#[derive(Default)]
pub(super) struct Overrides {
    by_rule: BTreeMap<String, Decisions>,
    none: Decisions,
}

/// The decisions about one rule.
#[derive(Default)]
pub(super) struct Decisions {
    /// The last line with a decision about the rule, counted from 1.
    pub(super) line: usize,
    pub(super) whole_input: bool,
    pub(super) order: Option<Vec<Node>>,
    /// The elements to use instead of the elements in the ABNF. They accept the same texts, unless `narrows` is set.
    pub(super) other: Option<Node>,
    /// Whether the rule may refuse texts of the ABNF.
    pub(super) narrows: bool,
    pub(super) not_before: Option<Node>,
    pub(super) case_sensitive: bool,
    pub(super) modifier: Modifier,
    pub(super) marks: Option<Vec<String>>,
    pub(super) rename: Option<String>,
}

/// The nodes that a rule makes in the tree.
#[derive(Default, Clone, Copy, PartialEq)]
pub(super) enum Modifier {
    /// A node, with the nodes of the inner rules.
    #[default]
    None,
    /// A node without inner nodes.
    Atomic,
    /// No node.
    Silent,
}

impl Overrides {
    /// Reads the table, and removes from `rules` the rules that are no longer needed because of the table.
    pub(super) fn parse(text: &str, rules: &mut Rules) -> Result<Self, GenerateError> {
        let mut overrides = Self::default();
        for (index, line) in text.lines().enumerate() {
            if line.starts_with(BYTE_ORDER_MARK) {
                return Err(GenerateError::overrides(
                    index + 1,
                    HAS_BYTE_ORDER_MARK.to_owned(),
                ));
            }
            let content = line.trim();
            if !content.is_empty() && !content.starts_with(';') {
                overrides.add(index + 1, content, rules)?;
            }
        }
        let decided = overrides.by_rule.iter();
        let other = decided
            .clone()
            .filter_map(|(name, decisions)| Some((name.clone(), decisions.other.as_ref()?)))
            .collect();
        let more: Vec<_> = decided
            .filter_map(|(_, one)| one.not_before.as_ref())
            .collect();
        rules.replace(&other, &more);
        for rule in rules.used() {
            overrides.check_name(rule)?;
        }
        Ok(overrides)
    }

    pub(super) fn of(&self, rule: &Definition) -> &Decisions {
        self.by_rule
            .get(&rule.name.to_lowercase())
            .unwrap_or(&self.none)
    }

    /// Returns the rule's name in the generated grammar.
    pub(super) fn pest_name(&self, rule: &Definition) -> String {
        match &self.of(rule).rename {
            Some(name) => name.clone(),
            None => rule.name.replace('-', "_"),
        }
    }

    /// Adds one row: `rule decision [operand] ; reason`.
    fn add(&mut self, line: usize, row: &str, rules: &Rules) -> Result<(), GenerateError> {
        let error = |message: String| Err(GenerateError::overrides(line, message));
        let Some((row, reason)) = row.split_once(" ;") else {
            return error(format!(
                "`{row}` gives no reason; write `rule decision ; reason`"
            ));
        };
        if reason.trim().is_empty() {
            return error(format!(
                "`{}` has an empty reason after `;`; say why",
                row.trim()
            ));
        }
        let (name, rest) = first_word(row);
        let (decision, operand) = first_word(rest);
        if name == "*" {
            if (decision, operand) != ("greedy", "") {
                return error(format!(
                    "`* {rest}` is not a decision for all rules; only `* greedy` is"
                ));
            }
            // The row changes nothing: the checks find out without it whether repetitions may take all items that
            // they can.
            return Ok(());
        }
        let Some(rule) = rules.find(name).filter(|rule| !rule.is_core) else {
            return error(format!(
                "the ABNF has no rule `{name}`; correct the name or remove the row"
            ));
        };

        let decisions = self.by_rule.entry(rule.name.to_lowercase()).or_default();
        decisions.line = line;
        let takes_operand = matches!(decision, "order" | "as" | "not-before" | "marks" | "rename");
        if takes_operand == operand.is_empty() {
            let fault = if takes_operand {
                "needs an"
            } else {
                "takes no"
            };
            return error(format!("`{name} {decision}` {fault} operand"));
        }
        let is_new = match decision {
            "whole-input" => !std::mem::replace(&mut decisions.whole_input, true),
            "case-sensitive" => !std::mem::replace(&mut decisions.case_sensitive, true),
            "narrows" => !std::mem::replace(&mut decisions.narrows, true),
            "as" => {
                let node = expression(line, operand, rules)?;
                decisions.other.replace(node).is_none()
            }
            "atomic" => decisions.modify(Modifier::Atomic),
            "silent" => decisions.modify(Modifier::Silent),
            "order" => {
                let order = order(line, rule, operand)?;
                decisions.order.replace(order).is_none()
            }
            "not-before" => {
                let node = expression(line, operand, rules)?;
                decisions.not_before.replace(node).is_none()
            }
            "marks" => {
                let names = operand.split_whitespace().map(str::to_owned).collect();
                decisions.marks.replace(names).is_none()
            }
            "rename" => decisions.rename.replace(operand.to_owned()).is_none(),
            _ => {
                return error(format!(
                    "`{decision}` is not a decision; there are whole-input, order, as, narrows, \
                     not-before, case-sensitive, atomic, silent, marks and rename"
                ));
            }
        };
        if decisions.order.is_some() && decisions.other.is_some() {
            return error(format!(
                "`{name}` has both `order` and `as`; write the alternatives of `as` in their order"
            ));
        }
        if !is_new {
            return error(format!(
                "`{name} {decision}` repeats or contradicts an earlier row; remove one"
            ));
        }
        Ok(())
    }

    fn check_name(&self, rule: &Definition) -> Result<(), GenerateError> {
        let name = self.pest_name(rule);
        let decisions = self.of(rule);
        let fault = if is_reserved(&name) {
            format!("`{name}` is a reserved word of Rust or pest")
        } else if !is_identifier(&name) {
            format!("`{name}` is not a name for a pest rule (letters, digits, `_`)")
        } else {
            let marks = decisions.marks.iter().flatten();
            return match marks.into_iter().find(|mark| !is_identifier(mark)) {
                Some(mark) => Err(GenerateError::overrides(
                    decisions.line,
                    format!("`{mark}` is not a name for a mark (letters, digits, `_`)"),
                )),
                None => Ok(()),
            };
        };
        Err(match &decisions.rename {
            Some(_) => GenerateError::overrides(decisions.line, format!("{fault}; choose another")),
            None => GenerateError::abnf(
                rule.line,
                format!(
                    "{fault}; give the rule another name in the overrides: \
                     `{} rename NAME ; reason`",
                    rule.name
                ),
            ),
        })
    }
}

impl Decisions {
    /// Returns false when the rule already had a modifier.
    fn modify(&mut self, modifier: Modifier) -> bool {
        std::mem::replace(&mut self.modifier, modifier) == Modifier::None
    }
}

/// Returns the first word of a row, and the rest.
fn first_word(row: &str) -> (&str, &str) {
    let (word, rest) = row
        .trim()
        .split_once([' ', '\t'])
        .unwrap_or((row.trim(), ""));
    (word, rest.trim())
}

/// Reads the operand of `order`: all alternatives of the rule in another order, each once.
fn order(line: usize, rule: &Definition, operand: &str) -> Result<Vec<Node>, GenerateError> {
    let alternatives: &[Node] = match &rule.node {
        Node::Alternatives(nodes) => nodes,
        _ => &[],
    };
    let mut order = Vec::new();
    for word in operand.split('/').map(str::trim) {
        match alternatives.iter().find(|node| node.to_string() == word) {
            Some(node) if !order.contains(node) => order.push(node.clone()),
            _ => order.clear(),
        }
    }
    if order.is_empty() || order.len() != alternatives.len() {
        return Err(GenerateError::overrides(
            line,
            format!(
                "`{operand}` must name each alternative of `{} = {}` once",
                rule.name, rule.node
            ),
        ));
    }
    Ok(order)
}

/// Reads the operand of `not-before`: an expression in ABNF.
fn expression(line: usize, operand: &str, rules: &Rules) -> Result<Node, GenerateError> {
    // The ABNF parser reads only rules, so the expression becomes a rule.
    let wrapped = format!("operand = {operand}\n");
    let mut parsed = abnf::rulelist(&lowercase_marks(&wrapped))
        .unwrap_or_default()
        .into_iter();
    let (Some(rule), None) = (parsed.next(), parsed.next()) else {
        return Err(GenerateError::overrides(
            line,
            format!("`{operand}` is not an ABNF expression, such as `safe-char / \"x\"`"),
        ));
    };
    if let Some(name) = rules.undefined(rule.node()) {
        return Err(GenerateError::overrides(
            line,
            format!(
                "`{operand}` uses the rule `{name}`, which the ABNF does not define; \
                 correct the name or spell the rule out"
            ),
        ));
    }
    Ok(rule.node().clone())
}

fn is_identifier(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns whether pest refuses a name, or gives it a special meaning.
fn is_reserved(name: &str) -> bool {
    const WORDS: &str = " abstract alignof as become box break const continue crate do else enum \
        extern false final fn for if impl in let loop macro match mod move mut offsetof override \
        priv proc pure pub ref return Self self sizeof static struct super trait true type typeof \
        unsafe unsized use virtual where while yield _ ANY DROP EOI PEEK PEEK_ALL POP POP_ALL \
        PUSH SOI NEWLINE WHITESPACE COMMENT ";
    WORDS.split_whitespace().any(|word| word == name)
}
