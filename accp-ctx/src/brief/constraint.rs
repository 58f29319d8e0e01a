//! Constraints, requirements and preferences: what users oblige and forbid.

mod conflict;

use std::collections::BTreeSet;

use super::item::Item;
use crate::message::Role;
use crate::prose::{Sentence, plain, sentences};
use crate::said::Said;

/// A longer message is a document: only what clearly obliges counts there.
const DOCUMENT: usize = 1500;

/// Phrases that oblige or forbid, whatever stands around them.
const STRONG: [&str; 41] = [
    "must",
    "mustn't",
    "never",
    "always",
    "at most",
    "at least",
    "no more than",
    "not more than",
    "no less than",
    "no fewer than",
    "no later than",
    "no earlier than",
    "not exceed",
    "nothing over",
    "nothing above",
    "do not",
    "don't",
    "dont",
    "budget",
    "deadline",
    "required",
    "mandatory",
    "requirement",
    "make sure",
    "ensure",
    "be sure to",
    "avoid",
    "should not",
    "shouldn't",
    "under no circumstances",
    "forbidden",
    "prohibited",
    "not allowed",
    "off limits",
    "off-limits",
    "strictly",
    "mustnt",
    "shall not",
    "may not",
    "refrain from",
    "not acceptable",
];
/// Phrases that oblige in a message of a few sentences.
const WEAK: [&str; 41] = [
    "only",
    "need to",
    "needs to",
    "need it to",
    "have to",
    "has to",
    "cannot",
    "can't",
    "can not",
    "without",
    "should",
    "shall",
    "unless",
    "except",
    "except for",
    "limit",
    "limited to",
    "maximum",
    "minimum",
    "max",
    "exactly",
    "as long as",
    "instead of",
    "rather than",
    "no longer than",
    "allergic",
    "nothing else",
    "require",
    "requires",
    "keep it",
    "stick to",
    "leave out",
    "won't",
    "not willing",
    "not interested in",
    "is fixed",
    "non-negotiable",
    "cap",
    "has to be",
    "need",
    "keeping",
];
/// Phrases of a preference or a wish.
const WISH: [&str; 24] = [
    "prefer",
    "prefers",
    "preferred",
    "preferably",
    "preference",
    "i want",
    "i'd want",
    "we want",
    "i'd like",
    "i would like",
    "we'd like",
    "we would like",
    "i'd rather",
    "i would rather",
    "ideally",
    "i'm looking for",
    "i am looking for",
    "would be best",
    "works best",
    "i'm flexible",
    "i like",
    "i love",
    "i hate",
    "favor",
];
/// Phrases that sound like one and are none.
const IDLE: [&str; 74] = [
    "i don't know",
    "i do not know",
    "don't worry",
    "do not worry",
    "never mind",
    "nevermind",
    "i don't think",
    "i do not think",
    "i don't see",
    "i do not see",
    "i don't remember",
    "i don't recall",
    "i don't understand",
    "i don't believe",
    "i don't have",
    "i do not have",
    "i don't get",
    "don't hesitate",
    "do not hesitate",
    "don't you",
    "don't we",
    "can't wait",
    "cannot wait",
    "can't believe",
    "can't find",
    "cannot find",
    "can't see",
    "cannot see",
    "can't remember",
    "can't recall",
    "can't seem",
    "can't access",
    "can't locate",
    "cannot locate",
    "as always",
    "always been",
    "i've always",
    "i always",
    "i have always",
    "if only",
    "not only",
    "only just",
    "i only see",
    "only thing i",
    "if you don't mind",
    "don't mind",
    "i have to admit",
    "i have to say",
    "i must say",
    "i must admit",
    "there must be",
    "must have been",
    "must be a mistake",
    "you must be",
    "it must be",
    "you should see",
    "you should be able to",
    "you should know",
    "should be fine",
    "should be good",
    "should be okay",
    "should work",
    "that should",
    "all i need to know",
    "i just need to know",
    "need help",
    "need a moment",
    "need more time",
    "i never got",
    "i never received",
    "have never",
    "has never",
    "i'd like to know",
    "let me make sure",
];
/// Words before a number or a day that make it a limit.
const LIMITS: [&str; 17] = [
    "under",
    "below",
    "over",
    "above",
    "within",
    "less than",
    "fewer than",
    "more than",
    "up to",
    "by",
    "before",
    "after",
    "until",
    "no",
    "max",
    "between",
    "around",
];
/// Words of days, beside digits.
const DAYS: [&str; 24] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "today",
    "tonight",
    "tomorrow",
    "noon",
    "midnight",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "eod",
];
/// Polite beginnings of a question that is an order.
const KINDLY: [&str; 9] = [
    "can you",
    "could you",
    "would you",
    "will you",
    "can we",
    "could we",
    "please",
    "and please",
    "also please",
];
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

/// A sentence that obliges, forbids or prefers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constraint {
    pub(crate) item: Item,
    pub(crate) force: Force,
    /// The message with an older constraint that this one contradicts.
    pub(crate) replaces: Option<usize>,
    /// The message with a newer constraint that contradicts this one.
    pub(crate) replaced: Option<usize>,
}

/// Returns the constraints in messages, each once, oldest first.
pub(super) fn constraints<'s>(said: impl Iterator<Item = &'s Said>) -> Vec<Constraint> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for message in said {
        for (sentence, force) in of_message(message) {
            if known.insert(sentence.plain) {
                found.push(Constraint {
                    item: Item::new(message.index, sentence.text),
                    force,
                    replaces: None,
                    replaced: None,
                });
            }
        }
    }
    conflict::mark(&mut found);
    found
}

/// Returns the sentences of a message that oblige.
fn of_message(message: &Said) -> Vec<(Sentence, Force)> {
    let speaks = matches!(message.role, Role::User | Role::System);
    let start = message
        .text
        .trim_start()
        .get(..16)
        .unwrap_or_default()
        .to_lowercase();
    if !speaks || OBSERVED.iter().any(|mark| start.starts_with(mark)) {
        return Vec::new();
    }
    let is_document = message.role == Role::System || message.text.len() > DOCUMENT;
    let all = sentences(&message.text).into_iter();
    all.filter_map(|sentence| {
        let force = force(&sentence, is_document)?;
        Some((sentence, force))
    })
    .collect()
}

/// Returns how strongly a sentence binds; `None` if it does not.
pub(crate) fn force(sentence: &Sentence, is_document: bool) -> Option<Force> {
    if !(2..=80).contains(&sentence.count()) || sentence.text.ends_with(':') {
        return None;
    }
    let kindly = sentence.begins(&KINDLY);
    if sentence.asks && !kindly {
        return None;
    }
    let told = Sentence {
        plain: without(&sentence.plain, &IDLE),
        ..sentence.clone()
    };
    if told.has(&STRONG) && !(sentence.asks && told.has(&["do i", "do we"])) {
        return Some(Force::Rule);
    }
    if is_document {
        return told.has(&WISH[..5]).then_some(Force::Wish);
    }
    if told.has(&WISH) {
        return (!sentence.asks).then_some(Force::Wish);
    }
    (told.has(&WEAK) || limits(&told.plain)).then_some(Force::Rule)
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

/// Returns whether a text of a list has the words of a constraint, whatever the white space.
pub(crate) fn stands_in(constraint: &str, text: &str) -> bool {
    plain(text).contains(plain(constraint).trim())
}
