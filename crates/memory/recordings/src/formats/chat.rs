//! Reads and writes OpenAI chat: `messages` with `role`, `content` and `tool_calls`. All formats are read into this
//! form, so most messages of a chat stay as they were recorded.

use accp_context::{Call, Recorded};
use serde_json::{Map, Value as Json, json};

use super::draft::Draft;
use super::fault::{Cannot, Fault, Parsed};
use super::fields::{Fields, is_void};
use super::media::redacted;
use super::neutral::{NeutralMessage, Part, PartContent, carried, number};
use super::parts;
use super::signature;

/// Keys of a message that are read, or that only say how the message was recorded.
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

/// Returns whether the document has messages of any chat.
pub(super) fn detect(json: &Json) -> bool {
    // A list whose objects have neither a role nor a content is not a chat.
    let is_list = json.is_array();
    let neutral = |json: &Json| {
        let keys = ["role", "content"];
        !json.is_object() || keys.iter().any(|key| json.get(key).is_some())
    };
    let empty = |json: &Json| json.as_object().is_some_and(Map::is_empty) && !is_list;
    messages(json)
        .is_some_and(|(all, _)| all.is_empty() || all.iter().any(|one| neutral(one) || empty(one)))
}

/// Returns the messages of a document, and their pointer. A document that has only answers gives an empty list.
fn messages(json: &Json) -> Option<(&[Json], &'static str)> {
    match json {
        Json::Array(messages) => Some((messages, "")),
        other => {
            if let Some(messages) = other.get("messages") {
                return Some((messages.as_array()?, "/messages"));
            }
            let choices = other.get("choices")?.as_array()?;
            let is_answer = |choice: &Json| choice["message"].is_object();
            (!choices.is_empty() && choices.iter().all(is_answer)).then_some((&[], ""))
        }
    }
}

/// Reads a document, also one that is in the common form already.
///
/// # Errors
/// When there are no messages, or a message is not an object.
pub(super) fn parse(json: Json) -> Result<Parsed, Fault> {
    if let Some(parsed) = read(&json)? {
        return Ok(parsed);
    }
    Ok(match json {
        Json::Array(messages) => Parsed {
            messages,
            rest: Map::new(),
            answered: None,
        },
        json => {
            let mut rest = Fields::of(json).unwrap_or_default();
            let messages = rest.list("messages").unwrap_or_default();
            Parsed {
                messages,
                rest: rest.into_map(),
                answered: None,
            }
        }
    })
}

/// Reads a document. Returns `None` if the document is in the common form already.
///
/// # Errors
/// When there are no messages, or a message is not an object.
pub(super) fn read(json: &Json) -> Result<Option<Parsed>, Fault> {
    let expected = "an array `messages` of objects with `role` and `content`";
    let (recorded, at) = messages(json).ok_or(Fault::at("", expected))?;
    let read = changed(recorded, at)?;
    let mut rest = json.as_object().cloned().unwrap_or_default();
    rest.shift_remove("messages");
    // Some logs have the system prompt outside the messages.
    let system = rest.get("system").is_some_and(Json::is_string);
    let system = system.then(|| rest.shift_remove("system")).flatten();
    let answers = answers(&mut rest, recorded.last());
    if read.is_none() && system.is_none() && answers.is_empty() {
        return Ok(None);
    }
    let mut all = Vec::new();
    if let Some(Json::String(system)) = system {
        let mut draft = Draft::new("system");
        draft.text(system);
        all.push(draft.into_json());
    }
    all.extend(read.unwrap_or_else(|| recorded.to_vec()));
    all.extend(answers);
    Ok(Some(Parsed {
        messages: all,
        rest,
        answered: None,
    }))
}

/// Takes the answers of a log that has the request and the response in one object, unless the
/// messages end with the answer.
fn answers(rest: &mut Map<String, Json>, last: Option<&Json>) -> Vec<Json> {
    let Some(Json::Array(choices)) = rest.get("choices") else {
        return Vec::new();
    };
    let answers = choices.iter().map(|choice| {
        let mut about = choice.as_object()?.clone();
        let Some(Json::Object(mut map)) = about.shift_remove("message") else {
            return None;
        };
        if !about.is_empty() {
            let about = [("choice".to_owned(), Json::Object(about))];
            map.insert(Recorded::ABOUT.to_owned(), about.into_iter().collect());
        }
        Some(message(map))
    });
    let Some(answers) = answers.collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let last = last.and_then(Json::as_object).cloned().map(message);
    let shown = |json: &Json| Recorded::of(json).shown();
    if answers.len() == 1 && last.is_some_and(|last| shown(&last) == shown(&answers[0])) {
        return Vec::new();
    }
    rest.shift_remove("choices");
    answers
}

