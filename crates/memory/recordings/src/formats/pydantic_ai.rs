//! Reads histories of Pydantic AI: requests and responses, whose parts have a `part_kind`.

use serde_json::{Map, Value as Json};

use super::draft::Draft;
use super::fault::{Fault, Parsed};
use super::fields::Fields;
use super::listed::{self, Listed, has_text, list};
use super::media;

/// The keys under which programs keep a history.
const LISTS: [&str; 3] = ["messages", "all_messages", "message_history"];
/// Keys of a message that only say how it was recorded.
const MESSAGE: [&str; 20] = [
    "timestamp",
    "run_id",
    "conversation_id",
    "metadata",
    "state",
    "usage",
    "model_name",
    "model_id",
    "provider_name",
    "provider_url",
    "provider_details",
    "provider_response_id",
    "vendor_id",
    "vendor_details",
    "canonical_system",
    "finish_reason",
    "workspace_ref",
    "history_digest",
    "failed_attempts",
    "context_id",
];
/// Keys of a part that only say how it was recorded.
const PART: [&str; 20] = [
    "timestamp",
    "metadata",
    "outcome",
    "retry",
    "tool_kind",
    "id",
    "provider_name",
    "provider_details",
    "citations",
    "signature",
    "dynamic_ref",
    "context_id",
    "scope",
    "content_file_digests",
    "identifier",
    "vendor_metadata",
    "force_download",
    "otel_metadata",
    "capability_id",
    "kind",
];
/// Keys of a part that hold a picture, a sound or a file.
const MEDIA: [&str; 4] = ["url", "data", "media_type", "file_id"];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    list(json, &LISTS).is_some_and(|all| all.iter().all(is_message))
}

fn is_message(json: &Json) -> bool {
    let kind = json["kind"].as_str().unwrap_or_default();
    let parts = json["parts"].as_array();
    ["request", "response"].contains(&kind)
        && parts.is_some_and(|parts| parts.iter().all(|part| has_text(part, "part_kind")))
}

/// Reads a history.
///
/// # Errors
/// When a message is not a request or a response.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "requests and responses with `kind`, and parts with `part_kind`";
    Fault::unless(detect(&json), expected)?;
    let Listed { objects: all, rest } = listed::taken(json, &LISTS, expected)?;
    let mut parsed = Parsed {
        rest,
        ..Parsed::default()
    };
    let mut current = CurrentInstructions::default();
    for message in all {
        let mut fields = Fields::of(Json::Object(message)).unwrap_or_default();
        let mut messages = Vec::new();
        match fields.text("kind").as_deref() {
            Some("request") => current.request(&mut fields, &mut messages),
            _ => response(&mut fields, &mut messages),
        }
        let (about, unknown) = fields.split(&MESSAGE);
        if !unknown.is_empty() || messages.is_empty() && !about.is_empty() {
            let mut draft = Draft::new("system");
            draft.shown(unknown);
            messages.push(draft.into_json());
        }
        listed::about(&mut messages, about);
        parsed.messages.append(&mut messages);
    }
    Ok(parsed)
}

/// The instructions in force. Each request repeats them.
#[derive(Default)]
struct CurrentInstructions {
    instructions: Option<String>,
}

impl CurrentInstructions {
    fn request(&mut self, fields: &mut Fields, out: &mut Vec<Json>) {
        if let Some(text) = fields.text("instructions") {
            if self.instructions.as_ref() == Some(&text) {
                let about = [("instructions".to_owned(), text.into())];
                let about: Map<_, _> = about.into_iter().collect();
                // The instructions repeat those of an earlier request, so they are only kept with
                // the recorded values.
                let mut kept = fields.object("_recorded").unwrap_or_default().into_map();
                kept.extend(about);
                fields.put("_recorded", Json::Object(kept));
            } else {
                let mut draft = Draft::new("system");
                draft.text(text.as_str());
                out.push(draft.into_json());
                self.instructions = Some(text);
            }
        }
        for json in fields.list("parts").into_iter().flatten() {
            let whole = json.clone();
            let mut part = Fields::of(json).unwrap_or_default();
            let mut draft = match part.text("part_kind").as_deref() {
                Some("system-prompt") => {
                    let mut draft = Draft::new("system");
                    draft.content(part.take("content"), content);
                    draft
                }
                Some("user-prompt") => {
                    let mut draft = Draft::new("user");
                    draft.content(part.take("content"), content);
                    draft
                }
                Some("tool-return" | "builtin-tool-return") => result(&mut part),
                // With the name of a tool, the framework asks the model to repeat a call. Without
                // it, the model has to repeat the whole answer.
                Some("retry-prompt") if part.get("tool_name").is_some_and(Json::is_string) => {
                    let mut draft = result(&mut part);
                    draft.set("is_error", true.into());
                    draft
                }
                Some("retry-prompt") => {
                    let mut draft = Draft::new("system");
                    listed::value(&mut draft, part.take("content"));
                    draft
                }
                _ => {
                    let mut draft = Draft::new("system");
                    draft.opaque(&whole);
                    part = Fields::default();
                    draft
                }
            };
            draft.rest(part, &PART);
            out.push(draft.into_json());
        }
    }
}

