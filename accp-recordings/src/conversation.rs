//! A recorded conversation, checked once and kept unchanged.

use std::borrow::Cow;

use accp_context::Recorded;
use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

/// The key of the messages.
const MESSAGES: &str = "messages";

/// A conversation as it was recorded: an object with `messages`, or a bare array of messages.
/// Each message is an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation(Json);

/// JSON that is not a recorded conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a conversation: an object whose `messages` is an array of objects with `role` and \
     `content`, or that array"
)]
pub enum NotConversation {
    /// The JSON has no array of messages; holds the kind of JSON found instead.
    Messages(&'static str),
    /// The message with this index, from 0, is not an object; holds the kind of JSON found instead.
    Message(usize, &'static str),
}

impl Conversation {
    /// Checks the JSON.
    ///
    /// # Errors
    /// When the JSON is not a conversation.
    pub fn new(json: Json) -> Result<Self, NotConversation> {
        let messages = match &json {
            Json::Array(messages) => messages,
            other => match other.get(MESSAGES) {
                Some(Json::Array(messages)) => messages,
                _ => return Err(NotConversation::Messages(found(&json))),
            },
        };
        let mut all = messages.iter().enumerate();
        match all.find(|(_, message)| !message.is_object()) {
            Some((index, other)) => Err(NotConversation::Message(index, found(other))),
            None => Ok(Self(json)),
        }
    }

    /// Builds a conversation from these messages and the other recorded keys. A `bare`
    /// conversation is an array of messages without keys.
    pub(crate) fn of(
        messages: Vec<Json>,
        mut rest: Map<String, Json>,
        bare: bool,
    ) -> Result<Self, NotConversation> {
        let messages = Json::Array(messages);
        Self::new(if bare {
            messages
        } else {
            rest.insert(MESSAGES.into(), messages);
            Json::Object(rest)
        })
    }

    /// Returns the recorded JSON.
    pub fn as_json(&self) -> &Json {
        &self.0
    }

    /// Returns the recorded JSON.
    pub fn into_json(self) -> Json {
        self.0
    }

    /// Returns whether the conversation is a bare array of messages.
    pub fn is_bare(&self) -> bool {
        self.0.is_array()
    }

    /// Returns the messages in their order.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Recorded<'_>> {
        let messages = self.0.as_array();
        let messages = messages.or_else(|| self.0.get(MESSAGES)?.as_array());
        messages
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .map(Recorded::of)
    }

    /// Returns the value of a recorded key other than `messages`.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key).filter(|_| key != MESSAGES)
    }

    /// Returns the recorded keys other than `messages`, with their values.
    pub(crate) fn rest(&self) -> impl Iterator<Item = (&String, &Json)> {
        let all = self.0.as_object().into_iter().flatten();
        all.filter(|(key, _)| *key != MESSAGES)
    }

    /// Returns the recorded id: a text or a number.
    pub fn id(&self) -> Option<Cow<'_, str>> {
        match self.get("id")? {
            Json::String(id) => Some(Cow::Borrowed(id)),
            id @ Json::Number(_) => Some(Cow::Owned(id.to_string())),
            _ => None,
        }
    }

    /// Returns the half of all conversations that this one belongs to. The file does not matter.
    pub fn half(&self) -> Half {
        let id = self.id();
        let id = id.unwrap_or_else(|| Cow::Owned(self.0.to_string()));
        if Sha256::digest(id.as_bytes())[0] & 1 == 0 {
            Half::Learn
        } else {
            Half::Measure
        }
    }
}

/// One of the two halves of all conversations: a registry learnt from one half is measured on
/// the other. The id of a conversation decides its half; without an id its whole JSON decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The last bit of the first byte of SHA-256 over the id is 0.
    Learn,
    /// The last bit of the first byte of SHA-256 over the id is 1.
    Measure,
}

/// Returns the kind of a JSON value, for an error.
fn found(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object without it",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn half(json: Json) -> Half {
        Conversation::new(json).unwrap().half()
    }

    #[test]
    fn the_halves_never_change() {
        let halves: String = (0..16)
            .map(
                |id| match half(json!({ "id": id.to_string(), "messages": [] })) {
                    Half::Learn => 'l',
                    Half::Measure => 'm',
                },
            )
            .collect();
        insta::assert_snapshot!(halves, @"mmllmmmmlmlmmmml");
        let number = half(json!({ "id": 2, "messages": [{}] }));
        assert_eq!(number, half(json!({ "id": "2", "messages": [] })));
    }

    #[test]
    fn without_an_id_it_goes_by_what_it_says() {
        let half = |n: u32| half(json!({ "messages": [{ "n": n }] }));
        assert!((0..16).any(|n| half(n) != half(0)));
    }

    #[test]
    fn what_is_no_conversation_is_told() {
        let of = |json| Conversation::new(json).map_err(|error| format!("{error:?}"));
        for (json, expected) in [
            (json!(null), "Messages(\"null\")"),
            (json!({}), "Messages(\"an object without it\")"),
            (json!([{}, "x"]), "Message(1, \"a string\")"),
            (json!({ "messages": [1] }), "Message(0, \"a number\")"),
        ] {
            assert_eq!(of(json).unwrap_err(), expected);
        }
        let bare = of(json!([{ "role": "user" }])).unwrap();
        assert!(bare.is_bare() && bare.messages().len() == 1 && bare.id().is_none());
    }
}
