//! Reads trajectories of `OpenHands`: events with a source. The actions of an agent are its calls, and the observations
//! are their results.

mod older;
mod sdk;

use serde_json::Value as Json;

use super::fault::{Fault, Parsed};
use super::fields::{Fields, merge};
use super::listed::{self, Listed, has_text, list};

/// The keys under which programs keep the events.
const LISTS: [&str; 4] = ["trajectory", "history", "events", "items"];
/// Who makes an event.
const SOURCES: [&str; 4] = ["user", "agent", "environment", "hook"];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    is_event(json) || list(json, &LISTS).is_some_and(|all| all.iter().all(is_event))
}

/// Returns whether this is an event.
pub(crate) fn is_event(json: &Json) -> bool {
    let source = json["source"].as_str();
    let source = source.is_some_and(|source| SOURCES.contains(&source));
    let older = has_text(json, "action") || has_text(json, "observation");
    source && json.get("role").is_none() && (older || sdk::is_event(json))
}

/// Reads a trajectory.
///
/// # Errors
/// When something in it is not an event.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "events with `source`, and `action` or `observation`";
    Fault::unless(detect(&json), expected)?;
    let json = if is_event(&json) {
        Json::Array(vec![json])
    } else {
        json
    };
    let Listed {
        objects: events,
        mut rest,
    } = listed::taken(json, &LISTS, expected)?;
    let mut parsed = Parsed::default();
    let mut entries = Vec::new();
    let mut answer = None;
    for event in events {
        let fields = Fields::of(Json::Object(event)).unwrap_or_default();
        let is_sdk = fields.get("kind").is_some_and(Json::is_string);
        // OpenHands writes each call of one answer as a separate event. These events are joined
        // into one message.
        let before = std::mem::replace(&mut answer, sdk::answer_of(&fields));
        let is_next = answer.is_some() && answer == before;
        let read = if is_sdk {
            sdk::message(fields, &mut parsed.messages)
        } else {
            older::message(fields, &mut parsed.messages)
        };
        if is_next && let Some(next) = parsed.messages.pop() {
            let next = match parsed.messages.last_mut() {
                Some(before) => sdk::join(before, next),
                None => Some(next),
            };
            parsed.messages.extend(next);
        }
        // No model saw the events that cannot be read as messages, so they are kept outside the
        // messages.
        entries.extend(read.err().map(|event| Json::Object(event.into_map())));
    }
    if !entries.is_empty() {
        let entries = [("entries".to_owned(), Json::Array(entries))];
        merge(&mut rest, entries.into_iter().collect());
    }
    parsed.rest = rest;
    Ok(parsed)
}
