//! Finds the attributes of spans, events and log records that hold messages, and takes their values.

use accp_context::Recorded;
use serde_json::{Map, Value as Json};

use crate::formats::fields::merge;

use super::flat::{self, FLAT};
use super::otlp::{ATTRIBUTES, plain, taken};
use super::tools::{self, Tool};

/// The attributes that hold messages, in the order in which the messages were said.
const HOLDERS: [(&str, Holder); 8] = [
    ("gen_ai.system_instructions", Holder::System),
    ("gen_ai.input.messages", Holder::Messages("user")),
    ("gen_ai.prompt", Holder::Messages("user")),
    ("gen_ai.input_messages", Holder::Messages("user")),
    ("gen_ai.output.messages", Holder::Messages("assistant")),
    ("gen_ai.completion", Holder::Messages("assistant")),
    ("pydantic_ai.all_messages", Holder::Messages("assistant")),
    ("all_messages_events", Holder::Messages("assistant")),
];
/// The names of the events that hold one message each, and the roles of these messages.
const EVENTS: [(&str, &str); 5] = [
    ("gen_ai.system.message", "system"),
    ("gen_ai.user.message", "user"),
    ("gen_ai.assistant.message", "assistant"),
    ("gen_ai.tool.message", "tool"),
    ("gen_ai.choice", "assistant"),
];

/// The attributes of an event that are keys of its message.
const SAID: [&str; 9] = [
    "role",
    "content",
    "name",
    "id",
    "tool_calls",
    "message",
    "parts",
    "finish_reason",
    "index",
];

/// The keys under which an event has its name.
const EVENT_NAMES: [&str; 4] = ["eventName", "event_name", "name", "event.name"];

/// The attribute that holds the events of a span.
const EVENTS_KEY: &str = "events";

#[derive(Debug, Clone, Copy)]
enum Holder {
    System,
    Messages(&'static str),
}

/// What an attribute or an event holds.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// Instructions: a text, or parts.
    System(Json),
    /// Messages, or a text that this role said.
    Messages(Json, &'static str),
    /// The message of an event, of this role.
    Event(&'static str, Map<String, Json>),
    /// The arguments and the result of a tool.
    Tool(Tool),
}

/// What was found in a span.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// The time in nanoseconds; 0 if no time was recorded.
    pub(super) time: u128,
    /// The number of the span, from 0.
    pub(super) span: usize,
    pub(super) value: Value,
}

/// Returns whether the document has an attribute or an event that holds messages.
pub(super) fn holds(json: &Json) -> bool {
    match json {
        Json::Object(map) => map.iter().any(|(key, value)| {
            // Another reader has set this value aside, so it has no more messages.
            if key == Recorded::ABOUT {
                return false;
            }
            let key_value =
                key == "key" && value.as_str().is_some_and(is_named) && map.contains_key("value");
            let named = EVENT_NAMES.contains(&key.as_str());
            let event = named && value.as_str().and_then(event_role).is_some();
            is_named(key) || key_value || event || has_inside(key, value)
        }),
        Json::Array(items) => items.iter().any(|item| item.is_object() && holds(item)),
        _ => false,
    }
}

/// Returns whether a value of an object holds such an attribute or event. In a table of attributes, only the names of
/// the attributes and the list of events count. Other values, such as a schema, do not belong to the span itself.
fn has_inside(key: &str, value: &Json) -> bool {
    if ATTRIBUTES.contains(&key) {
        let own = match value {
            Json::Object(attributes) => attributes.keys().any(|key| is_named(key)),
            Json::Array(entries) => entries.iter().any(|entry| {
                let named = entry["key"].as_str().is_some_and(is_named);
                named && entry.get("value").is_some()
            }),
            _ => false,
        };
        let events = value.get(EVENTS_KEY).cloned().map(parsed);
        return own || events.is_some_and(|events| holds(&events));
    }
    match value {
        Json::Object(_) => holds(value),
        Json::Array(items) => items.iter().any(|item| item.is_object() && holds(item)),
        _ => false,
    }
}

/// Returns whether this is the full name of an attribute or an event that holds messages.
fn is_named(key: &str) -> bool {
    HOLDERS.iter().any(|(holder, _)| *holder == key)
        || event_role(key).is_some()
        || flat::is_flat(key)
        || tools::is_said(key)
}

fn event_role(name: &str) -> Option<&'static str> {
    let found = EVENTS.iter().find(|(event, _)| *event == name);
    found.map(|(_, role)| *role)
}

