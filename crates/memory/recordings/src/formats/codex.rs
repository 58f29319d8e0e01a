//! Reads rollouts of Codex: one line for each event. Some lines hold an item of OpenAI Responses. In files of versions
//! before 0.30, each line is such an item itself, after a first line with the id of the session.

use serde_json::{Map, Value as Json, json};

use super::draft::Draft;
use super::fault::{Fault, Parsed};
use super::listed::{self, Listed, has_text, list};
use super::responses;

/// The types of lines.
const TYPES: [&str; 5] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
];

/// The keys of the first line of an older file.
const BEGIN: [&str; 4] = ["id", "timestamp", "instructions", "git"];
/// The types of items that the program keeps for itself: it sends none of them to a model.
const OWN: [&str; 1] = ["ghost_snapshot"];

/// Returns whether the document is of this format and of no other: the lines of a file.
pub(crate) fn detect(json: &Json) -> bool {
    match json {
        Json::Object(_) => is_line(json),
        json => list(json, &[]).is_some_and(|all| all.iter().any(is_line)),
    }
}

/// Returns whether this is a line of a rollout.
pub(crate) fn is_line(json: &Json) -> bool {
    let kind = json["type"].as_str().unwrap_or_default();
    let timed = has_text(json, "timestamp");
    timed && (TYPES.contains(&kind) && json["payload"].is_object() || is_begin(json))
}

/// Returns whether this is the first line of an older file.
fn is_begin(json: &Json) -> bool {
    json.as_object().is_some_and(|map| {
        has_text(json, "id")
            && map.contains_key("instructions")
            && map.keys().all(|key| BEGIN.contains(&key.as_str()))
    })
}

/// Reads the lines of a file.
///
/// # Errors
/// When no line is of this format, or a line is not an object.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "lines with `timestamp`, `type` and `payload`";
    Fault::unless(detect(&json), expected)?;
    let json = match json {
        Json::Object(_) => json!([json]),
        json => json,
    };
    let Listed { objects: lines, .. } = listed::taken(json, &[], expected)?;
    let mut parsed = Parsed::default();
    let (mut items, mut entries) = (Vec::new(), Vec::new());
    for line in lines {
        let json = Json::Object(line);
        let is_older = is_begin(&json);
        let Json::Object(mut line) = json else {
            continue;
        };
        let kind = line.get("type").and_then(Json::as_str).unwrap_or_default();
        let inner = line.get("payload").filter(|payload| payload.is_object());
        let is_own = inner.is_some_and(|item| OWN.iter().any(|own| item["type"] == *own));
        match (kind, inner) {
            ("response_item", Some(_)) if !is_own => {
                items.extend(line.shift_remove("payload"));
            }
            ("session_meta", Some(_)) => {
                if let Some(Json::Object(meta)) = line.get_mut("payload") {
                    begin(meta, &mut parsed);
                }
            }
            ("", _) if is_older => begin(&mut line, &mut parsed),
            // In an older file, the line itself is the item.
            (kind, None) if !kind.is_empty() && !line.contains_key("payload") => {
                items.push(Json::Object(line));
                continue;
            }
            _ => {}
        }
        entries.push(Json::Object(line));
    }
    parsed
        .messages
        .extend(responses::read(Json::Array(items))?.messages);
    parsed
        .rest
        .insert("entries".to_owned(), Json::Array(entries));
    Ok(parsed)
}

/// Takes the instructions that the model got, and the id, from the beginning of a session.
fn begin(meta: &mut Map<String, Json>, parsed: &mut Parsed) {
    if parsed.rest.is_empty()
        && let Some(id) = ["id", "session_id"]
            .into_iter()
            .find_map(|key| meta.get(key).filter(|id| id.is_string()))
    {
        parsed.rest.insert("id".to_owned(), id.clone());
    }
    if !parsed.messages.is_empty() {
        return;
    }
    let inner = meta
        .get_mut("base_instructions")
        .and_then(Json::as_object_mut)
        .and_then(|inner| inner.shift_remove("text"));
    let text = inner.or_else(|| meta.shift_remove("instructions"));
    match text {
        Some(Json::String(text)) if !text.is_empty() => {
            let mut draft = Draft::new("system");
            draft.text(text);
            parsed.messages.push(draft.into_json());
        }
        Some(odd) => {
            meta.insert("instructions".to_owned(), odd);
        }
        None => {}
    }
}
