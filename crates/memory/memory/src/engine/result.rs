//! Results in the messages of a list: where their texts stand, and whether they may change.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::message::{ListMessage, Role};
use crate::raw::Pointer;

/// A message with one of these members stays as it is: a mark for a cache, or a signature.
const KEPT: [&str; 2] = ["cache_control", "signature"];
/// The fewest characters of a word in a call that is looked for in the call's result.
const WORD: usize = 5;

/// The text of a result as a list gives it.
#[derive(Debug)]
pub(super) struct Given {
    /// The id of the call; empty if the result has none.
    pub(super) id: String,
    /// The place among all results of the message, from 0.
    pub(super) at: usize,
    pub(super) text: String,
    pub(super) place: Pointer,
    /// Whether the text may get another form.
    pub(super) may_change: bool,
    /// Whether the call failed.
    pub(super) has_failed: bool,
}

impl Given {
    /// Returns the results of a message that are texts. A message of the user is a result if its name is in `named`.
    pub(super) fn of(message: &ListMessage, named: &BTreeSet<String>) -> Vec<Self> {
        // Half of a surrogate pair would become another character.
        let is_kept = has_member(message.json(), &KEPT) || message.lone().places().next().is_some();
        let mut found = Vec::new();
        for (at, answer) in message.answers.iter().enumerate() {
            if let Some((place, text)) = text_at(message.json(), &answer.content) {
                found.push(Self {
                    id: answer.id.clone(),
                    at,
                    text: text.to_owned(),
                    place,
                    may_change: !answer.failed && !is_kept,
                    has_failed: answer.failed,
                });
            }
        }
        if message.answers.is_empty() && Self::count(message, named) > 0 {
            let content = Pointer::of(["content".into()]);
            if let Some((place, text)) = text_at(message.json(), &content) {
                found.push(Self {
                    id: String::new(),
                    at: 0,
                    text: text.to_owned(),
                    place,
                    may_change: !is_kept,
                    has_failed: false,
                });
            }
        }
        found
    }

    /// Returns how many results a message has, also those that are not texts.
    pub(super) fn count(message: &ListMessage, named: &BTreeSet<String>) -> usize {
        let is_named = message.name().is_some_and(|name| named.contains(name));
        let is_result = message.role == Role::User && is_named;
        message.answers.len().max(usize::from(is_result))
    }
}

/// Returns the only text of a content and its place; `None` if there are several parts, or none is a text.
fn text_at<'j>(json: &'j Json, content: &Pointer) -> Option<(Pointer, &'j str)> {
    match content.value(json)? {
        Json::String(text) => Some((content.clone(), text)),
        Json::Array(parts) => {
            let [part] = &parts[..] else { return None };
            let text = part.get("text")?.as_str()?;
            Some((content.inside(0).inside("text"), text))
        }
        _ => None,
    }
}

/// Returns whether a member of one of these names stands anywhere in a value.
fn has_member(json: &Json, names: &[&str]) -> bool {
    match json {
        Json::Array(items) => items.iter().any(|item| has_member(item, names)),
        Json::Object(map) => map.iter().any(|(key, value)| {
            names.contains(&&**key) && !value.is_null() || has_member(value, names)
        }),
        _ => false,
    }
}

/// Returns the words of the arguments of the last call with this id among messages, in small letters.
pub(super) fn words_of_call(messages: &[ListMessage], id: &str) -> BTreeSet<String> {
    let messages = messages.iter().rev();
    let mut calls =
        messages.flat_map(|message| message.calls.iter().map(move |call| (message, call)));
    let Some((message, call)) = calls.find(|(_, call)| !id.is_empty() && call.id == id) else {
        return BTreeSet::new();
    };
    let arguments = message.arguments(call).unwrap_or_default().to_string();
    let words = arguments.split(|character: char| !character.is_alphanumeric() && character != '_');
    let words = words.filter(|word| word.chars().count() >= WORD);
    words.map(str::to_lowercase).collect()
}
