//! A thing that a summary says, and its message.

use serde_json::Value as Json;

use crate::parsed::Parsed;

/// A text, and the index of its message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item {
    pub(crate) message: usize,
    pub(crate) text: String,
}

impl Item {
    pub(crate) fn new(message: usize, text: impl Into<String>) -> Self {
        Self {
            message,
            text: text.into(),
        }
    }

    /// Makes an item of all that a message says: its words, its calls and its results.
    pub(crate) fn whole(message: &Parsed) -> Self {
        let words = Some(message.text.clone()).filter(|text| !text.trim().is_empty());
        let calls = message.calls.iter();
        let calls = calls.map(|call| format!("{}({})", call.tool, arguments(&call.arguments)));
        let results = message.results.iter().map(|result| result.text.clone());
        let parts: Vec<_> = words.into_iter().chain(calls).chain(results).collect();
        Self::new(message.index, parts.join("\n"))
    }
}

fn arguments(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        json => json.to_string(),
    }
}

/// Returns a text on one line with at most this many characters. A mark shows where the rest was cut off.
pub(crate) fn clipped(text: &str, characters: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(characters) {
        None => text,
        Some((end, _)) => format!("{}\u{2026}", text.get(..end).unwrap_or_default().trim_end()),
    }
}
