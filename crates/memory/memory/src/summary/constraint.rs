//! Constraints, requirements and preferences: what users require, forbid or prefer.

mod conflict;

use std::collections::BTreeMap;

use super::item::Item;
use super::prose::Prose;
use crate::message::Role;
use crate::parsed::Parsed;
use crate::prose::Sentence;
pub(crate) use conflict::contradicts;

words! {
    "constraint.json";
    /// Beginnings of messages that a program wrote in the user's place.
    observed,
    /// Phrases that require or forbid something, whatever words stand around them.
    strong,
    /// Phrases that require something, as an order. In a document they count only where an order begins.
    orders,
    /// Words that may stand before an order.
    before_orders,
    /// Phrases that require something only in a message of a few sentences.
    weak,
    /// Words that speakers put before a sentence that requires or forbids something: `Rule: no latex here.`
    labels,
    /// Words that speakers put before something that must not be forgotten: `Fact: Priya is on call.`
    kept,
    /// Phrases of a preference.
    preference,
    /// Phrases of a wish. In a document they do not count.
    wish,
    /// Phrases that sound like a constraint and are not one.
    idle,
    /// Words before a number or a day that make it a limit.
    limits,
    /// Names of days and months.
    days,
    /// Polite beginnings of a question that is an order.
    kindly,
}

/// A message with more bytes than this is a document. In a document only clear requirements count.
const DOCUMENT: usize = 1500;

/// How strongly a constraint binds; the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Force {
    Rule,
    Wish,
}

/// A sentence that requires, forbids or prefers something, or that its speaker calls a fact or a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constraint {
    pub(crate) item: Item,
    pub(super) force: Force,
    /// The message with an older constraint that this one contradicts.
    pub(crate) replaces: Option<usize>,
    /// The message with a newer constraint that contradicts this one.
    pub(crate) replaced: Option<usize>,
}

/// Returns the constraints in messages, the oldest first. If one is repeated, the repetition counts only if another
/// constraint has contradicted it before.
pub(super) fn constraints<'s>(prose: impl Iterator<Item = &'s Prose<'s>>) -> Vec<Constraint> {
    let mut found = Vec::new();
    let mut texts = Vec::new();
    for one in prose {
        for (sentence, force) in of_message(one) {
            texts.push(&sentence.plain);
            found.push(Constraint {
                item: Item::new(one.message.index, &*sentence.text),
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

/// Returns the sentences of a message that require, forbid or prefer something.
fn of_message<'s>(prose: &'s Prose<'_>) -> impl Iterator<Item = (&'s Sentence, Force)> {
    let Parsed { role, text, .. } = prose.message;
    let start: String = text.trim_start().chars().take(16).collect();
    let start = start.to_lowercase();
    let speaks = matches!(role, Role::User | Role::System);
    let counts = speaks && !WORDS.observed.iter().any(|mark| start.starts_with(mark));
    let is_document = *role == Role::System || text.len() > DOCUMENT;
    let all = prose.sentences.iter().filter(move |_| counts);
    all.filter_map(move |sentence| Some((sentence, force(sentence, is_document)?)))
}

/// Returns how strongly a sentence binds; `None` if it does not.
fn force(sentence: &Sentence, is_document: bool) -> Option<Force> {
    if !(2..=80).contains(&sentence.count()) || sentence.text.ends_with(':') {
        return None;
    }
    if sentence.is_labelled(&WORDS.labels) {
        return (!sentence.asks).then_some(Force::Rule);
    }
    let kindly = sentence.begins(&WORDS.kindly);
    if sentence.asks && !kindly {
        return None;
    }
    let mut bare = sentence.clone();
    bare.plain = without(&sentence.plain, &WORDS.idle);
    let ordered = if is_document {
        orders(&bare.plain)
    } else {
        bare.has(&WORDS.orders)
    };
    if (bare.has(&WORDS.strong) || ordered) && !(sentence.asks && bare.has(&["do i", "do we"])) {
        return Some(Force::Rule);
    }
    if !is_document && sentence.is_labelled(&WORDS.kept) {
        return (!sentence.asks).then_some(Force::Wish);
    }
    if is_document {
        return bare.has(&WORDS.preference).then_some(Force::Wish);
    }
    if bare.has(&WORDS.preference) || bare.has(&WORDS.wish) {
        return (!sentence.asks).then_some(Force::Wish);
    }
    (bare.has(&WORDS.weak) || limits(&bare.plain)).then_some(Force::Rule)
}

/// Returns whether an order begins in the words of a sentence.
fn orders(words: &str) -> bool {
    WORDS.orders.iter().any(|order| {
        words.match_indices(&format!(" {order} ")).any(|(at, _)| {
            let before = words.get(..at).unwrap_or_default();
            let before = before.rsplit(' ').next().unwrap_or_default();
            before.is_empty() || WORDS.before_orders.contains(&before)
        })
    })
}

/// Returns the words of a sentence without these phrases.
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
    WORDS.limits.iter().any(|limit| {
        words.match_indices(limit).any(|(at, _)| {
            let rest = words.get(at + limit.len()..).unwrap_or_default();
            let starts = words.get(..at).is_some_and(|before| before.ends_with(' '));
            let next = rest
                .strip_prefix(' ')
                .and_then(|rest| rest.split(' ').next());
            let is_value = |word: &str| {
                let number = word.trim_start_matches(['$', '\u{20ac}', '\u{a3}']);
                number.starts_with(|c: char| c.is_ascii_digit()) || WORDS.days.contains(&word)
            };
            starts && next.is_some_and(is_value)
        })
    })
}
