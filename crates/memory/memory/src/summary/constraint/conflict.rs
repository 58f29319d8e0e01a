//! Finds constraints that contradict each other, and the newest of them.

use std::collections::BTreeSet;

use super::Constraint;
use crate::prose::{Sentence, stem, topics};

words! {
    "conflict.json";
    /// Words that turn a sentence into its opposite.
    against,
    /// Words of a correction.
    corrects,
}

/// A constraint is compared with at most this many earlier constraints.
const NEAR: usize = 200;

/// The topic of a constraint, and what the constraint says about it.
struct Claim {
    topics: BTreeSet<String>,
    /// Numbers that identify a thing, each with the word before it: `box 3`.
    things: BTreeSet<(String, String)>,
    /// Names with digits: `HAT170`.
    names: BTreeSet<String>,
    /// The other numbers: the values that the constraint asks for.
    values: BTreeSet<String>,
    is_against: bool,
    corrects: bool,
}

impl Claim {
    fn of(text: &str) -> Self {
        let sentence = Sentence::of(text);
        let mut topics = topics(text);
        topics.retain(|word| !word.contains(|c: char| c.is_ascii_digit()));
        for word in WORDS.corrects.iter().copied() {
            topics.remove(&stem(word));
        }
        let (mut things, mut values) = (BTreeSet::new(), BTreeSet::new());
        let mut names = BTreeSet::new();
        let mut before = String::new();
        for word in sentence.plain.split_whitespace() {
            if word.contains(|c: char| c.is_ascii_digit()) {
                if word.starts_with(|c: char| c.is_ascii_digit()) && topics.contains(&before) {
                    things.insert((before.clone(), word.to_owned()));
                } else {
                    values.insert(word.to_owned());
                }
                if word.starts_with(char::is_alphabetic) {
                    names.insert(word.to_owned());
                }
            }
            before = stem(word);
        }
        Self {
            topics,
            things,
            names,
            values,
            is_against: sentence.has(&WORDS.against),
            corrects: sentence.has(&WORDS.corrects),
        }
    }

    /// Returns whether this claim and `old` are about one subject: they do not name different things, and one of them
    /// has all topics of the other. A limit for hosting and a limit for advertisements are about two subjects.
    fn is_about_that_of(&self, old: &Self) -> bool {
        let names_other = !self.names.is_empty() && !old.names.is_empty();
        let names_other = names_other && self.names.is_disjoint(&old.names);
        let covers = self.topics.is_superset(&old.topics) || self.topics.is_subset(&old.topics);
        !names_other && covers
    }

    /// Returns whether this claim says the opposite of `old`, or gives another value.
    fn contradicts(&self, old: &Self) -> bool {
        let shared = self.topics.intersection(&old.topics).count();
        let fewest = self.topics.len().min(old.topics.len());
        let most = self.topics.len().max(old.topics.len());
        if shared == 0 || self.things != old.things {
            return false;
        }
        let both = !self.values.is_empty() && !old.values.is_empty();
        let other_value = both && self.values.is_disjoint(&old.values);
        let opposite = self.is_against != old.is_against;
        let one_topic = shared * 2 >= fewest && (shared > 1 || most <= 4 || other_value);
        let same_topic = shared * 3 >= most * 2;
        other_value && (same_topic || one_topic && (self.corrects || shared * 2 >= most))
            || opposite && (same_topic && shared > 1 || one_topic && self.corrects)
    }
}

/// Returns whether a text says the opposite of an older one, or another value.
pub(crate) fn contradicts(new: &str, old: &str) -> bool {
    Claim::of(new).contradicts(&Claim::of(old))
}

/// Marks the constraints that contradict older ones about the same subject. If several contradict each other, the
/// newest replaces the others. Returns for each constraint the message that contradicts it first.
pub(super) fn mark(found: &mut [Constraint]) -> Vec<Option<usize>> {
    let claims: Vec<_> = found.iter().map(|one| Claim::of(&one.item.text)).collect();
    let mut ends = vec![None; found.len()];
    for (new, later) in claims.iter().enumerate() {
        let from = new.saturating_sub(NEAR);
        let older = claims.iter().enumerate().take(new).skip(from).rev();
        let replaces = |old: &Claim| later.is_about_that_of(old) && later.contradicts(old);
        for (old, _) in older.filter(|(_, earlier)| replaces(earlier)) {
            let message = |at: usize| found.get(at).map(|one| one.item.message);
            let (now, before) = (message(new), message(old));
            if now == before {
                continue;
            }
            if let Some(end) = ends.get_mut(old) {
                *end = end.or(now);
            }
            if let Some(one) = found.get_mut(old) {
                one.replaced = now;
            }
            if let Some(one) = found.get_mut(new) {
                one.replaces = one.replaces.or(before);
            }
        }
    }
    ends
}
