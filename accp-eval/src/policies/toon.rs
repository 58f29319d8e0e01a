//! The whole history as TOON.

use std::borrow::Cow;
use std::sync::Arc;

use accp_context::policies::Whole;
use accp_context::policy::{Agent, Message, Opening, Policy, Segment};
use serde_json::Value as Json;

/// Each message as a TOON document. A string that is a JSON object or array is read as that
/// first, so that results are shown as tables where TOON knows how.
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

    /// By reading the TOON back: what that loses is lost.
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

/// A message as TOON; `None` if the encoder refuses it.
fn shown(message: &Message) -> Option<Arc<str>> {
    let mut json: Json = serde_json::from_str(&message.text).ok()?;
    if let Some(content) = structured(&json) {
        json["content"] = content;
    }
    let text = toon_format::encode_default(&json).ok()?;
    Some(Arc::from(text + "\n"))
}

/// The content as a value, where it is the text of an object or array.
fn structured(message: &Json) -> Option<Json> {
    let text = message.get("content")?.as_str()?;
    let json: Json = serde_json::from_str(text).ok()?;
    (json.is_object() || json.is_array()).then_some(json)
}
