//! Checks that the elements that an override gives to a rule accept the same texts as the ABNF.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::charset::CharSet;
use super::classes::Classes;
use super::decision_points::narrowing;
use super::error::GenerateError;
use super::expr::{Expr, ExprReader};
use super::graph::{Fragment, Graph, GraphNode, Source};
use super::overrides::Overrides;
use super::rules::{Definition, Rules};
use super::walk::{State, Walker, start};

/// The most pairs of states that the comparison looks at.
const STATES: usize = 20_000;

/// Refuses elements of the overrides that do not accept the same texts as the ABNF.
pub(super) fn check(rules: &Rules, overrides: &Overrides) -> Result<(), GenerateError> {
    let mut all = BTreeMap::new();
    for rule in rules.used() {
        let decisions = overrides.of(rule);
        let Some(other) = &decisions.other else {
            continue;
        };
        if all.is_empty() {
            for rule in rules.all() {
                let read =
                    ExprReader::new(rule, overrides.of(rule).case_sensitive).read(&rule.node);
                all.insert(rule.key(), (rule, read?));
            }
        }
        let mut reader = ExprReader::new(rule, decisions.case_sensitive);
        let exprs = [&reader.read(&rule.node)?, &reader.read(other)?];
        let message = match compare(rule, &all, exprs, decisions.narrows)? {
            Comparison::Same => continue,
            Comparison::TooLarge => "`as` is too large to be compared with the ABNF".to_owned(),
            Comparison::Differ {
                text,
                is_of_abnf: true,
            } => format!("the ABNF has the text {text:?} here, and `as` does not"),
            Comparison::Differ { text, .. } => {
                return Err(GenerateError::overrides(
                    decisions.line,
                    format!(
                        "`{}`: `as` has the text {text:?} here, and the ABNF does not; correct the row",
                        rule.name
                    ),
                ));
            }
        };
        return Err(narrowing(&rule.name, decisions, &message));
    }
    Ok(())
}

/// The result of the comparison.
enum Comparison {
    Same,
    /// A text that only one of the two expressions matches.
    Differ {
        text: String,
        is_of_abnf: bool,
    },
    TooLarge,
}

/// Compares the texts of the elements `abnf` with those of the elements `other`. A rule that leads back to itself
/// counts as one letter. With `narrows`, `other` may have fewer texts.
fn compare(
    rule: &Definition,
    rules: &BTreeMap<String, (&Definition, Expr)>,
    [abnf, other]: [&Expr; 2],
    narrows: bool,
) -> Result<Comparison, GenerateError> {
    let circles: BTreeSet<String> = rules
        .keys()
        .filter(|name| leads_to(rules, name, name))
        .cloned()
        .collect();
    let classes = Classes::with_letters(circles.iter());
    let mut sources: Vec<_> = [abnf, other]
        .into_iter()
        .map(|expr| Source {
            name: String::new(),
            rule,
            expr,
            not_before: None,
        })
        .collect();
    for (name, (rule, expr)) in rules.iter().filter(|(name, _)| !circles.contains(*name)) {
        sources.push(Source {
            name: name.clone(),
            rule,
            expr,
            not_before: None,
        });
    }
    let graph = Graph::new(&sources, &classes)?;
    let parts = [0, 1].map(|at| Fragment {
        from: graph.entries[at],
        to: graph.exits[at],
    });
    let mut walker = Walker::new(&graph);
    let mut seen = HashSet::new();
    let first = parts.map(|part| vec![start(part)]);
    let mut open = vec![(first, String::new())];
    while let Some((starts, text)) = open.pop() {
        let mut states = Vec::new();
        let mut ends = Vec::new();
        for (state, part) in starts.iter().zip(parts) {
            let (next, is_end) = walker.next(state, part.to);
            states.push(next);
            ends.push(is_end);
        }
        if ends[0] != ends[1] && !(narrows && ends[0]) {
            let is_of_abnf = ends[0];
            return Ok(Comparison::Differ { text, is_of_abnf });
        }
        let key = (states[0].clone(), states[1].clone());
        if !seen.insert(key) {
            continue;
        }
        if seen.len() > STATES {
            return Ok(Comparison::TooLarge);
        }
        for letters in letters(&graph, &states) {
            let [one, two] = [0, 1].map(|at| follow(&graph, &states[at], &letters));
            if two.is_empty() && (narrows || one.is_empty()) {
                continue;
            }
            let shown = letters.example().map_or("…".to_owned(), String::from);
            open.push(([one, two], format!("{text}{shown}")));
        }
    }
    Ok(Comparison::Same)
}

/// Splits the characters into sets such that each state accepts all characters of a set, or none of them.
fn letters(graph: &Graph, states: &[Vec<State>]) -> Vec<CharSet> {
    let mut cuts = BTreeSet::new();
    for (node, _) in states.iter().flatten() {
        if let GraphNode::Char { set, .. } = &graph.nodes[*node] {
            for (from, to) in set.ranges() {
                cuts.extend([*from, to + 1]);
            }
        }
    }
    let cuts: Vec<_> = cuts.into_iter().collect();
    let pairs = cuts.windows(2);
    pairs
        .map(|pair| CharSet::codes(pair[0], pair[1] - 1))
        .collect()
}

/// Returns the states after one character of `letters`.
fn follow(graph: &Graph, states: &[State], letters: &CharSet) -> Vec<State> {
    let mut next = Vec::new();
    for (node, stack) in states {
        if let GraphNode::Char {
            set, next: then, ..
        } = &graph.nodes[*node]
            && !set.and(letters).is_empty()
        {
            next.push((*then, *stack));
        }
    }
    next.sort_unstable();
    next.dedup();
    next
}

fn leads_to(rules: &BTreeMap<String, (&Definition, Expr)>, from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(name) = open.pop() {
        let mut names = Vec::new();
        if let Some((_, expr)) = rules.get(&name) {
            expr.references(&mut names);
        }
        for name in names {
            if name == to {
                return true;
            }
            if seen.insert(name.to_owned()) {
                open.push(name.to_owned());
            }
        }
    }
    false
}
