//! The rules of an ABNF text, with their lines.

use std::collections::{BTreeMap, BTreeSet};

use abnf::types::{Kind, Node};

use super::GenerateError;

/// The core rules that ABNF texts use without defining them.
const CORE: &str = include_str!("core.abnf");

/// All rules by name: those of the text and the core rules.
pub(super) struct Rules {
    /// The rules by lower-case name: ABNF names ignore case.
    by_name: BTreeMap<String, Definition>,
    /// The lower-case names in the order of the text.
    order: Vec<String>,
}

pub(super) struct Definition {
    pub(super) name: String,
    pub(super) node: Node,
    /// The first line of the rule, counted from 1.
    pub(super) line: usize,
    /// Whether the rule is one of the core rules of RFC 5234, appendix B.1.
    pub(super) is_core: bool,
}

impl Rules {
    pub(super) fn parse(text: &str) -> Result<Self, GenerateError> {
        let mut rules = Self {
            by_name: BTreeMap::new(),
            order: Vec::new(),
        };
        for (line, block) in blocks(text)? {
            rules.add(line, &block, false)?;
        }
        let Some(first) = rules.order.first().cloned() else {
            return Err(GenerateError::abnf(
                1,
                "there is no rule; write at least one `name = elements`".to_owned(),
            ));
        };
        for (line, block) in blocks(CORE)? {
            let name = block.split(' ').next().unwrap_or_default();
            if !rules.by_name.contains_key(&name.to_lowercase()) {
                rules.add(line, &block, true)?;
            }
        }
        rules.check_names()?;
        rules.check_used(&first)?;
        Ok(rules)
    }

    /// Returns the rule with this name, for a reference in the rule `user`.
    pub(super) fn get(
        &self,
        name: &str,
        line: usize,
        user: &str,
    ) -> Result<&Definition, GenerateError> {
        self.find(name).ok_or_else(|| {
            GenerateError::abnf(
                line,
                format!(
                    "`{user}` uses the rule `{name}`, which is not defined; \
                     add `{name} = ...` or correct the name"
                ),
            )
        })
    }

    pub(super) fn find(&self, name: &str) -> Option<&Definition> {
        self.by_name.get(&name.to_lowercase())
    }

    /// Returns the first name in an expression of the overrides that is not a rule of the grammar.
    pub(super) fn undefined(&self, node: &Node) -> Option<String> {
        let mut names = Vec::new();
        references(node, &mut names);
        names.into_iter().find(|name| {
            self.used()
                .all(|rule| !rule.name.eq_ignore_ascii_case(name))
        })
    }

    /// Returns the rules of the text, then the core rules that they need.
    pub(super) fn used(&self) -> impl Iterator<Item = &Definition> {
        let reached: BTreeSet<String> = self
            .order
            .first()
            .map(|first| self.reach(first))
            .unwrap_or_default();
        self.order
            .iter()
            .filter_map(|name| self.by_name.get(name))
            .filter(move |rule| !rule.is_core || reached.contains(&rule.name.to_lowercase()))
    }

    fn add(&mut self, line: usize, block: &str, is_core: bool) -> Result<(), GenerateError> {
        let head = block.lines().next().unwrap_or_default();
        let Ok(parsed) = abnf::rulelist(block) else {
            return Err(GenerateError::abnf(
                line,
                format!(
                    "`{head}` is not a rule of RFC 5234; a rule is `name = elements`, \
                     its elements are names, \"text\", %x41-5A, ( ), [ ], / and 1*"
                ),
            ));
        };
        for rule in parsed {
            let key = rule.name().to_lowercase();
            match (rule.kind(), self.by_name.get_mut(&key)) {
                (Kind::Basic, None) => {
                    self.order.push(key.clone());
                    self.by_name.insert(
                        key,
                        Definition {
                            name: rule.name().to_owned(),
                            node: rule.node().clone(),
                            line,
                            is_core,
                        },
                    );
                }
                (Kind::Basic, Some(other)) => {
                    return Err(GenerateError::abnf(
                        line,
                        format!(
                            "`{}` is already defined on line {}; \
                             remove one, or add alternatives with `=/`",
                            rule.name(),
                            other.line
                        ),
                    ));
                }
                (Kind::Incremental, Some(known)) => {
                    let mut nodes = match &known.node {
                        Node::Alternatives(nodes) => nodes.clone(),
                        node => vec![node.clone()],
                    };
                    match rule.node() {
                        Node::Alternatives(more) => nodes.extend_from_slice(more),
                        node => nodes.push(node.clone()),
                    }
                    known.node = Node::Alternatives(nodes);
                }
                (Kind::Incremental, None) => {
                    return Err(GenerateError::abnf(
                        line,
                        format!(
                            "`{0} =/` adds to a rule that is not defined; write `{0} =`",
                            rule.name()
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), GenerateError> {
        for rule in self.by_name.values() {
            let mut names = Vec::new();
            references(&rule.node, &mut names);
            for name in names {
                self.get(&name, rule.line, &rule.name)?;
            }
        }
        Ok(())
    }

    fn check_used(&self, first: &str) -> Result<(), GenerateError> {
        let reached = self.reach(first);
        match self
            .order
            .iter()
            .filter(|name| !reached.contains(*name))
            .filter_map(|name| self.by_name.get(name))
            .find(|rule| !rule.is_core)
        {
            Some(rule) => Err(GenerateError::abnf(
                rule.line,
                format!(
                    "no rule that `{first}` leads to uses `{}`; remove it or use it",
                    rule.name
                ),
            )),
            None => Ok(()),
        }
    }

    /// Returns the names that the rule `first` leads to, including `first`.
    fn reach(&self, first: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![first.to_lowercase()];
        while let Some(name) = open.pop() {
            if let Some(rule) = self.by_name.get(&name)
                && reached.insert(name)
            {
                let mut names = Vec::new();
                references(&rule.node, &mut names);
                open.extend(names.iter().map(|name| name.to_lowercase()));
            }
        }
        reached
    }
}

/// Appends the names that an expression refers to.
fn references(node: &Node, names: &mut Vec<String>) {
    match node {
        Node::Alternatives(nodes) | Node::Concatenation(nodes) => {
            for node in nodes {
                references(node, names);
            }
        }
        Node::Repetition { node, .. } | Node::Group(node) | Node::Optional(node) => {
            references(node, names);
        }
        Node::Rulename(name) => names.push(name.clone()),
        Node::String(_) | Node::TerminalValues(_) | Node::Prose(_) => {}
    }
}

/// Splits the text into rules, each with the number of its first line. A rule begins at the margin;
/// an indented line continues the rule.
///
/// The ABNF parser reads one rule at a time, so that a mistake is reported at its rule.
fn blocks(text: &str) -> Result<Vec<(usize, String)>, GenerateError> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let is_indented = line.starts_with([' ', '\t']);
        let content = line.trim();
        if content.is_empty() || content.starts_with(';') {
            continue;
        }
        match blocks.last_mut() {
            Some((_, block)) if is_indented => {
                block.push_str(line);
                block.push('\n');
            }
            None if is_indented => {
                return Err(GenerateError::abnf(
                    index + 1,
                    format!("`{content}` continues no rule; a rule begins at the margin"),
                ));
            }
            _ => blocks.push((index + 1, format!("{line}\n"))),
        }
    }
    Ok(blocks)
}
