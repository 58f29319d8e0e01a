//! Decisions: statements of choice, with their because.

use std::collections::BTreeSet;

use super::item::Item;
use super::prose::Prose;
use crate::message::Role;
use crate::prose::Sentence;

/// A longer message of a user is a document, and states no choice.
const DOCUMENT: usize = 4000;

/// Phrases that state a choice.
const CHOSEN: [&str; 49] = [
    "i decided",
    "i've decided",
    "i have decided",
    "we decided",
    "we've decided",
    "we have decided",
    "decided to",
    "decided on",
    "decided against",
    "decision is",
    "let's go with",
    "let us go with",
    "i'll go with",
    "i will go with",
    "we'll go with",
    "we will go with",
    "going with",
    "i choose",
    "i chose",
    "we chose",
    "we choose",
    "i've chosen",
    "i have chosen",
    "was chosen",
    "is chosen",
    "chosen approach",
    "opt for",
    "opting for",
    "opted for",
    "settle on",
    "settled on",
    "settling on",
    "we agreed",
    "agreed to",
    "agreed on",
    "stick with",
    "sticking with",
    "i picked",
    "i'll pick",
    "i've selected",
    "i selected",
    "i have selected",
    "i'm selecting",
    "the best approach is",
    "the best option is",
    "the right approach is",
    "the right fix is",
    "the final answer is",
    "i'll take",
];
/// Phrases that state a choice if a reason stands beside them.
const REASONED: [&str; 29] = [
    "i'll use",
    "i will use",
    "we'll use",
    "we will use",
    "let's use",
    "we should use",
    "i used",
    "we use",
    "i'll keep",
    "i will keep",
    "we'll keep",
    "we keep",
    "i'll switch",
    "switching to",
    "switched to",
    "i'll avoid",
    "instead of",
    "rather than",
    "it's better to",
    "it is better to",
    "a better approach",
    "i'll leave",
    "i'll put",
    "i'll make",
    "i'll store",
    "i'll write",
    "i will make",
    "i will keep",
    "we'll make",
];
/// Words of a reason.
const BECAUSE: [&str; 14] = [
    "because",
    "since",
    "so that",
    "due to",
    "in order to",
    "as it",
    "as this",
    "as they",
    "to avoid",
    "to keep",
    "given that",
    "which avoids",
    "which keeps",
    "the reason",
];
/// Beginnings of a sentence with the reason of the one before it.
const REASON: [&str; 7] = [
    "because",
    "this is because",
    "that's because",
    "the reason",
    "that way",
    "this way",
    "this avoids",
];
/// Words that make a choice a question, a condition or an offer.
const OPEN: [&str; 28] = [
    "if you",
    "once",
    "if we",
    "would you",
    "do you",
    "could you",
    "should we",
    "whether",
    "might",
    "let me know",
    "once you",
    "please provide",
    "please confirm",
    "you can",
    "you could",
    "you may",
    "before we",
    "to proceed with",
    "to decide",
    "need to decide",
    "haven't decided",
    "not decided",
    "if they",
    "if it",
    "you would like",
    "you'd like",
    "to opt for",
    "not agreed",
];
/// Choices of a user that only users state.
const OF_USERS: [&str; 12] = [
    "move forward with",
    "proceed with",
    "go ahead",
    "i'll take",
    "that works",
    "i confirm",
    "yes please",
    "please book",
    "please use",
    "use my",
    "i want the",
    "confirmed",
];

/// Returns the decisions in messages, each once, oldest first.
pub(super) fn decisions(prose: &[Prose<'_>]) -> Vec<Item> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for Prose { said, sentences } in prose {
        let is_user = said.role == Role::User;
        let is_document = is_user && said.text.len() > DOCUMENT;
        if is_document || !matches!(said.role, Role::User | Role::Assistant) {
            continue;
        }
        for (at, sentence) in sentences.iter().enumerate() {
            let next = sentences.get(at + 1);
            if decides(sentence, next, is_user) && known.insert(&*sentence.plain) {
                let text = match next.filter(|next| next.begins(&REASON)) {
                    Some(because) => format!("{} {}", sentence.text, because.text),
                    None => sentence.text.clone(),
                };
                found.push(Item::new(said.index, text));
            }
        }
    }
    found
}

/// Returns whether a sentence states a choice.
fn decides(sentence: &Sentence, next: Option<&Sentence>, is_user: bool) -> bool {
    if sentence.asks || !(3..=80).contains(&sentence.count()) || sentence.has(&OPEN) {
        return false;
    }
    let reason = sentence.has(&BECAUSE) || next.is_some_and(|next| next.begins(&REASON));
    sentence.has(&CHOSEN)
        || sentence.has(&REASONED) && reason
        || is_user && sentence.has(&OF_USERS) && sentence.count() > 4
}
