//! Reads states and checkpoints of `LangGraph` as programs export them: a single one, or all of a thread. Each state or
//! checkpoint holds the messages so far.

use serde_json::{Map, Value as Json, json};

use super::fault::{Fault, Parsed};
use super::langchain;
use super::listed::{self, Listed, list};
use super::merge::{Merge, Seen};

/// The places of the channels in a state, a saved checkpoint and a checkpoint alone.
const CHANNELS: [&str; 3] = ["/values", "/checkpoint/channel_values", "/channel_values"];
/// Keys that a state or a checkpoint has in addition to its channels.
const BESIDE: [&str; 5] = [
    "next",
    "config",
    "parent_config",
    "channel_versions",
    "created_at",
];

/// The fields of a saved checkpoint, in the order in which `dumpd` writes them as a list.
const SAVED: [&str; 5] = [
    "config",
    "checkpoint",
    "metadata",
    "parent_config",
    "pending_writes",
];
/// The fields of a state, in the order in which `dumpd` writes them as a list.
const STATE: [&str; 8] = [
    "values",
    "next",
    "config",
    "metadata",
    "created_at",
    "parent_config",
    "tasks",
    "interrupts",
];

/// Returns the names of the fields if a state or a checkpoint was written as a list of its values.
fn fields(json: &Json) -> Option<&'static [&'static str]> {
    let values = json.as_array()?;
    let all = [
        (&SAVED[..], "/0/configurable", "/1/channel_values"),
        (&STATE[..], "/2/configurable", "/0/messages"),
    ];
    let mut fits = all.into_iter().filter(|(fields, config, held)| {
        let length = (3..=fields.len()).contains(&values.len());
        length && json.pointer(config).is_some_and(Json::is_object) && json.pointer(held).is_some()
    });
    fits.next().map(|(fields, ..)| fields)
}

/// Returns the document as an object with the names of the fields, if it was a list of values.
fn named(json: Json) -> Json {
    match (fields(&json), json) {
        (Some(fields), Json::Array(values)) => {
            let fields = fields.iter().map(|field| (*field).to_owned());
            Json::Object(fields.zip(values).collect())
        }
        (_, json) => json,
    }
}

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    fields(json).is_some()
        || is_state(json)
        || list(json, &[]).is_some_and(|all| all.iter().all(is_state))
}

/// Returns whether this is a state with messages, or a state from before its thread had messages.
pub(crate) fn is_state(json: &Json) -> bool {
    let channels = CHANNELS.iter().find_map(|at| json.pointer(at)?.as_object());
    let beside = BESIDE.iter().any(|key| json.get(*key).is_some());
    channels.is_some_and(|map| map.get("messages").is_none_or(Json::is_array)) && beside
}

/// Reads the states of one thread into one conversation.
///
/// # Errors
/// When a state is of another thread, or no state has messages.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "states with `values.messages`, or checkpoints with `channel_values.messages`";
    Fault::unless(detect(&json), expected)?;
    let json = named(json);
    let is_list = json.is_array();
    let json = if is_list { json } else { json!([json]) };
    let Listed {
        objects: mut states,
        ..
    } = listed::taken(json, &[], expected)?;
    let id = states.iter().find_map(thread).cloned();
    let other = states
        .iter()
        .position(|state| thread(state).is_some_and(|thread| Some(thread) != id.as_ref()));
    if let Some(index) = other {
        return Err(Fault::at(
            format!("/{index}"),
            "the states of one thread alone",
        ));
    }
    // A history has the newest state first, so the order is reversed.
    let mut order: Vec<usize> = (0..states.len()).rev().collect();
    order.sort_by_key(|index| step(&states[*index]));
    let mut merge = Merge::default();
    for index in order {
        let mut messages = Vec::new();
        for json in messages_of(&mut states[index]) {
            if json.is_object() {
                langchain::message(json, &mut messages);
            } else {
                let pointer = if is_list {
                    format!("/{index}")
                } else {
                    String::new()
                };
                return Err(Fault::at(pointer, "messages that are objects"));
            }
        }
        merge.add(messages, &mut Seen::default());
    }
    if merge.messages.is_empty() {
        return Err(Fault::at("", expected));
    }
    let mut rest = Map::new();
    rest.extend(id.map(|id| ("id".to_owned(), id)));
    let entries = states.into_iter().map(Json::Object);
    rest.insert("entries".to_owned(), entries.collect());
    if !merge.repeated.is_empty() {
        rest.insert("repeated".to_owned(), Json::Array(merge.repeated));
    }
    Ok(Parsed {
        messages: merge.messages,
        rest,
        answered: None,
    })
}

fn thread(state: &Map<String, Json>) -> Option<&Json> {
    let config = state.get("config");
    let id = config.and_then(|config| config.pointer("/configurable/thread_id"));
    let id = id.or_else(|| state.get("checkpoint")?.get("thread_id"))?;
    Some(id).filter(|id| id.is_string())
}

/// Returns the number of the step and the time, which order the states.
fn step(state: &Map<String, Json>) -> (i64, String) {
    let step = state.get("metadata").and_then(|meta| meta["step"].as_i64());
    let time = state
        .get("created_at")
        .or_else(|| state.get("checkpoint")?.get("ts"))
        .or_else(|| state.get("ts"))
        .and_then(Json::as_str);
    (step.unwrap_or(0), time.unwrap_or_default().to_owned())
}

/// Takes the messages of a state.
fn messages_of(state: &mut Map<String, Json>) -> Vec<Json> {
    let mut json = Json::Object(std::mem::take(state));
    let found = CHANNELS.iter().find_map(|at| {
        let channels = json.pointer_mut(at)?.as_object_mut()?;
        match channels.shift_remove("messages") {
            Some(Json::Array(messages)) => Some(messages),
            _ => None,
        }
    });
    if let Json::Object(map) = json {
        *state = map;
    }
    found.unwrap_or_default()
}