/// Takes all attributes and events that hold messages out of a document.
pub(super) fn take(json: &mut Json, out: &mut Vec<Found>) {
    let mut spans = 0;
    walk(json, 0, &mut spans, out);
}

fn walk(json: &mut Json, span: usize, spans: &mut usize, out: &mut Vec<Found>) {
    match json {
        Json::Array(items) => items
            .iter_mut()
            .for_each(|item| walk(item, span, spans, out)),
        Json::Object(map) => {
            let is_span = ["spanId", "span_id", "spanID", "context"]
                .iter()
                .chain(&ATTRIBUTES)
                .any(|key| map.contains_key(*key));
            let name = name(map);
            let is_event = name.as_deref().and_then(event_role);
            let span = if is_span && is_event.is_none() {
                *spans += 1;
                *spans
            } else {
                span
            };
            if let Some(role) = is_event {
                let body = map.shift_remove("body").map_or(Json::Null, plain);
                let time = time(map, &START);
                let mut attributes = map.get_mut("attributes").map_or_else(Map::new, said);
                if body.is_null() && attributes.is_empty() {
                    // An event from a list under one attribute has the keys of its message
                    // directly, and not under `attributes`.
                    let is_name =
                        |key: &&str| map.get(*key).and_then(Json::as_str) == name.as_deref();
                    let keys: Vec<&str> = SAID.into_iter().filter(|key| !is_name(key)).collect();
                    for key in keys {
                        let value = map.shift_remove(key);
                        attributes.extend(value.map(|value| (key.to_owned(), value)));
                    }
                }
                let value = event(role, body, attributes);
                out.push(Found { time, span, value });
                return;
            }
            if let Some(tool) = tools::of(map) {
                let time = time(map, &END);
                let value = Value::Tool(tool);
                out.push(Found { time, span, value });
            }
            for (begins, role) in FLAT {
                let messages = flat::take(map, begins, role);
                if !messages.is_empty() {
                    let times = if role == "user" { &START[..] } else { &END };
                    let time = time(map, times);
                    let value = Value::Messages(Json::Array(messages), role);
                    out.push(Found { time, span, value });
                }
            }
            for (key, holder) in HOLDERS {
                let Some(value) = remove(map, key) else {
                    continue;
                };
                let value = parsed(value);
                let (time, value) = match holder {
                    Holder::System => (time(map, &START), Value::System(value)),
                    Holder::Messages(role) => {
                        let times = if role == "user" { &START[..] } else { &END };
                        (time(map, times), Value::Messages(value, role))
                    }
                };
                out.push(Found { time, span, value });
            }
            for (key, value) in map.iter_mut().filter(|(key, _)| *key != Recorded::ABOUT) {
                if !ATTRIBUTES.contains(&key.as_str()) {
                    walk(value, span, spans, out);
                } else if let Some(events) = value.get_mut(EVENTS_KEY) {
                    *events = parsed(events.take());
                    walk(events, span, spans, out);
                }
            }
        }
        _ => {}
    }
}

const START: [&str; 6] = [
    "startTimeUnixNano",
    "start_time_unix_nano",
    "startTime",
    "timeUnixNano",
    "time_unix_nano",
    "observedTimeUnixNano",
];
/// The keys under which a span has the time of its end. The first key that the span has counts. The last keys are those
/// of the beginning, for a span without an end.
const END: [&str; 8] = [
    "endTimeUnixNano",
    "end_time_unix_nano",
    "timeUnixNano",
    "time_unix_nano",
    "observedTimeUnixNano",
    "startTimeUnixNano",
    "start_time_unix_nano",
    "startTime",
];

