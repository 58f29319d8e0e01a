//! Constraints, requirements and preferences: what users oblige and forbid.

mod conflict;
mod phrases;

use std::collections::BTreeMap;

use super::item::Item;
use super::prose::Prose;
use crate::message::Role;
use crate::parsed::Parsed;
use crate::prose::Sentence;
pub(crate) use conflict::contradicts;
use phrases::{
    BEFORE_ORDERS, DAYS, IDLE, KEPT, KINDLY, LABELS, LIMITS, ORDERS, STRONG, WEAK, WISH,
};

/// A longer message is a document: only what clearly obliges counts there.
const DOCUMENT: usize = 1500;

/// Beginnings of messages that a program wrote in the user's place.
const OBSERVED: [&str; 7] = [
    "<returncode",
    "observation:",
    "exit code",
    "traceback",
    "tool result",
    "<tool_result",
    "[tool",
];

/// How strongly a constraint binds; the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Force {
    Rule,
    Wish,
}

/// A sentence that obliges, forbids or prefers, or that its speaker calls a fact or a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constraint {
    pub(crate) item: Item,
    pub(crate) force: Force,
    /// The message with an older constraint that this one contradicts.
    pub(crate) replaces: Option<usize>,
    /// The message with a newer constraint that contradicts this one.
    pub(crate) replaced: Option<usize>,
}

/// Returns the constraints in messages, oldest first. One that is said again counts again only if another has
/// contradicted it in between.
pub(super) fn constraints<'s>(prose: impl Iterator<Item = &'s Prose<'s>>) -> Vec<Constraint> {
    let mut found = Vec::new();
    let mut texts = Vec::new();
    for message in prose {
        for (sentence, force) in of_message(message) {
            texts.push(&sentence.plain);
            found.push(Constraint {
                item: Item::new(message.said.index, &*sentence.text),
                force,
                replaces: None,
                replaced: None,
            });
        }
    }
    let ends = conflict::mark(&mut found);
    let mut known: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    let mut rows = texts.into_iter().zip(ends);
    found.retain(|one| {
        let Some((text, end)) = rows.next() else {
            return false;
        };
        let before = known.get(&**text);
        let is_new = before.is_none_or(|end| end.is_some_and(|end| end < one.item.message));
        if is_new {
            known.insert(text, end);
        }
        is_new
    });
    found
}

/// Returns the sentences of a message that oblige.
fn of_message<'s>(message: &'s Prose<'_>) -> impl Iterator<Item = (&'s Sentence, Force)> {
    let Parsed { role, text, .. } = message.said;
    let start: String = text.trim_start().chars().take(16).collect();
    let start = start.to_lowercase();
    let speaks = matches!(role, Role::User | Role::System);
    let counts = speaks && !OBSERVED.iter().any(|mark| start.starts_with(mark));
    let is_document = *role == Role::System || text.len() > DOCUMENT;
    let all = message.sentences.iter().filter(move |_| counts);
    all.filter_map(move |sentence| Some((sentence, force(sentence, is_document)?)))
}

/// Returns how strongly a sentence binds; `None` if it does not.
fn force(sentence: &Sentence, is_document: bool) -> Option<Force> {
    if !(2..=80).contains(&sentence.count()) || sentence.text.ends_with(':') {
        return None;
    }
    if sentence.is_labelled(&LABELS) {
        return (!sentence.asks).then_some(Force::Rule);
    }
    let kindly = sentence.begins(&KINDLY);
    if sentence.asks && !kindly {
        return None;
    }
    let mut told = sentence.clone();
    told.plain = without(&sentence.plain, &IDLE);
    let ordered = if is_document {
        orders(&told.plain)
    } else {
        told.has(&ORDERS)
    };
    if (told.has(&STRONG) || ordered) && !(sentence.asks && told.has(&["do i", "do we"])) {
        return Some(Force::Rule);
    }
    if !is_document && sentence.is_labelled(&KEPT) {
        return (!sentence.asks).then_some(Force::Wish);
    }
    if is_document {
        return told.has(&WISH[..5]).then_some(Force::Wish);
    }
    if told.has(&WISH) {
        return (!sentence.asks).then_some(Force::Wish);
    }
    (told.has(&WEAK) || limits(&told.plain)).then_some(Force::Rule)
}

/// Returns whether an order begins in a text of words.
fn orders(words: &str) -> bool {
    ORDERS.iter().any(|order| {
        words.match_indices(&format!(" {order} ")).any(|(at, _)| {
            let before = words.get(..at).unwrap_or_default();
            let before = before.rsplit(' ').next().unwrap_or_default();
            before.is_empty() || BEFORE_ORDERS.contains(&before)
        })
    })
}

/// Returns a text of words without these phrases.
fn without(words: &str, phrases: &[&str]) -> String {
    let mut words = words.to_owned();
    for phrase in phrases {
        if words.contains(phrase) {
            words = words.replace(&format!(" {phrase} "), " ");
        }
    }
    words
}

/// Returns whether a number or a day stands behind a word of a limit.
fn limits(words: &str) -> bool {
    LIMITS.iter().any(|limit| {
        words.match_indices(limit).any(|(at, _)| {
            let rest = words.get(at + limit.len()..).unwrap_or_default();
            let starts = words.get(..at).is_some_and(|before| before.ends_with(' '));
            let next = rest
                .strip_prefix(' ')
                .and_then(|rest| rest.split(' ').next());
            let is_value = |word: &str| {
                let number = word.trim_start_matches(['$', '\u{20ac}', '\u{a3}']);
                number.starts_with(|c: char| c.is_ascii_digit()) || DAYS.contains(&word)
            };
            starts && next.is_some_and(is_value)
        })
    })
}
