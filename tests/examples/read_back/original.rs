//! Compares recorded messages with what a reader restored.

use accp_context::Call;
use accp_frame::Value;
use accp_memory::policy::{Kind, Message};
use accp_runtime::view::View;
use serde_json::Value as Json;

use super::reader::value;

/// Returns whether these parts restore the message. One part is the whole message; two parts are the head and the
/// tail of a result.
pub(crate) fn is_restored(message: &Message, parts: &[String], view: &View) -> bool {
    match parts {
        [whole] if message.kind == Kind::Result => is_result(&words(message), whole, view),
        [whole] => {
            let mut rest = text(whole, &words(message));
            for one in message.recorded().calls() {
                rest = rest.and_then(|rest| call(rest, one, view));
            }
            rest.is_some_and(|rest| rest.trim().is_empty())
        }
        [head, tail] if message.kind == Kind::Result => {
            let words = words(message);
            let has_ends = |text: &str| {
                let text = collapsed(text);
                text.starts_with(&collapsed(head)) && text.ends_with(&collapsed(tail))
            };
            let written = |json: Json| view.value(&Value::from_data(&json)).text;
            has_ends(&words) || structured(&words).is_some_and(|json| has_ends(&written(json)))
        }
        _ => false,
    }
}

/// Returns the words of a message, without its calls.
pub(crate) fn words(message: &Message) -> String {
    message.recorded().texts().join("\n")
}

fn is_result(words: &str, whole: &str, view: &View) -> bool {
    if collapsed(words) == collapsed(whole) {
        return true;
    }
    let rest = structured(words).and_then(|json| read(whole, &json, view));
    rest.is_some_and(|rest| rest.trim().is_empty())
}

/// Returns the text as JSON, if it is an object or a list.
fn structured(text: &str) -> Option<Json> {
    let json: Json = serde_json::from_str(text).ok()?;
    (json.is_object() || json.is_array()).then_some(json)
}

/// Skips these words at the start, with white space of any length between them, and returns the text after the
/// words. Returns `None` if the text begins differently.
fn text<'t>(mut rest: &'t str, words: &str) -> Option<&'t str> {
    for (at, word) in words.split_whitespace().enumerate() {
        let trimmed = rest.trim_start();
        if at > 0 && trimmed.len() == rest.len() {
            return None;
        }
        rest = trimmed.strip_prefix(word)?;
    }
    Some(rest)
}

/// Skips JSON that is written as JSON or as a view, and returns the text after it.
fn read<'t>(rest: &'t str, json: &Json, view: &View) -> Option<&'t str> {
    text(rest, &json.to_string()).or_else(|| {
        let (read, rest) = value(view, rest.trim_start())?;
        let is_equal = read == Value::from_data(json);
        let data = read.into_data(&mut |_| None);
        (is_equal && data.as_ref() == Ok(json)).then_some(rest)
    })
}

/// Skips a call, such as `> tool(key: value, key: value)` or `> tool R1(value,value)`, and returns the text after
/// the call.
fn call<'t>(rest: &'t str, call: Call<'_>, view: &View) -> Option<&'t str> {
    let rest = text(rest, &format!("> {}", call.tool().unwrap_or_default()))?;
    let arguments = call.arguments();
    match arguments.as_deref() {
        Some(json @ Json::Object(_)) if rest.starts_with(' ') => read(rest, json, view),
        Some(Json::Object(fields)) => {
            let mut rest = rest.strip_prefix('(')?;
            for (at, (key, value)) in fields.iter().enumerate() {
                let comma = if at > 0 { ", " } else { "" };
                rest = text(rest, &format!("{comma}{key}:"))?;
                rest = match value {
                    Json::String(words) => text(rest, words)?,
                    Json::Object(_) | Json::Array(_) => read(rest, value, view)?,
                    other => text(rest, &other.to_string())?,
                };
            }
            text(rest, ")")
        }
        Some(other) => text(rest, &format!("({other})")),
        None => {
            let recorded = call.recorded_arguments().and_then(Json::as_str);
            text(rest, &format!("({})", recorded.unwrap_or_default()))
        }
    }
}

/// Returns the text with one space for each run of white space.
fn collapsed(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
