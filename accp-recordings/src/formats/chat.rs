//! OpenAI chat: `messages` with `role`, `content` and `tool_calls`. The model has this form, so
//! most messages stay as they were recorded.

use accp_context::Call;
use serde_json::{Map, Value as Json};

use super::draft::Draft;
use super::fault::Fault;
use super::fields::{Fields, is_void};
use super::parts;

/// Keys of a message that the model has, or that only say how the message was recorded.
const KNOWN: [&str; 23] = [
    "role",
    "content",
    "name",
    "to",
    "tool_calls",
    "tool_call_id",
    "channel",
    "actions",
    "is_error",
    "_recorded",
    "id",
    "object",
    "created",
    "created_at",
    "timestamp",
    "model",
    "usage",
    "metadata",
    "weight",
    "annotations",
    "finish_reason",
    "logprobs",
    "index",
];
/// Keys under which servers record the reasoning of a model.
const THINKING: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// Returns the messages of the model, or `None` if all of them are in its form as they are.
///
/// # Errors
/// When a message is not an object.
pub(crate) fn read(messages: &[Json], at: &str) -> Result<Option<Vec<Json>>, Fault> {
    let mut out = Vec::new();
    let mut changed = false;
    for (index, json) in messages.iter().enumerate() {
        let Json::Object(map) = json else {
            return Err(Fault::at(format!("{at}/{index}"), "a message, an object"));
        };
        if is_plain(map) {
            out.push(json.clone());
        } else {
            changed = true;
            out.push(message(map.clone()));
        }
    }
    Ok(changed.then_some(out))
}

/// Returns whether a message is in the form of the model.
fn is_plain(map: &Map<String, Json>) -> bool {
    let content = match map.get("content") {
        None | Some(Json::Null | Json::String(_)) => true,
        Some(Json::Array(parts)) => parts.iter().all(is_text),
        _ => false,
    };
    let calls = match map.get("tool_calls") {
        None | Some(Json::Null) => true,
        Some(Json::Array(calls)) => calls.iter().all(is_call),
        _ => false,
    };
    let known = |(key, value): (&String, &Json)| KNOWN.contains(&key.as_str()) || is_void(value);
    content
        && calls
        && map.get("role").is_none_or(|role| role != "function")
        && map.iter().all(known)
}

/// Returns whether a part is a text and nothing else.
fn is_text(part: &Json) -> bool {
    let known = |key: &String| {
        ["type", "text", "annotations", "cache_control", "_recorded"].contains(&key.as_str())
    };
    part["text"].is_string() && part.as_object().is_some_and(|part| part.keys().all(known))
}

/// Returns whether a call names its tool, and has nothing but what a call has.
fn is_call(call: &Json) -> bool {
    let (function, keys) = match call.get("function") {
        Some(function) => (function, &["id", "type", "index", "function"][..]),
        None => (
            call,
            &[
                "id",
                "type",
                "index",
                "name",
                "arguments",
                Call::SPELLING,
                "_recorded",
            ][..],
        ),
    };
    let only = |json: &Json, known: &[&str]| {
        let map = json.as_object();
        map.is_some_and(|map| map.keys().all(|key| known.contains(&key.as_str())))
    };
    let name = function.get("name").is_some_and(Json::is_string);
    let id = call
        .get("id")
        .is_none_or(|id| id.is_string() || id.is_null());
    name && id
        && only(call, keys)
        && (call.get("function").is_none() || only(function, &["name", "arguments"]))
}

/// Returns a message in the form of the model.
pub(super) fn message(map: Map<String, Json>) -> Json {
    let mut fields = Fields::of(Json::Object(map)).unwrap_or_default();
    let role = fields.text("role").unwrap_or_default();
    let mut draft = Draft::new(if role == "function" { "tool" } else { &role });
    for key in KNOWN {
        if !matches!(key, "content" | "tool_calls" | "_recorded" | "is_error")
            && let Some(value) = fields.take(key)
        {
            draft.set(key, value);
        }
    }
    for key in THINKING {
        if let Some(text) = fields.text(key).filter(|text| !text.is_empty()) {
            draft.named("thinking", text, Map::new());
        }
    }
    draft.content(fields.take("content"), parts::any);
    if let Some(refusal) = fields.text("refusal") {
        draft.named("refusal", refusal, Map::new());
    }
    if let Some(transcript) = fields
        .get("audio")
        .and_then(|audio| audio.get("transcript")?.as_str())
    {
        let transcript = transcript.to_owned();
        let about = fields
            .take("audio")
            .map(|audio| ("audio".to_owned(), audio));
        draft.named("audio", transcript, about.into_iter().collect());
    }
    for call in fields.list("tool_calls").into_iter().flatten() {
        parts::call(&mut draft, call);
    }
    if let Some(call) = fields.take("function_call") {
        match call {
            Json::Object(_) => parts::call(&mut draft, call),
            odd => draft.opaque(&odd),
        }
    }
    if let Some(Json::Object(about)) = fields.take("_recorded") {
        draft.about(about);
    }
    draft.rest(fields, &[]);
    draft.into_json()
}
