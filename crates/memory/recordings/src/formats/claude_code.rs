//! Reads session files of Claude Code: one entry a line. Some entries hold a message of Anthropic's.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use super::anthropic;
use super::draft::Draft;
use super::fault::{Fault, Parsed};
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
    // Other programs log a message as a text, so such a line is not an entry of Claude Code.
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
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "lines of a session file, objects with `type` and `sessionId`";
    Fault::unless(detect(&json), expected)?;
    let (entries, at) = match json {
        Json::Array(entries) => (entries, true),
        one => (vec![one], false),
    };
    let mut parsed = Parsed::default();
    let mut others = Vec::new();
    let main = main_chain(&entries);
    let mut turns = Turns::default();
    for (index, entry) in entries.into_iter().enumerate() {
        let is_aside = chain(&entry) != main.as_deref();
        let mut entry = Fields::of(entry).map_err(|_| {
            let pointer = if at {
                format!("/{index}")
            } else {
                String::new()
            };
            Fault::at(pointer, "an entry, an object")
        })?;
        if parsed.rest.is_empty()
            && let Some(id) = ["sessionId", "session_id"]
                .into_iter()
                .find_map(|key| entry.get(key).filter(|id| id.is_string()))
        {
            parsed.rest.insert("id".to_owned(), id.clone());
        }
        // The messages of a sub-agent are a separate conversation.
        if is_aside && entry.get("message").is_some() {
            others.push(Json::Object(entry.into_map()));
            continue;
        }
        let Some(mut message) = entry.object("message") else {
            match attachment(&mut entry) {
                // The model sees what the program attaches, so the attachment becomes a message.
                Some(mut draft) => {
                    draft.about(entry.into_map());
                    turns.add(Turn::Attached(draft.into_json()));
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
        turns.message(message, entry.into_map());
    }
    turns.end(&mut parsed.messages);
    if !others.is_empty() {
        parsed
            .rest
            .insert("entries".to_owned(), Json::Array(others));
    }
    Ok(parsed)
}

/// Returns whose conversation a file is: `None` for the agent of the session, else the sub-agent that the file
/// belongs to.
fn main_chain(entries: &[Json]) -> Option<String> {
    let mut chains = entries
        .iter()
        .filter(|entry| entry.get("message").is_some())
        .map(chain);
    let first = chains.next().flatten()?;
    let has_main = chains.any(|chain| chain.is_none());
    (!has_main).then(|| first.to_owned())
}

/// Returns who speaks in an entry: `None` for the agent of the session, else its sub-agent.
fn chain(entry: &Json) -> Option<&str> {
    let is_aside = entry.get("isSidechain") == Some(&Json::Bool(true));
    is_aside.then(|| entry["agentId"].as_str().unwrap_or_default())
}

/// Takes what an entry of the program attaches to the conversation.
fn attachment(entry: &mut Fields) -> Option<Draft> {
    let is_one = entry.str("type") == Some("attachment");
    let attached = entry
        .get("attachment")
        .filter(|json| is_one && !is_void(json));
    // The model does not get the output of a hook as words of the user, so the output does not
    // become a message.
    let is_hook = |json: &Json| {
        let kind = json["type"].as_str().unwrap_or_default();
        kind.starts_with("hook_") || json.get("hookEvent").is_some()
    };
    attached.filter(|json| !is_hook(json))?;
    let mut draft = Draft::new("user");
    draft.opaque(&entry.take("attachment")?);
    Some(draft)
}

/// A message of the file with the other values of its entry, or something that the program attached.
enum Turn {
    Message(Fields, Map<String, Json>),
    Attached(Json),
}

/// The turns of a file in their order.
#[derive(Default)]
struct Turns {
    /// Each turn, and the results of its calls. Entries of other turns may stand between them in the file.
    all: Vec<(Turn, Vec<Turn>)>,
    /// The index in `all` of the answer with each id.
    answers: HashMap<String, usize>,
    /// The index in `all` of the turn that has the call with each id.
    calls: HashMap<String, usize>,
}

impl Turns {
    fn add(&mut self, turn: Turn) {
        self.all.push((turn, Vec::new()));
    }

    /// Adds a message. The program logs each block of an answer as a separate entry under the id of the answer. The
    /// result of a call may stand before the next block.
    fn message(&mut self, message: Fields, about: Map<String, Json>) {
        let ids = |kind: &str, key: &str| {
            let blocks = message.get("content").and_then(Json::as_array);
            let blocks = blocks
                .into_iter()
                .flatten()
                .filter(|block| block["type"] == kind);
            blocks
                .filter_map(|block| block[key].as_str().map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let mut answered = ids("tool_result", "tool_use_id").into_iter();
        if let Some(place) = answered.find_map(|id| self.calls.get(&id).copied()) {
            self.all[place].1.push(Turn::Message(message, about));
            return;
        }
        let asked = ids("tool_use", "id");
        let is_list = message.get("content").is_some_and(Json::is_array);
        let id = message.str("id").filter(|_| is_list).map(str::to_owned);
        let place = id.as_ref().and_then(|id| self.answers.get(id).copied());
        let known = place.map(|place| &mut self.all[place].0);
        let place = match (known, place) {
            (Some(Turn::Message(before, beside)), Some(place))
                if before.str("role") == message.str("role") =>
            {
                join(before, beside, message, about);
                place
            }
            _ => {
                self.add(Turn::Message(message, about));
                self.all.len() - 1
            }
        };
        self.answers.extend(id.map(|id| (id, place)));
        self.calls.extend(asked.into_iter().map(|id| (id, place)));
    }

    fn end(self, out: &mut Vec<Json>) {
        for (turn, results) in self.all {
            for turn in std::iter::once(turn).chain(results) {
                match turn {
                    Turn::Message(message, about) => anthropic::message(message, about, out),
                    Turn::Attached(message) => out.push(message),
                }
            }
        }
    }
}

/// Joins the next piece of a message to the pieces before it.
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
