//! Reads the answer of a model: a message or a document of any format, the pieces of an answer, or a text.

use accp_context::Recorded;
use serde_json::{Map, Value as Json};

use super::claims::direct;
use super::draft::Draft;
use super::fault::{Fault, Parsed};
use super::fields::{Fields, is_void};
use super::{anthropic, chat, gemini, langchain, readers, responses, stream};
use crate::format::Format;

/// The keys of objects that wrap an answer.
pub(super) const INSIDE: [&str; 6] = ["body", "json", "data", "message", "result", "response"];
/// The keys of an answer that may stand outside the messages.
pub(super) const BESIDE: [&str; 5] = [
    "response",
    "response_body",
    "responseBody",
    "output",
    "completion",
];
/// How deep a conversation may be wrapped.
pub(super) const DEPTH: usize = 4;

/// Reads a document that is not wrapped, with the answer that stands outside its messages. `None` for a trace.
pub(super) fn parse(json: &Json, format: Format) -> Option<Result<Parsed, Fault>> {
    let read = readers::of(format)?(json.clone());
    Some(read.map(|mut parsed| {
        let has_answers = matches!(
            format,
            Format::OpenAi | Format::Anthropic | Format::Gemini | Format::LangChain
        );
        if has_answers {
            self::beside(&mut parsed);
        }
        parsed
    }))
}

/// Takes the answer that stands outside the messages of a document.
fn beside(parsed: &mut Parsed) {
    for key in BESIDE {
        let value = parsed.rest.get_mut(key);
        let answers = value.and_then(|value| answer(value, DEPTH, false));
        add(answers, parsed);
    }
}

/// Returns whether an answer may stand outside the messages.
pub(super) fn has_beside(json: &Json) -> bool {
    BESIDE.iter().any(|key| {
        json.get(*key)
            .is_some_and(|value| value.is_object() || value.is_array())
    })
}

/// Adds the messages of an answer. The answer may begin with all messages of the document, or be its last message once
/// more. Then the repeated messages go to the key `repeated`.
pub(super) fn add(answer: Option<Answer>, parsed: &mut Parsed) {
    let Some(Answer {
        messages: mut answers,
        format,
    }) = answer
    else {
        return;
    };
    parsed.answered = format.or(parsed.answered);
    let same = |(a, b): (&Json, &Json)| Recorded::of(a).shown() == Recorded::of(b).shown();
    let before = &parsed.messages;
    let is_last = answers.len() == 1 && before.last().is_some_and(|last| same((last, &answers[0])));
    let repeats = !before.is_empty()
        && before.len() <= answers.len()
        && before.iter().zip(&answers).all(same);
    if is_last || repeats {
        let rest = answers.split_off(if is_last { 1 } else { before.len() });
        let slot = parsed.rest.entry("repeated");
        if let Json::Array(slot) = slot.or_insert_with(|| Json::Array(Vec::new())) {
            slot.append(&mut answers);
        }
        answers = rest;
    }
    parsed.messages.append(&mut answers);
}

/// The answer of a model.
pub(super) struct Answer {
    pub(super) messages: Vec<Json>,
    /// The format of the answer; `None` if it is not known.
    pub(super) format: Option<Format>,
}

impl From<Draft> for Answer {
    fn from(draft: Draft) -> Self {
        Self {
            messages: vec![draft.into_json()],
            format: None,
        }
    }
}

/// Takes the messages of an answer out of `json`, and leaves the other values there. `text` tells whether a text
/// counts as an answer.
pub(super) fn answer(json: &mut Json, depth: usize, text: bool) -> Option<Answer> {
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
    if let Some(format) = direct(json).filter(|format| readers::of(*format).is_some()) {
        let messages = provider(json, format)?;
        return Some(Answer {
            messages,
            format: Some(format),
        });
    }
    INSIDE
        .iter()
        .find_map(|key| answer(json.get_mut(*key)?, depth - 1, false))
}

/// Takes the messages of an answer in the format of its provider. If an answer of OpenAI Responses repeats the
/// instructions, the repeated instructions do not become a message.
pub(super) fn provider(json: &mut Json, format: Format) -> Option<Vec<Json>> {
    let is_answer = format == Format::Responses && json.get("input").is_none();
    let map = json.as_object_mut().filter(|_| is_answer);
    let repeated = map.and_then(|map| map.shift_remove("instructions"));
    let mut parsed = self::parse(json, format)?.ok()?;
    if let Some(instructions) = repeated {
        parsed.rest.insert("instructions".to_owned(), instructions);
    }
    *json = Json::Object(parsed.rest);
    Some(parsed.messages)
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

/// Returns the format of one message.
fn message_format(json: &Json) -> Format {
    if langchain::is_message(json) {
        return Format::LangChain;
    }
    if is_anthropic(json) {
        return Format::Anthropic;
    }
    direct(&Json::Array(vec![json.clone()]))
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
