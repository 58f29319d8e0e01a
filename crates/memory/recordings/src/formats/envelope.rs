//! Reads documents that wrap a conversation: the request of a program, and the answer of a model.

use serde_json::{Map, Value as Json};

use super::answers::{self, Answer, BESIDE, DEPTH, INSIDE, add, answer};
use super::claims::direct;
use super::draft::Draft;
use super::fault::{Fault, Parsed};
use super::fields::is_void;
use super::{langsmith, otel, stream};
use crate::format::Format;

/// The keys under which logs keep a request, and the keys of the objects that wrap it.
const ASKED: [&str; 20] = [
    "request",
    "request_body",
    "requestBody",
    "body",
    "params",
    "kwargs",
    "json",
    "input",
    "inputs",
    "prompt",
    "values",
    "conversation",
    "conversations",
    "chat_history",
    "history",
    "trajectory",
    "dialogue",
    "turns",
    "items",
    "data",
];
/// The keys under which logs keep an answer.
const ANSWERED: [&str; 8] = [
    "response",
    "response_body",
    "responseBody",
    "output",
    "outputs",
    "completion",
    "result",
    "answer",
];
/// Finds out the format of the wrapped request, or of the wrapped answer if there is no request.
pub(super) fn detect(json: &Json) -> Option<Format> {
    if !json.is_object() || stream::is_piece(json) {
        return None;
    }
    let whole = opened(json.clone(), DEPTH);
    if let Some((_, format)) = asked(&whole, DEPTH) {
        return Some(format);
    }
    ANSWERED.iter().find_map(|key| {
        let mut value = whole.get(*key)?.clone();
        Some(
            answer(&mut value, DEPTH, false)?
                .format
                .unwrap_or(Format::OpenAi),
        )
    })
}

/// Returns the place of a conversation somewhere in a document, for an error.
pub(crate) fn place(json: &Json) -> Option<String> {
    let inside = |key: String, value: &Json| {
        let is_list = |all: &Vec<Json>| !all.is_empty() && all.iter().all(Json::is_object);
        let is_whole = value.as_array().is_none_or(is_list);
        if is_whole && direct(value).is_some() {
            return Some(format!("/{key}"));
        }
        place(value).map(|inner| format!("/{key}{inner}"))
    };
    match json {
        Json::Object(map) => map.iter().find_map(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            inside(key, value)
        }),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, value)| inside(index.to_string(), value)),
        _ => None,
    }
}

/// Reads a document that wraps a conversation. `format` is the format of the request. Returns `None` if the document
/// wraps no conversation.
pub(super) fn read(json: &Json, format: Format) -> Option<Result<Parsed, Fault>> {
    if !json.is_object() || direct(json).is_some() || stream::is_piece(json) {
        return None;
    }
    let mut whole = opened(json.clone(), DEPTH);
    let path = asked(&whole, DEPTH).map_or_else(Vec::new, |(path, _)| path);
    let mut parsed = Parsed::default();
    if !path.is_empty() {
        let pointer = pointer(&path);
        let part = whole.pointer_mut(&pointer)?;
        match self::parse(part, format) {
            Ok(inner) => {
                parsed.messages = inner.messages;
                *part = Json::Object(inner.rest);
            }
            Err(fault) => {
                let pointer = format!("{pointer}{}", fault.pointer);
                return Some(Err(Fault { pointer, ..fault }));
            }
        }
    }
    let levels = path.len().max(1);
    for level in 0..levels {
        let Some(Json::Object(map)) = whole.pointer_mut(&self::pointer(&path[..level])) else {
            continue;
        };
        for key in ANSWERED {
            let is_asked = path.get(level).is_some_and(|asked| *asked == key);
            let Some(value) = map.get_mut(key).filter(|_| !is_asked) else {
                continue;
            };
            let answers = answer(value, DEPTH, !path.is_empty());
            // An answer that no reader understands is shown whole.
            let answers = answers.or_else(|| {
                let is_answer = !path.is_empty() && BESIDE.contains(&key) && !is_void(value);
                is_answer.then(|| {
                    let mut draft = Draft::new("assistant");
                    draft.opaque(&value.take());
                    Answer::from(draft)
                })
            });
            add(answers, &mut parsed);
        }
    }
    if parsed.messages.is_empty() {
        return None;
    }
    if let Json::Object(mut map) = whole {
        // The tools and the id belong to the conversation, so they move to the top.
        for key in ["tools", "id"] {
            let inner = map_at(&mut map, &path).and_then(|inner| inner.shift_remove(key));
            if let Some(value) = inner {
                // If the top has this key already, the inner value stays in its place.
                let is_free = !map.contains_key(key);
                let inner = if is_free {
                    Some(&mut map)
                } else {
                    map_at(&mut map, &path)
                };
                inner.map(|inner| inner.insert(key.to_owned(), value));
            }
        }
        map.extend(parsed.rest);
        parsed.rest = map;
    }
    Some(Ok(parsed))
}

/// Reads a document that is not wrapped.
///
/// # Errors
/// When the document does not have this format.
pub(super) fn parse(json: &Json, format: Format) -> Result<Parsed, Fault> {
    match answers::parse(json, format) {
        Some(read) => read,
        None if format == Format::Otel => otel::read(json.clone()),
        None => langsmith::read(json.clone()),
    }
}

/// Returns the object at a path.
fn map_at<'m>(map: &'m mut Map<String, Json>, path: &[&str]) -> Option<&'m mut Map<String, Json>> {
    let (first, rest) = path.split_first()?;
    let inner = map.get_mut(*first)?.as_object_mut()?;
    match rest {
        [] => Some(inner),
        rest => map_at(inner, rest),
    }
}

/// Parses the strings of JSON under the keys of wrappers, and returns the document with the parsed values.
fn opened(json: Json, depth: usize) -> Json {
    let Json::Object(mut map) = json else {
        return json;
    };
    if depth == 0 || direct_of(&map) {
        return Json::Object(map);
    }
    for (key, value) in &mut map {
        let key = key.as_str();
        if [&ASKED[..], &ANSWERED, &INSIDE]
            .iter()
            .any(|keys| keys.contains(&key))
        {
            let inner = value.as_str().and_then(|text| {
                let json = serde_json::from_str(text).ok();
                json.filter(|json: &Json| json.is_object() || json.is_array())
            });
            *value = opened(inner.unwrap_or_else(|| value.take()), depth - 1);
        }
    }
    Json::Object(map)
}

/// Returns the path to the request, and the format of the request.
fn asked(json: &Json, depth: usize) -> Option<(Vec<&'static str>, Format)> {
    let map = json.as_object().filter(|_| depth > 0)?;
    ASKED.into_iter().find_map(|key| {
        let value = map.get(key)?;
        let is_empty = value.as_array().is_some_and(Vec::is_empty);
        if let Some(format) = direct(value).filter(|_| !is_empty) {
            return Some((vec![key], format));
        }
        let (mut path, format) = asked(value, depth - 1)?;
        path.insert(0, key);
        Some((path, format))
    })
}

fn pointer(path: &[&str]) -> String {
    path.iter().flat_map(|key| ["/", key]).collect()
}

/// Returns whether an object is a document that is not wrapped.
fn direct_of(map: &Map<String, Json>) -> bool {
    const KEYS: [&str; 5] = [
        "messages",
        "contents",
        "candidates",
        "conversations",
        "choices",
    ];
    KEYS.iter().any(|key| map.contains_key(*key))
}
