//! Session files of Claude Code: one entry a line, of which some hold a message of Anthropic's.

use serde_json::{Map, Value as Json};

use super::anthropic;
use super::draft::Draft;
use super::fault::{Fault, Model};
use super::fields::{Fields, is_void};

/// Returns whether the document is of this format and of no other: the entries of a file.
pub(crate) fn detect(json: &Json) -> bool {
    match json {
        Json::Array(entries) => entries.iter().any(is_entry),
        one => is_entry(one),
    }
}

/// Returns whether this is a line of a session file.
pub(crate) fn is_entry(json: &Json) -> bool {
    let has = |key: &str| json.get(key).is_some_and(Json::is_string);
    let message = json.get("message").is_some_and(Json::is_object);
    // Other programs log the words of a person as a text.
    has("type")
        && !has("message")
        && json.get("messages").is_none()
        && (has("sessionId") || has("session_id") || has("leafUuid") || has("uuid") && message || {
            let snapshot = json
                .get("type")
                .is_some_and(|kind| kind == "file-history-snapshot");
            snapshot && has("messageId")
        })
}

/// Reads the entries of a file.
///
/// # Errors
/// When an entry is not an object, or none is a line of a session file.
pub(crate) fn read(json: Json) -> Result<Model, Fault> {
    if !detect(&json) {
        return Err(Fault::at(
            "",
            "lines of a session file, objects with `type` and `sessionId`",
        ));
    }
    let (entries, at) = match json {
        Json::Array(entries) => (entries, true),
        one => (vec![one], false),
    };
    let mut model = Model::default();
    let mut others = Vec::new();
    let mut pending: Option<(Fields, Map<String, Json>)> = None;
    for (index, entry) in entries.into_iter().enumerate() {
        let mut entry = Fields::of(entry).map_err(|_| {
            let pointer = if at {
                format!("/{index}")
            } else {
                String::new()
            };
            Fault::at(pointer, "an entry, an object")
        })?;
        if model.rest.is_empty()
            && let Some(id) = ["sessionId", "session_id"]
                .into_iter()
                .find_map(|key| entry.get(key).filter(|id| id.is_string()))
        {
            model.rest.insert("id".to_owned(), id.clone());
        }
        let Some(mut message) = entry.object("message") else {
            match attachment(&mut entry) {
                // A model sees what the program attaches.
                Some(mut draft) => {
                    draft.about(entry.into_map());
                    flush(pending.take(), &mut model.messages);
                    model.messages.push(draft.into_json());
                }
                None => others.push(Json::Object(entry.into_map())),
            }
            continue;
        };
        if message.get("role").is_none()
            && let Some(kind) = entry.get("type").cloned()
        {
            message.put("role", kind);
        }
        let about = entry.into_map();
        match &mut pending {
            Some((before, beside)) if continues(before, &message) => {
                join(before, beside, message, about);
            }
            _ => flush(pending.replace((message, about)), &mut model.messages),
        }
    }
    flush(pending, &mut model.messages);
    if !others.is_empty() {
        model.rest.insert("entries".to_owned(), Json::Array(others));
    }
    Ok(model)
}

/// Takes what an entry of the program attaches to the conversation.
fn attachment(entry: &mut Fields) -> Option<Draft> {
    let is_one = entry.str("type") == Some("attachment");
    let attached = entry
        .get("attachment")
        .filter(|json| is_one && !is_void(json));
    attached?;
    let mut draft = Draft::new("user");
    draft.opaque(&entry.take("attachment")?);
    Some(draft)
}

fn flush(pending: Option<(Fields, Map<String, Json>)>, out: &mut Vec<Json>) {
    if let Some((message, about)) = pending {
        anthropic::message(message, about, out);
    }
}

/// Returns whether a message is the next piece of the one before: each block of an answer is
/// logged as an entry of its own, under the id of the answer.
fn continues(before: &Fields, message: &Fields) -> bool {
    let blocks = |message: &Fields| message.get("content").is_some_and(Json::is_array);
    message.str("id").is_some()
        && message.str("id") == before.str("id")
        && message.str("role") == before.str("role")
        && blocks(before)
        && blocks(message)
}

/// Adds the next piece of a message.
fn join(
    before: &mut Fields,
    beside: &mut Map<String, Json>,
    mut message: Fields,
    about: Map<String, Json>,
) {
    let mut blocks = before.list("content").unwrap_or_default();
    blocks.extend(message.list("content").into_iter().flatten());
    before.put("content", Json::Array(blocks));
    let mut piece = about;
    piece.insert("message".to_owned(), Json::Object(message.into_map()));
    let pieces = beside
        .entry("pieces")
        .or_insert_with(|| Json::Array(Vec::new()));
    if let Json::Array(pieces) = pieces {
        pieces.push(Json::Object(piece));
    }
}
