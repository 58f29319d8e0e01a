//! Reads messages of the AI SDK for a model. Calls and results are parts of their contents.

use serde_json::{Map, Value as Json};

use super::ABOUT;
use crate::formats::draft::Draft;
use crate::formats::fields::Fields;
use crate::formats::listed::{has_text, next, value};

/// Returns whether these are messages of the AI SDK for a model. At least one part must have a type that only such
/// messages have; without one, the messages are a chat of any provider.
pub(super) fn detect(all: &[Json]) -> bool {
    let is_message = |message: &Json| has_text(message, "role") && message.get("content").is_some();
    let parts = all
        .iter()
        .filter_map(|message| message["content"].as_array());
    all.iter().all(is_message) && parts.flatten().any(is_mark)
}

fn is_mark(part: &Json) -> bool {
    let kind = part["type"].as_str().unwrap_or_default();
    match kind {
        "tool-call" | "tool-result" => has_text(part, "toolCallId"),
        "reasoning" => has_text(part, "text"),
        "redacted-reasoning" => has_text(part, "data"),
        "image" => has_text(part, "image"),
        "file" => has_text(part, "mediaType") || has_text(part, "mimeType"),
        _ => false,
    }
}

/// Reads a message.
pub(super) fn message(mut fields: Fields, out: &mut Vec<Json>) {
    let role = fields.text("role").unwrap_or_default();
    let first = out.len();
    let mut draft = Draft::new(&role);
    match fields.take("content") {
        Some(Json::Array(parts)) => {
            for json in parts {
                part(&mut draft, json, &role, out);
            }
        }
        other => draft.content(other, |_, _| {}),
    }
    draft.rest(fields, &ABOUT);
    draft.end(out, first);
}

fn part(draft: &mut Draft, json: Json, role: &str, out: &mut Vec<Json>) {
    let Err(whole) = super::shared(draft, json) else {
        return;
    };
    let mut part = Fields::of(whole.clone()).unwrap_or_default();
    let kind = part.text("type").unwrap_or_default();
    match kind.as_str() {
        "tool-call" if has_text(&whole, "toolName") => {
            let (id, name) = (part.take("toolCallId"), part.take("toolName"));
            let arguments = part.take("input").or_else(|| part.take("args"));
            let (about, unknown) = part.split(&ABOUT);
            draft.call(id, name, arguments, about);
            draft.shown(unknown);
        }
        "tool-result" => {
            next(draft, role, out);
            let mut answer = Draft::result(part.take("toolCallId"), part.take("toolName"));
            if part.get("isError") == Some(&Json::Bool(true)) {
                part.take("isError");
                answer.set("is_error", true.into());
            }
            match part.take("output") {
                Some(output) => self::output(&mut answer, output),
                None => value(&mut answer, part.take("result")),
            }
            for json in part.list("experimental_content").into_iter().flatten() {
                if let Err(odd) = super::shared(&mut answer, json) {
                    answer.opaque(&odd);
                }
            }
            answer.rest(part, &ABOUT);
            out.push(answer.into_json());
        }
        // The program asks the person to allow a call. The model sees neither the question nor the answer.
        "tool-approval-request" | "tool-approval-response" => {
            draft.about([(kind, whole)].into_iter().collect());
        }
        _ => draft.opaque(&whole),
    }
}

/// Adds the output of a tool, whose type says what its value is.
fn output(answer: &mut Draft, json: Json) {
    let Some((kind, mut fields, whole)) = answer.open(json) else {
        return;
    };
    if kind.starts_with("error-") || kind == "execution-denied" {
        answer.set("is_error", true.into());
    }
    match kind.as_str() {
        "text" | "json" | "error-text" | "error-json" => {
            value(answer, fields.take("value"));
        }
        "content" if fields.get("value").is_some_and(Json::is_array) => {
            for json in fields.list("value").into_iter().flatten() {
                if let Err(odd) = super::shared(answer, json) {
                    answer.opaque(&odd);
                }
            }
        }
        "execution-denied" => value(answer, fields.take("reason")),
        _ => {
            answer.opaque(&whole);
            return;
        }
    }
    let (about, unknown) = fields.split(&ABOUT);
    answer.shown(unknown);
    let about: Map<String, Json> = about;
    answer.about(about);
}