/// Returns a time of a span or an event, in nanoseconds.
fn time(map: &Map<String, Json>, keys: &[&str]) -> u128 {
    let found = keys.iter().find_map(|key| match map.get(*key)? {
        Json::String(text) => text.parse().ok(),
        Json::Number(number) => number.as_u64().map(u128::from),
        _ => None,
    });
    found.unwrap_or(0)
}

/// Returns the name of an event.
fn name(map: &Map<String, Json>) -> Option<String> {
    let own = EVENT_NAMES.iter().find_map(|key| map.get(*key)?.as_str());
    match own.filter(|name| event_role(name).is_some()) {
        Some(name) => Some(name.to_owned()),
        None => match map.get("attributes")? {
            Json::Object(attributes) => attributes.get("event.name")?.as_str().map(str::to_owned),
            Json::Array(entries) => {
                let entry = entries.iter().find(|entry| entry["key"] == "event.name")?;
                plain(entry["value"].clone()).as_str().map(str::to_owned)
            }
            _ => None,
        },
    }
}

/// Takes an attribute out of an object: a key of the object, or an entry of its list or table of attributes.
fn remove(map: &mut Map<String, Json>, key: &str) -> Option<Json> {
    if let Some(value) = map.shift_remove(key) {
        return Some(value);
    }
    ATTRIBUTES
        .iter()
        .find_map(|attributes| match map.get_mut(*attributes)? {
            Json::Object(attributes) => attributes.shift_remove(key),
            Json::Array(entries) => {
                let mut all = entries.iter_mut();
                let entry = all.find(|entry| entry["key"] == key && !entry["value"].is_null())?;
                Some(plain(taken(entry, "value")))
            }
            _ => None,
        })
}

/// Returns the first value of an attribute anywhere in the document.
pub(super) fn first(json: &Json, key: &str) -> Option<Json> {
    match json {
        Json::Object(map) => {
            let own = map.get(key).cloned();
            let listed = || {
                let value = (map.get("key")? == key).then(|| map.get("value"))??;
                Some(plain(value.clone()))
            };
            let found = own.or_else(listed).map(parsed);
            found.or_else(|| map.values().find_map(|value| first(value, key)))
        }
        Json::Array(items) => items.iter().find_map(|item| first(item, key)),
        _ => None,
    }
}

/// Returns the value of an attribute that an exporter wrote as a JSON text.
fn parsed(json: Json) -> Json {
    match &json {
        Json::String(text) => match serde_json::from_str(text) {
            Ok(inner @ (Json::Array(_) | Json::Object(_))) => inner,
            _ => json,
        },
        _ => json,
    }
}

/// Returns the value of a key of a message. A content that is a text of JSON stays a text.
fn value_of(key: &str, value: Json) -> Json {
    if key == "content" {
        value
    } else {
        parsed(value)
    }
}

/// Takes the keys of a message out of the attributes of its event.
fn said(attributes: &mut Json) -> Map<String, Json> {
    let is_said = |key: &str| SAID.contains(&key);
    let mut out = Map::new();
    match attributes {
        Json::Object(map) => {
            for key in SAID {
                out.extend(
                    map.shift_remove(key)
                        .map(|value| (key.to_owned(), value_of(key, value))),
                );
            }
        }
        Json::Array(entries) => {
            for entry in entries {
                let key = entry["key"].as_str().unwrap_or_default().to_owned();
                if is_said(&key) && !out.contains_key(&key) {
                    let value = value_of(&key, plain(taken(entry, "value")));
                    out.insert(key, value);
                }
            }
        }
        _ => {}
    }
    out
}

/// Returns the message of an event: its body, and what its attributes say.
fn event(role: &'static str, body: Json, attributes: Map<String, Json>) -> Value {
    let mut map = match body {
        Json::Object(map) => map,
        Json::Null => Map::new(),
        other => [("content".to_owned(), other)].into_iter().collect(),
    };
    merge(&mut map, attributes);
    Value::Event(role, map)
}
