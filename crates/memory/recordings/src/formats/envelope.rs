//! Documents that wrap a conversation: what a program asked a model, and what the model answered.

use accp_context::Recorded;
use serde_json::{Map, Value as Json};

use super::draft::Draft;
use super::fault::{Fault, Model};
use super::fields::{Fields, is_void};
use super::{anthropic, chat, gemini, langchain, responses, stream};
use crate::format::Format;

/// The keys under which logs keep what was asked, and those on the way to it.
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
/// The keys under which logs keep what was answered.
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
/// The keys on the way to an answer.
const INSIDE: [&str; 6] = ["body", "json", "data", "message", "result", "response"];
/// The keys of an answer that may stand beside the messages.
const BESIDE: [&str; 5] = [
    "response",
    "response_body",
    "responseBody",
    "output",
    "completion",
];
/// How deep a conversation may be wrapped.
const DEPTH: usize = 4;

/// Finds out the format of what a document wraps: of what was asked, or else of what was answered.
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
        if is_whole && super::direct(value).is_some() {
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

/// Reads a document that wraps a conversation. `format` is that of what was asked. Returns `None`
/// if the document wraps none.
pub(super) fn read(json: &Json, format: Format) -> Option<Result<Model, Fault>> {
    if !json.is_object() || super::direct(json).is_some() || stream::is_piece(json) {
        return None;
    }
    let mut whole = opened(json.clone(), DEPTH);
    let path = asked(&whole, DEPTH).map_or_else(Vec::new, |(path, _)| path);
    let mut model = Model::default();
    if !path.is_empty() {
        let pointer = pointer(&path);
        let part = whole.pointer_mut(&pointer)?;
        match super::model(part, format) {
            Ok(inner) => {
                model.messages = inner.messages;
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
            // An answer that nobody understands is shown whole.
            let answers = answers.or_else(|| {
                let is_answer = !path.is_empty() && BESIDE.contains(&key) && !is_void(value);
                is_answer.then(|| {
                    let mut draft = Draft::new("assistant");
                    draft.opaque(&value.take());
                    Answer::from(draft)
                })
            });
            add(answers, &mut model);
        }
    }
    if model.messages.is_empty() {
        return None;
    }
    if let Json::Object(mut map) = whole {
        // What belongs to the conversation stands beside its messages.
        for key in ["tools", "id"] {
            let inner = map_at(&mut map, &path).and_then(|inner| inner.shift_remove(key));
            if let Some(value) = inner {
                // A key of the same name keeps the one inside in its place.
                let is_free = !map.contains_key(key);
                let inner = if is_free {
                    Some(&mut map)
                } else {
                    map_at(&mut map, &path)
                };
                inner.map(|inner| inner.insert(key.to_owned(), value));
            }
        }
        map.extend(model.rest);
        model.rest = map;
    }
    Some(Ok(model))
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

/// Takes the answer that stands beside the messages of a document.
pub(super) fn beside(model: &mut Model) {
    for key in BESIDE {
        let value = model.rest.get_mut(key);
        let answers = value.and_then(|value| answer(value, DEPTH, false));
        add(answers, model);
    }
}

/// Returns whether an answer may stand beside the messages.
pub(super) fn has_beside(json: &Json) -> bool {
    BESIDE.iter().any(|key| {
        json.get(*key)
            .is_some_and(|value| value.is_object() || value.is_array())
    })
}

/// Adds answers. An answer that begins with all messages before it repeats them, and one that
/// is the last message is there already.
fn add(answer: Option<Answer>, model: &mut Model) {
    let Some(Answer {
        messages: mut answers,
        format,
    }) = answer
    else {
        return;
    };
    model.answered = format.or(model.answered);
    let same = |(a, b): (&Json, &Json)| Recorded::of(a).shown() == Recorded::of(b).shown();
    let before = &model.messages;
    let is_last = answers.len() == 1 && before.last().is_some_and(|last| same((last, &answers[0])));
    let repeats = !before.is_empty()
        && before.len() <= answers.len()
        && before.iter().zip(&answers).all(same);
    if is_last || repeats {
        let rest = answers.split_off(if is_last { 1 } else { before.len() });
        let slot = model.rest.entry("repeated");
        if let Json::Array(slot) = slot.or_insert_with(|| Json::Array(Vec::new())) {
            slot.append(&mut answers);
        }
        answers = rest;
    }
    model.messages.append(&mut answers);
}

/// Returns the document with the JSON that stands in strings under the keys of wrappers.
fn opened(json: Json, depth: usize) -> Json {
    let Json::Object(mut map) = json else {
        return json;
    };
    if depth == 0 || super::direct_of(&map) {
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

/// Returns the path to what was asked, and its format.
fn asked(json: &Json, depth: usize) -> Option<(Vec<&'static str>, Format)> {
    let map = json.as_object().filter(|_| depth > 0)?;
    ASKED.into_iter().find_map(|key| {
        let value = map.get(key)?;
        let is_empty = value.as_array().is_some_and(Vec::is_empty);
        if let Some(format) = super::direct(value).filter(|_| !is_empty) {
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

/// What a model answered.
struct Answer {
    messages: Vec<Json>,
    /// The format in whose words it stands.
    format: Option<Format>,
}

impl From<Draft> for Answer {
    fn from(draft: Draft) -> Self {
        Self {
            messages: vec![draft.into_json()],
            format: None,
        }
    }
}

/// Takes the messages of an answer, and leaves what else it says. `text` tells whether a text is
/// an answer.
fn answer(json: &mut Json, depth: usize, text: bool) -> Option<Answer> {
    if let Json::String(said) = json {
        let mut draft = Draft::new("assistant");
        draft.text(std::mem::take(said));
        return text.then(|| draft.into());
    }
    if is_void(json) || depth == 0 {
        return None;
    }
    if let Some(joined) = stream::join(json) {
        *json = Json::Null;
        return Some(Answer {
            messages: vec![joined],
            format: None,
        });
    }
    if is_message(json) {
        let format = Some(message_format(json));
        let mut messages = Vec::new();
        message(json.take(), &mut messages);
        return Some(Answer { messages, format });
    }
    match super::direct(json) {
        Some(format) if !matches!(format, Format::Otel | Format::LangSmith) => {
            let messages = provider(json, format)?;
            return Some(Answer {
                messages,
                format: Some(format),
            });
        }
        _ => {}
    }
    INSIDE
        .iter()
        .find_map(|key| answer(json.get_mut(*key)?, depth - 1, false))
}

/// Takes the messages of an answer in the words of its provider. The instructions that an answer of
/// OpenAI Responses repeats stay where they are.
pub(super) fn provider(json: &mut Json, format: Format) -> Option<Vec<Json>> {
    let is_answer = format == Format::Responses && json.get("input").is_none();
    let map = json.as_object_mut().filter(|_| is_answer);
    let repeated = map.and_then(|map| map.shift_remove("instructions"));
    let mut model = super::model(json, format).ok()?;
    if let Some(instructions) = repeated {
        model.rest.insert("instructions".to_owned(), instructions);
    }
    *json = Json::Object(model.rest);
    Some(model.messages)
}

/// Returns whether this is a message of Anthropic's, as the provider answers.
fn is_anthropic(json: &Json) -> bool {
    json["type"] == "message" && json["content"].is_array() && !responses::is_said(json)
}

/// Returns whether this is one message of any format, and not a conversation.
pub(crate) fn is_message(json: &Json) -> bool {
    let Some(map) = json.as_object() else {
        return false;
    };
    let has = |key: &str| map.contains_key(key);
    let is_wrapper = has("messages") || has("contents") || has("conversations") || has("choices");
    let said = || {
        let keys = ["content", "parts", "tool_calls", "function_call"];
        json["role"].is_string() && keys.iter().any(|key| has(key))
    };
    let turn = || json["from"].is_string() && has("value");
    !is_wrapper && (said() || turn() || langchain::is_message(json) || responses::is_typed(json))
}

/// Returns whether this belongs to the messages before it in a file of one message a line: items of
/// some types say nothing by themselves.
pub(crate) fn is_next(json: &Json) -> bool {
    let is_item = || json["type"].is_string() && !super::is_whole(json) && !stream::is_piece(json);
    is_message(json) || is_item()
}

/// Returns the format of one message.
fn message_format(json: &Json) -> Format {
    if langchain::is_message(json) {
        return Format::LangChain;
    }
    if is_anthropic(json) {
        return Format::Anthropic;
    }
    super::direct(&Json::Array(vec![json.clone()]))
        .filter(|format| {
            use Format::{Anthropic, Gemini, Responses};
            matches!(format, Responses | Gemini | Anthropic)
        })
        .unwrap_or(Format::OpenAi)
}

/// Reads one message of any format.
pub(super) fn message(json: Json, out: &mut Vec<Json>) {
    let list = |json| Json::Array(vec![json]);
    let read = match message_format(&json) {
        Format::LangChain => return langchain::message(json, out),
        Format::Anthropic if is_anthropic(&json) => {
            let fields = Fields::of(json).unwrap_or_default();
            return anthropic::message(fields, Map::new(), out);
        }
        Format::Responses => responses::read(list(json)),
        Format::Gemini => gemini::read(list(json)),
        Format::Anthropic => anthropic::read(list(json)),
        _ => {
            if let Json::Object(map) = json {
                out.push(chat::message(map));
            }
            return;
        }
    };
    out.extend(read.unwrap_or_default().messages);
}
