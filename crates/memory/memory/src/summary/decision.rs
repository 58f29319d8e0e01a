//! Decisions: statements of choice, with their reasons.

use std::collections::BTreeSet;

use super::item::Item;
use super::prose::Prose;
use crate::message::Role;
use crate::prose::Sentence;

words! {
    "decision.json";
    /// Phrases that state a choice.
    chosen,
    /// Phrases that state a choice if the same sentence or the next one gives a reason.
    reasoned,
    /// Words of a reason.
    because,
    /// Beginnings of a sentence that gives the reason for the sentence before it.
    reason,
    /// Words that make a choice a question, a condition or an offer.
    open,
    /// Phrases that state a choice only in a message of the user.
    of_users,
}

/// A message of a user with more bytes than this is a document, and states no choice.
const DOCUMENT: usize = 4000;

/// Returns the decisions in messages, each once, oldest first.
pub(super) fn decisions(prose: &[Prose<'_>]) -> Vec<Item> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for Prose { message, sentences } in prose {
        let is_user = message.role == Role::User;
        let is_document = is_user && message.text.len() > DOCUMENT;
        if is_document || !matches!(message.role, Role::User | Role::Assistant) {
            continue;
        }
        for (at, sentence) in sentences.iter().enumerate() {
            let next = sentences.get(at + 1);
            if decides(sentence, next, is_user) && known.insert(&*sentence.plain) {
                let text = match next.filter(|next| next.begins(&WORDS.reason)) {
                    Some(because) => format!("{} {}", sentence.text, because.text),
                    None => sentence.text.clone(),
                };
                found.push(Item::new(message.index, text));
            }
        }
    }
    found
}

/// Returns whether a sentence states a choice.
fn decides(sentence: &Sentence, next: Option<&Sentence>, is_user: bool) -> bool {
    if sentence.asks || !(3..=80).contains(&sentence.count()) || sentence.has(&WORDS.open) {
        return false;
    }
    let reason =
        sentence.has(&WORDS.because) || next.is_some_and(|next| next.begins(&WORDS.reason));
    sentence.has(&WORDS.chosen)
        || sentence.has(&WORDS.reasoned) && reason
        || is_user && sentence.has(&WORDS.of_users) && sentence.count() > 4
}