fn response(fields: &mut Fields, out: &mut Vec<Json>) {
    let mut draft = Draft::new("assistant");
    for json in fields.list("parts").into_iter().flatten() {
        let whole = json.clone();
        let mut part = Fields::of(json).unwrap_or_default();
        let kind = part.text("part_kind").unwrap_or_default();
        match kind.as_str() {
            "text" | "thinking" if part.str("content").is_some() => {
                let text = part.text("content").unwrap_or_default();
                draft.part(&kind, text, part, &PART);
            }
            "tool-call" | "builtin-tool-call" => {
                let (id, name) = (part.take("tool_call_id"), part.take("tool_name"));
                let arguments = part.take("args").filter(|json| !json.is_null());
                let (about, unknown) = part.split(&PART);
                draft.call(id, name, arguments, about);
                draft.shown(unknown);
            }
            "builtin-tool-return" => {
                listed::next(&mut draft, "assistant", out);
                let mut answer = result(&mut part);
                answer.rest(part, &PART);
                out.push(answer.into_json());
            }
            "file" => match part.take("content") {
                Some(inner @ Json::Object(_)) => {
                    content(&mut draft, inner);
                    draft.rest(part, &PART);
                }
                _ => draft.opaque(&whole),
            },
            _ => draft.opaque(&whole),
        }
    }
    draft.end(out, 0);
}

/// Reads the result of a call.
fn result(part: &mut Fields) -> Draft {
    let mut draft = Draft::result(part.take("tool_call_id"), part.take("tool_name"));
    match part.take("content") {
        Some(Json::Array(all)) if all.iter().any(is_media) => {
            draft.content(Some(Json::Array(all)), content);
        }
        other => listed::value(&mut draft, other),
    }
    let outcome = part.str("outcome").unwrap_or("success");
    if outcome != "success" {
        draft.set("is_error", true.into());
    }
    draft
}

/// Returns whether this is a picture, a sound or a file of a kind that the library has. The meaning of the members of
/// other kinds is not known.
fn is_media(json: &Json) -> bool {
    const KINDS: [&str; 6] = [
        "image-url",
        "audio-url",
        "video-url",
        "document-url",
        "binary",
        "uploaded-file",
    ];
    let is_known = json["kind"]
        .as_str()
        .is_some_and(|kind| KINDS.contains(&kind));
    is_known && (has_text(json, "url") || has_text(json, "data"))
}

/// Adds a piece of a content: a text, or a picture, a sound or a file.
fn content(draft: &mut Draft, json: Json) {
    let whole = json.clone();
    match json {
        Json::String(text) => draft.text(text),
        json if is_media(&json) => {
            let mut part = Fields::of(json).unwrap_or_default();
            let kind = part.text("kind").unwrap_or_default().replace('-', "_");
            let known: Vec<&str> = MEDIA.iter().chain(&PART).copied().collect();
            media::add(draft, &kind, part, &known, &whole);
        }
        Json::Object(map) if map.get("content").is_some_and(Json::is_string) => {
            let mut part = Fields::of(Json::Object(map)).unwrap_or_default();
            let text = part.text("content").unwrap_or_default();
            draft.part("text", text, part, &PART);
        }
        other => draft.opaque(&other),
    }
}
