//! What is known of an expression by the next character alone.

use std::collections::{BTreeMap, BTreeSet};

use super::charset::CharSet;
use super::expr::Expr;

/// How many rules a class may lie behind.
const BEHIND: usize = 24;

/// The first code that is not a character's.
const BEYOND: u32 = 0x11_0000;

/// The classes of the rules.
pub(super) struct Classes {
    /// The rules that match single characters and nothing else.
    single: BTreeMap<String, CharSet>,
    /// Characters before which a rule never fails.
    surely: BTreeMap<String, CharSet>,
}

impl Classes {
    /// Looks at all rules but those of `bounded`: they fail before certain characters.
    pub(super) fn new(rules: &BTreeMap<String, Expr>, bounded: &BTreeSet<String>) -> Self {
        let mut classes = Self {
            single: BTreeMap::new(),
            surely: BTreeMap::new(),
        };
        for _ in 0..BEHIND {
            let before = (classes.single.len(), classes.surely.len());
            for (name, expr) in rules.iter().filter(|(name, _)| !bounded.contains(*name)) {
                if classes.surely.contains_key(name) {
                    continue;
                }
                if let Some(class) = classes.single(expr) {
                    classes.single.insert(name.clone(), class);
                }
                let surely = classes.surely(expr);
                if !surely.is_empty() {
                    classes.surely.insert(name.clone(), surely);
                }
            }
            if before == (classes.single.len(), classes.surely.len()) {
                break;
            }
        }
        classes
    }

    /// Makes a letter of each of these rules: what they match is not looked at.
    pub(super) fn with_letters<'a>(names: impl Iterator<Item = &'a String>) -> Self {
        let letters = (BEYOND..).zip(names);
        Self {
            single: letters
                .map(|(letter, name)| (name.clone(), CharSet::codes(letter, letter)))
                .collect(),
            surely: BTreeMap::new(),
        }
    }

    /// Returns the characters if the expression matches single characters and nothing else.
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

    /// Returns characters before which the expression never fails in a PEG. There may be more.
    pub(super) fn surely(&self, expr: &Expr) -> CharSet {
        match expr {
            Expr::Rule(name) => self.surely.get(name).cloned().unwrap_or_default(),
            Expr::Choice { alternatives, .. } => alternatives
                .iter()
                .fold(CharSet::default(), |all, one| all.or(&self.surely(one))),
            Expr::Repeat { min: 0, .. } => CharSet::all(),
            Expr::Repeat { min: 1, item, .. } => self.surely(item),
            Expr::Sequence(parts) => {
                let may_be_absent = |part: &Expr| matches!(part, Expr::Repeat { min: 0, .. });
                match parts.split_first() {
                    Some((first, rest)) if rest.iter().all(may_be_absent) => self.surely(first),
                    _ => CharSet::default(),
                }
            }
            other => self.single(other).unwrap_or_default(),
        }
    }
}
