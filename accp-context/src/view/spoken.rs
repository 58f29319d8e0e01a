//! Frames that a view shows as a text only: `@clerk: Two flights have one.`

use accp_registry::{Field, Schema, Type};

use super::shape;
use super::shape::{Place, default_of};
use accp_frame::{Map, Message, Value};

/// The frames that are shown as a text only, each with the mark between its sender and the text.
pub(super) const SPOKEN: [(&str, &str, char); 2] = [("done", "chat", ':'), ("req", "chat", '?')];

/// Returns whether the message asks for something in words.
pub(super) fn asks(message: &Message<'_>) -> bool {
    let [_, (intent, operation, _)] = SPOKEN;
    message.intent.as_str() == intent && message.operation == operation
}

/// Returns the field for words of people, if a schema has exactly one.
pub(super) fn words_of(schema: &Schema) -> Option<&Field> {
    let mut words = schema.fields.iter().filter(|field| field.ty == Type::Text);
    let first = words.next()?;
    words.next().is_none().then_some(first)
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
    // The sender of a question speaks in the role of that name: user, system.
    if mark == '?' && shape::index(schema, "role").is_some() {
        payload.insert("role", Value::from(String::from(agent)));
    }
    if let Some(words) = words_of(schema) {
        payload.insert(words.name.clone(), Value::from(String::from(said)));
    }
    payload
}
