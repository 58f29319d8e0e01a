//! Judges whether the assistant contradicts a decision: whether it says the opposite, or gives another value.

use std::collections::BTreeSet;

use super::case::{Case, Sign};
use super::kind::Indicator;
use crate::message::Role;
use crate::prose::{Sentence, plain, sentences, stem, topics};
use crate::summary::{Item, contradicts};

words! {
    "contradiction.json";
    /// Phrases of a choice.
    chooses,
    /// Phrases that reject something.
    against,
    /// Words for choosing, which do not say what is chosen.
    choosing,
    /// Beginnings of a reason.
    because,
    /// Words of a condition or a possibility.
    open,
}

/// A decision: what is chosen, and for what purpose.
struct Decided<'b> {
    item: &'b Item,
    /// All words but those of the reason.
    says: BTreeSet<String>,
    /// The words of what is chosen.
    chosen: BTreeSet<String>,
    /// The words of the purpose; none if the sentence names no purpose.
    slot: BTreeSet<String>,
}

impl<'b> Decided<'b> {
    fn of(item: &'b Item) -> Self {
        let text = before_reason(&item.text);
        let (choice, slot) = parts(text).unwrap_or((text, ""));
        Self {
            item,
            says: chosen(text),
            chosen: chosen(choice),
            slot: chosen(slot),
        }
    }
}

/// Returns what is chosen, and for what purpose: `use A for B`, `A as B`, `for B, A`.
fn parts(text: &str) -> Option<(&str, &str)> {
    let lower = text.to_ascii_lowercase();
    let starts = ["for ", "as "].iter().any(|start| lower.starts_with(start));
    if let Some((slot, choice)) = text
        .split_once(", ")
        .or_else(|| text.split_once(" I"))
        .filter(|_| starts)
    {
        return Some((choice, slot));
    }
    text.split_once(" for ").or_else(|| text.split_once(" as "))
}

/// Returns a text without its reason.
fn before_reason(text: &str) -> &str {
    let at = WORDS
        .because
        .iter()
        .filter_map(|word| text.find(word))
        .min();
    text.get(..at.unwrap_or(text.len())).unwrap_or(text)
}

/// Returns the words of a text that may name something chosen. File names do not count.
fn chosen(text: &str) -> BTreeSet<String> {
    let is_file = |word: &&str| {
        word.contains('/') || word.trim_end_matches(['.', ',', ';', ':']).contains('.')
    };
    let words: Vec<_> = text
        .split_whitespace()
        .filter(|word| !is_file(word))
        .collect();
    let mut words = topics(&words.join(" "));
    for word in WORDS.choosing.iter().copied() {
        words.remove(&stem(word));
        words.remove(word);
    }
    words
}

/// Returns a sign for each decision that a message contradicts.
pub(super) fn judge(case: &Case<'_>) -> Vec<Sign> {
    let all = sentences(&case.message.text);
    let decisions: Vec<_> = case.content.decisions.iter().map(Decided::of).collect();
    let mut found = Vec::new();
    for (at, decision) in decisions.iter().enumerate() {
        // Of decisions about the same thing, only the latest counts.
        let later = decisions.get(at + 1..).unwrap_or_default();
        let is_old = later.iter().any(|later| {
            let shared = later.says.intersection(&decision.says).count();
            shared * 3 >= decision.says.len().max(1) * 2
        });
        if is_old {
            continue;
        }
        let against = all
            .iter()
            .find(|sentence| opposes(sentence, decision) && !asked(sentence, decision, case));
        if let Some(sentence) = against {
            let Item { message, text } = decision.item;
            let evidence = format!(
                "the assistant says \"{}\", but message {message} decided: {text}",
                sentence.text
            );
            found.push(Sign::new(
                Indicator::Contradiction,
                evidence,
                vec![*message],
            ));
        }
    }
    found
}

