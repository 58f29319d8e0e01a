//! Finds, for each rule, whether it matches only single characters, and before which characters it never fails.

use std::collections::{BTreeMap, BTreeSet};

use super::charset::CharSet;
use super::expr::Expr;

/// The longest chain of rules through which the class of a rule is found.
const BEHIND: usize = 24;

/// The first code above the codes of all characters.
const BEYOND: u32 = 0x11_0000;

/// The classes of the rules.
pub(super) struct Classes {
    /// The rules that match single characters and nothing else.
    single: BTreeMap<String, CharSet>,
    /// For each rule, characters before which the rule never fails.
    never_fails: BTreeMap<String, CharSet>,
}

impl Classes {
    /// Finds the classes of all rules, except of the rules in `bounded`: those fail before certain characters.
    pub(super) fn new(rules: &BTreeMap<String, Expr>, bounded: &BTreeSet<String>) -> Self {
        let mut classes = Self {
            single: BTreeMap::new(),
            never_fails: BTreeMap::new(),
        };
        for _ in 0..BEHIND {
            let before = (classes.single.len(), classes.never_fails.len());
            for (name, expr) in rules.iter().filter(|(name, _)| !bounded.contains(*name)) {
                if classes.never_fails.contains_key(name) {
                    continue;
                }
                if let Some(class) = classes.single(expr) {
                    classes.single.insert(name.clone(), class);
                }
                let never_fails = classes.never_fails_before(expr);
                if !never_fails.is_empty() {
                    classes.never_fails.insert(name.clone(), never_fails);
                }
            }
            if before == (classes.single.len(), classes.never_fails.len()) {
                break;
            }
        }
        classes
    }

    /// Gives each of these rules its own letter. The letter stands for any text that the rule matches.
    pub(super) fn with_letters<'a>(names: impl Iterator<Item = &'a String>) -> Self {
        let letters = (BEYOND..).zip(names);
        Self {
            single: letters
                .map(|(letter, name)| (name.clone(), CharSet::codes(letter, letter)))
                .collect(),
            never_fails: BTreeMap::new(),
        }
    }

    /// Returns the characters that the expression matches; `None` if the expression also matches other texts than
    /// single characters.
    pub(super) fn single(&self, expr: &Expr) -> Option<CharSet> {
        match expr {
            Expr::Literal { text, folds, .. } => {
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => Some(CharSet::letter(c, *folds)),
                    _ => None,
                }
            }
            Expr::Range(from, to) => Some(CharSet::range(*from, *to)),
            Expr::Rule(name) => self.single.get(name).cloned(),
            Expr::Choice { alternatives, .. } => {
                let mut classes = alternatives.iter().map(|one| self.single(one));
                classes.try_fold(CharSet::default(), |all, class| Some(all.or(&class?)))
            }
            Expr::Sequence(_) | Expr::Repeat { .. } => None,
        }
    }

    /// Returns characters: if one of them comes next, the expression never fails in a PEG. The set may be incomplete.
    pub(super) fn never_fails_before(&self, expr: &Expr) -> CharSet {
        match expr {
            Expr::Rule(name) => self.never_fails.get(name).cloned().unwrap_or_default(),
            Expr::Choice { alternatives, .. } => {
                alternatives.iter().fold(CharSet::default(), |all, one| {
                    all.or(&self.never_fails_before(one))
                })
            }
            Expr::Repeat { min: 0, .. } => CharSet::all(),
            Expr::Repeat { min: 1, item, .. } => self.never_fails_before(item),
            Expr::Sequence(parts) => {
                let may_be_absent = |part: &Expr| matches!(part, Expr::Repeat { min: 0, .. });
                match parts.split_first() {
                    Some((first, rest)) if rest.iter().all(may_be_absent) => {
                        self.never_fails_before(first)
                    }
                    _ => CharSet::default(),
                }
            }
            other => self.single(other).unwrap_or_default(),
        }
    }
}