/// Returns the messages in the common form, or `None` if all of them have this form already.
fn changed(messages: &[Json], at: &str) -> Result<Option<Vec<Json>>, Fault> {
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

/// Returns whether a message is in the common form.
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

/// Returns whether a call names its tool, and has no keys but those of a call.
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

/// Returns a message in the common form.
pub(super) fn message(map: Map<String, Json>) -> Json {
    let mut fields = Fields::of(Json::Object(map)).unwrap_or_default();
    let mut draft = match fields.text("role") {
        Some(role) => Draft::new(if role == "function" { "tool" } else { &role }),
        None => Draft::default(),
    };
    for key in KNOWN {
        if !matches!(key, "content" | "tool_calls" | "_recorded" | "is_error")
            && let Some(value) = fields.take(key)
        {
            draft.set(key, value);
        }
    }
    let thoughts = thinking(
        &mut draft,
        fields.list("reasoning_details").unwrap_or_default(),
    );
    for key in THINKING {
        if !thoughts.is_empty() && fields.str(key) == Some(&thoughts) {
            let text = fields.take(key).unwrap_or_default();
            draft.about([(key.to_owned(), text)].into_iter().collect());
        } else if let Some(text) = fields.text(key).filter(|text| !text.is_empty()) {
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
    draft.rest(fields, &signature::EXTRA);
    draft.into_json()
}

/// Adds reasoning that was recorded in pieces. Returns the joined texts, because servers may record the joined text,
/// too.
fn thinking(draft: &mut Draft, pieces: Vec<Json>) -> String {
    const ABOUT: [&str; 5] = ["id", "index", "format", "signature", "data"];
    let mut thoughts = String::new();
    for json in pieces {
        let Some((kind, mut piece, whole)) = draft.open(json) else {
            continue;
        };
        let text = match kind.as_str() {
            "reasoning.text" => piece.text("text"),
            "reasoning.summary" => piece.text("summary"),
            _ => None,
        };
        let data = piece.str("data").filter(|_| kind == "reasoning.encrypted");
        let data = data.map(redacted);
        match (text, data) {
            (Some(text), _) => {
                thoughts.push_str(&text);
                draft.part("thinking", text, piece, &ABOUT);
            }
            (None, Some(text)) => draft.part("redacted_thinking", text, piece, &ABOUT),
            (None, None) => draft.opaque(&whole),
        }
    }
    thoughts
}

/// Writes a conversation.
///
/// # Errors
/// When the format cannot express a message.
pub(super) fn write(all: &[NeutralMessage], mut rest: Map<String, Json>) -> Result<Json, Cannot> {
    let messages = number(all).iter().map(written).collect::<Result<_, _>>()?;
    rest.insert("messages".to_owned(), Json::Array(messages));
    Ok(Json::Object(rest))
}

fn written(neutral: &NeutralMessage) -> Result<Json, Cannot> {
    let mut map = Map::new();
    map.insert("role".to_owned(), neutral.role.as_str().into());
    for (key, value) in [("name", &neutral.name), ("tool_call_id", &neutral.call_id)] {
        map.extend(
            value
                .iter()
                .map(|text| (key.to_owned(), text.as_str().into())),
        );
    }
    if neutral.is_result() {
        neutral.answers()?;
    }
    let (thoughts, parts) = neutral.thinking();
    match thoughts {
        [] => {}
        [
            Part {
                content: PartContent::Thinking(text),
                about,
            },
        ] if about.is_empty() => {
            map.insert("reasoning_content".to_owned(), text.as_str().into());
        }
        thoughts => {
            let pieces = neutral.write_parts(thoughts, |what| match what {
                PartContent::Thinking(text) => {
                    Some(json!({ "type": "reasoning.text", "text": text }))
                }
                PartContent::Redacted(data) => {
                    Some(json!({ "type": "reasoning.encrypted", "data": data }))
                }
                _ => None,
            })?;
            map.insert("reasoning_details".to_owned(), Json::Array(pieces));
        }
    }
    let content = match parts {
        [] if !neutral.calls.is_empty() => Json::Null,
        [] => "".into(),
        [
            Part {
                content: PartContent::Text(text),
                about,
            },
        ] if about.is_empty() => text.as_str().into(),
        parts => Json::Array(neutral.write_parts(parts, parts::write)?),
    };
    map.insert("content".to_owned(), content);
    let calls = neutral.calls.iter().map(|call| {
        let id = neutral.id_of(call)?;
        let (arguments, mut about) = call.spelt();
        let function = json!({ "name": call.tool, "arguments": arguments });
        let mut call = json!({ "id": id, "type": "function", "function": function });
        if let Some(signature) = signature::gemini(&mut about) {
            call[signature::EXTRA[0]] = signature::extra(&signature);
        }
        Ok(carried(call, &about))
    });
    let calls = calls.collect::<Result<Vec<_>, _>>()?;
    if !calls.is_empty() {
        map.insert("tool_calls".to_owned(), Json::Array(calls));
    }
    if neutral.is_error {
        map.insert("is_error".to_owned(), true.into());
    }
    map.extend(neutral.keys.clone());
    Ok(carried(Json::Object(map), &neutral.about))
}
