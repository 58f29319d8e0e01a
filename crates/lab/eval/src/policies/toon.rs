//! The whole history as TOON.

use std::borrow::Cow;
use std::sync::Arc;

use accp_memory::{
    policies::Whole,
    policy::{Agent, Message, Opening, Policy, Segment},
};
use serde_json::Value as Json;

/// A policy that shows each message as a TOON document. A string that holds a JSON object or
/// array is read first, so that TOON can show results as tables.
#[derive(Debug)]
pub(crate) struct Toon(Whole);

impl Toon {
    pub(crate) fn new(opening: &Opening) -> Self {
        Self(Whole::new(opening))
    }
}

impl Policy for Toon {
    fn push(&mut self, message: &Message) {
        let text = shown(message).unwrap_or_else(|| Arc::clone(&message.text));
        self.0.show(message, text);
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        self.0.prompt(agent)
    }

    /// Reads the TOON back. If the TOON has lost something, the policy has lost it.
    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        let message = self.0.message(index)?;
        let Some(text) = shown(message) else {
            return Some(Cow::Borrowed(message.original()));
        };
        let mut json: Json = toon_format::decode_default(text.trim_end_matches('\n')).ok()?;
        if structured(&message.json).is_some() {
            let content = json.get("content")?.to_string();
            json["content"] = Json::String(content);
        }
        Some(Cow::Owned(json.to_string()))
    }
}

/// Returns a message as TOON, or `None` if the encoder refuses the message.
fn shown(message: &Message) -> Option<Arc<str>> {
    let mut json: Json = serde_json::from_str(&message.text).ok()?;
    if let Some(content) = structured(&json) {
        json["content"] = content;
    }
    let text = toon_format::encode_default(&json).ok()?;
    Some(Arc::from(text + "\n"))
}

/// Returns the content as a value if it is the text of an object or array.
fn structured(message: &Json) -> Option<Json> {
    let text = message.get("content")?.as_str()?;
    let json: Json = serde_json::from_str(text).ok()?;
    (json.is_object() || json.is_array()).then_some(json)
}
