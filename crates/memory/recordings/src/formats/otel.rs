//! Reads and writes messages of OpenTelemetry. They have `parts` with a type, and stand in the attributes of `gen_ai`
//! spans, events and log records, as an exporter wrote them or as OTLP JSON.

mod attributes;
mod flat;
mod messages;
mod otlp;
mod tools;

use serde_json::{Map, Value as Json, json};

use super::fault::{Cannot, Fault, Parsed};
use super::merge::{Merge, Seen};
use super::neutral::NeutralMessage;
use crate::leaves::Leaves;
use attributes::{Found, Value};

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    [
        "resourceSpans",
        "resourceLogs",
        "resource_spans",
        "resource_logs",
    ]
    .iter()
    .any(|key| json.get(key).is_some_and(Json::is_array))
        || is_messages(json)
        || attributes::holds(json)
}

/// Returns whether these are messages with parts of this format: a part has a type, and a text is under `content`.
fn is_messages(json: &Json) -> bool {
    let messages = match json {
        Json::Array(_) => Some(json),
        _ => json.get("messages"),
    };
    let messages = messages.and_then(Json::as_array);
    messages.is_some_and(|all| {
        let parts = all
            .iter()
            .filter_map(|message| message.get("parts")?.as_array());
        parts.flatten().any(messages::is_part)
    })
}

/// Reads a document.
///
/// # Errors
/// When no message is found, or a message is not an object.
pub(crate) fn read(mut json: Json) -> Result<Parsed, Fault> {
    let mut merge = Merge::default();
    let mut rest = Map::new();
    let mut found = Vec::new();
    if is_messages(&json) {
        let (list, at) = match &mut json {
            Json::Array(_) => (json.take(), ""),
            other => (
                other.get_mut("messages").map_or(Json::Null, Json::take),
                "/messages",
            ),
        };
        if let Json::Array(messages) = list {
            if let Some(index) = messages.iter().position(|message| !message.is_object()) {
                let pointer = format!("{at}/{index}");
                return Err(Fault::at(pointer, "a message, an object"));
            }
            for message in messages {
                messages::message(message, &mut merge.messages);
            }
        }
    } else {
        attributes::take(&mut json, &mut found);
    }
    found.sort_by_key(|found: &Found| found.time);
    // A span of a tool becomes a message if no other message has its content.
    let mut leaves = Leaves::default();
    if found
        .iter()
        .any(|found| matches!(found.value, Value::Tool(_)))
    {
        let others = found
            .iter()
            .filter(|found| !matches!(found.value, Value::Tool(_)));
        add(others.cloned(), &leaves, &mut merge);
        let before = std::mem::take(&mut merge);
        before
            .messages
            .iter()
            .for_each(|message| leaves.add(message));
    }
    add(found.into_iter(), &leaves, &mut merge);
    if merge.messages.is_empty() {
        let expected = "spans or events with `gen_ai.input.messages`, or messages with `parts`; \
                        record them with the capture of message content switched on";
        return Err(Fault::at("", expected));
    }
    for (key, name) in [
        ("gen_ai.tool.definitions", "tools"),
        ("gen_ai.conversation.id", "id"),
    ] {
        if let Some(value) = attributes::first(&json, key) {
            rest.insert(name.to_owned(), value);
        }
    }
    match json {
        Json::Object(map) => rest.extend(map),
        Json::Null => {}
        other => {
            rest.insert("spans".to_owned(), other);
        }
    }
    if !merge.repeated.is_empty() {
        rest.insert("repeated".to_owned(), Json::Array(merge.repeated));
    }
    Ok(Parsed {
        messages: merge.messages,
        rest,
        answered: None,
    })
}

/// Adds the messages of spans and events.
fn add(found: impl Iterator<Item = Found>, leaves: &Leaves, merge: &mut Merge) {
    let mut seen: Vec<Seen> = Vec::new();
    for Found { span, value, .. } in found {
        if seen.len() <= span {
            seen.resize_with(span + 1, Seen::default);
        }
        let mut messages = Vec::new();
        messages::read(value, leaves, &mut messages);
        merge.add(messages, &mut seen[span]);
    }
}

/// Writes a conversation as the messages of one span, in OTLP JSON.
///
/// # Errors
/// When the format cannot express a message.
pub(crate) fn write(all: &[NeutralMessage], mut rest: Map<String, Json>) -> Result<Json, Cannot> {
    let written = all.iter().map(messages::written);
    let written = written.collect::<Result<Json, _>>()?;
    let text = |key: &str, text: &str| json!({ "key": key, "value": { "stringValue": text } });
    let mut attributes = vec![text("gen_ai.operation.name", "chat")];
    if rest.get("id").is_some_and(Json::is_string)
        && let Some(Json::String(id)) = rest.shift_remove("id")
    {
        attributes.push(text("gen_ai.conversation.id", &id));
    }
    if let Some(tools) = rest.shift_remove("tools") {
        attributes.push(text("gen_ai.tool.definitions", &tools.to_string()));
    }
    attributes.push(text("gen_ai.input.messages", &written.to_string()));
    let span = json!({ "name": "chat", "attributes": attributes });
    let spans = json!([{ "scopeSpans": [{ "spans": [span] }] }]);
    rest.insert("resourceSpans".to_owned(), spans);
    Ok(Json::Object(rest))
}
