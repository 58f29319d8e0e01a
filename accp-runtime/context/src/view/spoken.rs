//! Frames that a view shows as a text only: `@clerk: Two flights have one.`

use accp_registry::Schema;
use accp_registry::view::{ROLE, SPOKEN, words_of};

use super::shape;
use super::shape::{Place, default_of};
use accp_frame::{DynamicFrame, Map, Value};

/// Returns whether the message is a question in words (`req:chat`).
pub(super) fn asks(message: &DynamicFrame<'_>) -> bool {
    let [_, (intent, operation, _)] = SPOKEN;
    message.intent.as_str() == intent && message.operation == operation
}

/// Returns the payload of a chat frame that says a text and nothing else.
pub(super) fn spoken_payload(
    schema: &Schema,
    agent: &str,
    mark: char,
    said: &str,
    place: Place<'_>,
) -> Map<'static> {
    let mut payload = Map::new();
    for (at, field) in schema.fields.iter().enumerate() {
        if let Some(default) = default_of(schema, at, place) {
            payload.insert(field.name.clone(), default.into_owned());
        }
    }
    // The name of the agent that asks is also its role: user, system.
    if mark == '?' && shape::index(schema, ROLE).is_some() {
        payload.insert(ROLE, Value::from(String::from(agent)));
    }
    if let Some(words) = words_of(schema) {
        payload.insert(words.name.clone(), Value::from(String::from(said)));
    }
    payload
}
