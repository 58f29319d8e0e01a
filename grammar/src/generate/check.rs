//! Checks that the generated PEG accepts the same texts as the ABNF.

use std::collections::{BTreeMap, BTreeSet};

use super::classes::Classes;
use super::decision_points;
use super::equivalence;
use super::error::GenerateError;
use super::expr::{Emptiness, Expr, ExprReader, nullable};
use super::graph::{Graph, Source};
use super::overrides::{Decisions, Overrides};
use super::rules::{Definition, Rules};

/// The elements of a rule, in a form that a PEG reads in the same way as ABNF.
pub(super) struct Elements {
    pub(super) expr: Expr,
    pub(super) not_before: Option<Expr>,
    /// The number of literals in the rule and after `not-before`.
    pub(super) literals: usize,
}

/// Returns the elements of all rules that the grammar uses, by lower-case name.
///
/// Alternatives have an order in a PEG, but not in ABNF. A repetition in ABNF takes the number of items with which
/// the whole text matches. A repetition in a PEG takes all items that it can. So this function puts alternatives into
/// an order in which none hides a later one, and checks that the next characters show where each repetition and
/// option ends.
pub(super) fn elements(
    rules: &Rules,
    overrides: &Overrides,
) -> Result<BTreeMap<String, Elements>, GenerateError> {
    equivalence::check(rules, overrides)?;
    let mut read = BTreeMap::new();
    for rule in rules.used() {
        read.insert(rule.key(), (rule, read_rule(rule, overrides.of(rule))?));
    }
    let exprs = read
        .iter()
        .map(|(name, (_, elements))| (name.clone(), elements.expr.clone()))
        .collect();
    let nullable = nullable(&exprs);
    for (rule, elements) in read.values_mut() {
        without_empty(rule, elements, overrides.of(rule), &nullable)?;
    }
    let exprs: BTreeMap<_, _> = read
        .iter()
        .map(|(name, (_, elements))| (name.clone(), elements.expr.clone()))
        .collect();
    refuse_left_recursion(&read, &nullable)?;

    let bounded = read
        .iter()
        .filter(|(_, (_, elements))| elements.not_before.is_some())
        .map(|(name, _)| name.clone())
        .collect();
    let classes = Classes::new(&exprs, &bounded);
    let sources: Vec<_> = read
        .iter()
        .map(|(name, (rule, elements))| Source {
            name: name.clone(),
            rule,
            expr: &elements.expr,
            not_before: elements.not_before.as_ref(),
        })
        .collect();
    let graph = Graph::new(&sources, &classes)?;
    let orders = decision_points::orders(&sources, overrides, &graph)?;
    let mut elements = BTreeMap::new();
    for (number, (name, (rule, mut one))) in read.into_iter().enumerate() {
        if let Some(orders) = orders.get(&number) {
            one.expr.arrange(&mut 0, orders);
        }
        if let Some(empty) = one.expr.hiding(&nullable) {
            return Err(rule.error(&format!(
                "the alternative `{empty}` can be empty, so a PEG reads no other behind it; let no \
                 more than one alternative be empty, and name it last"
            )));
        }
        elements.insert(name, one);
    }
    Ok(elements)
}

fn read_rule(rule: &Definition, decisions: &Decisions) -> Result<Elements, GenerateError> {
    let mut reader = ExprReader::new(rule, decisions.case_sensitive);
    let expr = match (&decisions.order, &decisions.other) {
        (Some(order), _) => reader.choice(order)?,
        (None, Some(other)) => reader.read(other)?,
        (None, None) => reader.read(&rule.node)?,
    };
    let not_before = match &decisions.not_before {
        Some(next) => Some(reader.read(next)?),
        None => None,
    };
    Ok(Elements {
        expr,
        not_before,
        literals: reader.literals,
    })
}

fn without_empty(
    rule: &Definition,
    elements: &mut Elements,
    decisions: &Decisions,
    nullable: &BTreeSet<String>,
) -> Result<(), GenerateError> {
    let emptiness = Emptiness { nullable };
    let empty_rule = |name: String| {
        rule.error(&format!(
            "repeats `{name}`, which can be empty, so a PEG would never end; write `{name}` with at \
             least one character and `[ {name} ]` where it may be absent, or give `{}` other \
             elements in the overrides: `{} as ELEMENTS ; reason`",
            rule.name, rule.name
        ))
    };
    elements.expr = emptiness
        .without_empty(elements.expr.clone())
        .map_err(empty_rule)?;
    elements.expr.arrange(&mut 0, &BTreeMap::new());
    if let Some(next) = &mut elements.not_before {
        if next.is_nullable(nullable) {
            return Err(GenerateError::overrides(
                decisions.line,
                format!(
                    "`{}` could never end: `not-before {next}` names what can be empty",
                    rule.name
                ),
            ));
        }
        *next = emptiness.without_empty(next.clone()).map_err(empty_rule)?;
    }
    Ok(())
}

/// Refuses a rule that begins with itself.
fn refuse_left_recursion(
    read: &BTreeMap<String, (&Definition, Elements)>,
    nullable: &BTreeSet<String>,
) -> Result<(), GenerateError> {
    let firsts: BTreeMap<&str, Vec<&str>> = read
        .iter()
        .map(|(name, (_, elements))| {
            let mut names = Vec::new();
            elements.expr.begins_with(nullable, &mut names);
            (name.as_str(), names)
        })
        .collect();
    let mut rules: Vec<_> = read.iter().collect();
    rules.sort_by_key(|(_, (rule, _))| rule.line);
    let mut done = BTreeSet::new();
    for (name, _) in rules {
        // The path of rules from `name`. The number beside a rule says how many of the rules with which this rule can
        // begin were visited.
        let mut path = vec![(name.as_str(), 0)];
        while let Some((name, at)) = path.last_mut() {
            let next = firsts.get(name).and_then(|names| names.get(*at)).copied();
            *at += 1;
            let Some(next) = next else {
                done.insert(*name);
                path.pop();
                continue;
            };
            if let Some(start) = path.iter().position(|(name, _)| *name == next) {
                let shown = |name: &str| {
                    read.get(name)
                        .map_or(name, |(rule, _)| &rule.name)
                        .to_owned()
                };
                let mut circle: Vec<_> =
                    path[start..].iter().map(|(name, _)| shown(name)).collect();
                circle.push(shown(next));
                let Some((rule, _)) = read.get(next) else {
                    continue;
                };
                return Err(rule.error(&format!(
                    "begins with itself, which no PEG can read ({}); write it as a repetition",
                    circle.join(" > ")
                )));
            }
            if !done.contains(next) {
                path.push((next, 0));
            }
        }
    }
    Ok(())
}