/// Returns whether a sentence says the opposite of a decision, or another value.
fn opposes(sentence: &Sentence, decision: &Decided<'_>) -> bool {
    if sentence.asks || decision.says.is_empty() || sentence.has(&WORDS.open) {
        return false;
    }
    let says = chosen(before_reason(&sentence.text));
    let shared: BTreeSet<_> = says.intersection(&decision.says).cloned().collect();
    if shared.len() * 3 < decision.says.len().max(1) {
        return false;
    }
    let is_same = shared.len() == decision.says.len();
    let has_other = says.difference(&decision.says).next().is_some();
    let of_slot = says.intersection(&decision.slot).count();
    let about_slot = of_slot > 0 && of_slot * 2 >= decision.slot.len();
    let chooses = sentence.has(&WORDS.chooses) && !decision.chosen.is_subset(&says);
    let replaces = chooses && about_slot && has_other;
    let turns = sentence.has(&WORDS.against) && turned(sentence, &shared);
    let one_topic = shared.len() * 3 >= says.len() * 2;
    let opposite = one_topic && contradicts(&sentence.text, &decision.item.text);
    turns
        || replaces
        || has_other_value(sentence, decision.item)
        || opposite && (!is_same || sentence.has(&WORDS.against))
}

/// Returns whether a sentence repeats a decision with another value of the same kind.
fn has_other_value(sentence: &Sentence, decision: &Item) -> bool {
    let (words, values) = valued(before_reason(&decision.text));
    let (stated, others) = valued(before_reason(&sentence.text));
    let shared = words.intersection(&stated).count();
    let is_same = shared >= 2 && shared * 4 >= words.len() * 3 && shared * 2 >= stated.len();
    let mut gone = values.difference(&others);
    is_same && gone.any(|old| others.difference(&values).any(|new| kind(old) == kind(new)))
}

/// Returns the kind of a value: whether it is a number, whether it has digits, and whether it has underscores.
fn kind(value: &str) -> [bool; 3] {
    let in_number = |c: char| c.is_ascii_digit() || ".,:$%".contains(c);
    [
        value.chars().all(in_number),
        value.contains(|c: char| c.is_ascii_digit()),
        value.contains('_'),
    ]
}

/// Returns the words of a text, and separately its values: words with digits, and names with underscores or capitals
/// inside.
fn valued(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let is_value = |word: &&str| {
        let inner = word.get(1..).unwrap_or_default();
        let marked = inner.contains(|c: char| c.is_ascii_uppercase() || c == '_');
        let is_name = marked && inner.contains(|c: char| c.is_ascii_lowercase());
        word.len() > 1 && (is_name || word.contains(|c: char| c.is_ascii_digit()))
    };
    let is_mark = |c: char| !c.is_alphanumeric();
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(is_mark));
    let (values, rest): (Vec<_>, Vec<_>) = words.partition(is_value);
    (
        topics(&rest.join(" ")),
        values.into_iter().map(str::to_lowercase).collect(),
    )
}

/// Returns whether a phrase that rejects something stands shortly before one of these words.
fn turned(sentence: &Sentence, shared: &BTreeSet<String>) -> bool {
    WORDS.against.iter().any(|phrase| {
        sentence
            .plain
            .match_indices(&format!(" {phrase} "))
            .any(|(at, found)| {
                let rest = sentence.plain.get(at + found.len()..).unwrap_or_default();
                let near: Vec<_> = rest.split_whitespace().take(5).collect();
                let near = topics(&near.join(" "));
                near.intersection(shared).count() > 0
            })
    })
}

/// Returns whether the user has asked for the change after the decision.
fn asked(sentence: &Sentence, decision: &Decided<'_>, case: &Case<'_>) -> bool {
    let says = chosen(&sentence.text);
    let new: BTreeSet<_> = says.difference(&decision.says).cloned().collect();
    let users = case
        .archive
        .iter()
        .filter(|message| message.role == Role::User);
    let mut later = users.filter(|message| message.index > decision.item.message);
    later.any(|message| {
        let wanted = chosen(&message.text);
        let named = new.intersection(&wanted).count();
        named > 0 && named * 2 >= new.len() && !plain(&message.text).contains(" don't ")
    })
}
