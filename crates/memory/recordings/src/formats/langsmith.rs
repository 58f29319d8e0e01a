//! Reads exports of `LangSmith`: runs with `inputs` and `outputs`, and runs inside them.

use accp_context::Recorded;
use serde_json::{Map, Value as Json, json};

use super::claims::direct;
use super::draft::Draft;
use super::fault::{Fault, Parsed};
use super::fields::{Fields, is_void, merge};
use super::langsmith_run::{is_batch, is_run};
use super::merge::{Merge, Seen};
use super::{answers, langchain};
use crate::format::Format;
use crate::leaves::Leaves;

/// Keys of an answer that only say how it was recorded. Wrapped clients keep these keys in the same object as the words
/// of the answer.
const ANSWER: [&str; 8] = [
    "model",
    "stop_reason",
    "stop_sequence",
    "stop_details",
    "usage_metadata",
    "container",
    "context_management",
    "diagnostics",
];

/// Reads a document.
///
/// # Errors
/// When there are no runs.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let mut rest = Map::new();
    let (runs, list) = match json {
        Json::Array(runs) => (runs, true),
        other => {
            let is_batch = is_batch(&other);
            let mut fields = Fields::of(other).map_err(|_| Fault::at("", "a run, an object"))?;
            if is_batch {
                let runs = fields.list("post").unwrap_or_default();
                let later = fields.list("patch").unwrap_or_default();
                fields.put("runs", Json::Array(joined(runs, later)));
            }
            match fields.list("runs") {
                Some(runs) => {
                    rest = fields.into_map();
                    (runs, true)
                }
                None => (vec![Json::Object(fields.into_map())], false),
            }
        }
    };
    if let Some(index) = runs.iter().position(|run| !is_run(run)) {
        let pointer = if list {
            format!("/{index}")
        } else {
            String::new()
        };
        return Err(Fault::at(
            pointer,
            "a run, an object with `inputs` and `outputs`",
        ));
    }
    let mut runs = Json::Array(runs);
    let merge = merged(&mut runs);
    let id = ["session_id", "trace_id", "id"];
    if let Some(id) = id
        .iter()
        .find_map(|key| runs[0].get(key).filter(|id| id.is_string()))
    {
        rest.entry("id").or_insert_with(|| id.clone());
    }
    rest.insert("runs".to_owned(), runs);
    if !merge.repeated.is_empty() {
        rest.insert("repeated".to_owned(), Json::Array(merge.repeated));
    }
    Ok(Parsed {
        messages: merge.messages,
        rest,
        answered: None,
    })
}

/// Joins later patches to their runs. Two values of one key are both kept.
fn joined(mut runs: Vec<Json>, later: Vec<Json>) -> Vec<Json> {
    for patch in later {
        let run = runs.iter_mut().find(|run| run["id"] == patch["id"]);
        let (Some(Json::Object(run)), Json::Object(patch)) = (run, &patch) else {
            runs.push(patch);
            continue;
        };
        for (key, value) in patch {
            match run.get(key) {
                Some(known) if known == value || is_void(value) => {}
                Some(known) if !is_void(known) => {
                    let slot = run.entry("patch").or_insert_with(|| json!([]));
                    if let Json::Array(all) = slot {
                        all.push(json!({ key: value }));
                    }
                }
                _ => {
                    run.insert(key.clone(), value.clone());
                }
            }
        }
    }
    runs
}

/// A run, or a run inside another one.
struct Place {
    pointer: String,
    time: String,
    asks_model: bool,
}

/// Takes the messages of all runs. The runs that asked a model make the conversation; if none did, the outermost runs
/// make it. The other runs mostly repeat the same content. Such a run becomes a message only if it says something
/// else.
fn merged(runs: &mut Json) -> Merge {
    let mut places = Vec::new();
    each(runs, "", &mut places);
    places.sort_by(|a, b| a.time.cmp(&b.time));
    let models = places.iter().any(|place| place.asks_model);
    let speaks = |place: &Place| {
        if models {
            place.asks_model
        } else {
            place.pointer.matches('/').count() == 1
        }
    };
    let mut before = Merge::default();
    for place in places.iter().filter(|place| speaks(place)) {
        let run = runs.pointer(&place.pointer);
        let run = run.map(|run| json!({ "inputs": run["inputs"], "outputs": run["outputs"] }));
        take(&mut run.unwrap_or_default(), &mut before);
    }
    let mut leaves = Leaves::default();
    before
        .messages
        .iter()
        .for_each(|message| leaves.add(message));
    let mut merge = Merge::default();
    for place in &places {
        match runs.pointer_mut(&place.pointer) {
            Some(run) if speaks(place) => take(run, &mut merge),
            Some(run) => {
                let aside = aside(run, &leaves).into_iter().collect();
                merge.add(aside, &mut Seen::default());
            }
            None => {}
        }
    }
    merge
}

/// Finds the runs of a list, and the runs inside them.
fn each(runs: &Json, at: &str, out: &mut Vec<Place>) {
    for (index, run) in runs.as_array().into_iter().flatten().enumerate() {
        let pointer = format!("{at}/{index}");
        let time = run["start_time"].as_str();
        let time = time.or_else(|| run["dotted_order"].as_str());
        out.push(Place {
            pointer: pointer.clone(),
            time: time.unwrap_or_default().to_owned(),
            asks_model: run["run_type"] == "llm",
        });
        each(&run["child_runs"], &format!("{pointer}/child_runs"), out);
    }
}

/// From a run that asked no model, takes the values that no message has. Returns a message that shows them whole.
fn aside(run: &mut Json, leaves: &Leaves) -> Option<Json> {
    let mut shown = Map::new();
    for key in ["inputs", "outputs", "error"] {
        let value = run.get_mut(key);
        let is_new = |value: &&mut Json| leaves.first_lost(value, Format::LangSmith).is_some();
        if let Some(value) = value.filter(is_new) {
            shown.insert(key.to_owned(), value.take());
        }
    }
    if shown.is_empty() {
        return None;
    }
    let mut draft = Draft::new("tool");
    if let Some(name) = run["name"].as_str() {
        draft.set("name", name.into());
    }
    draft.shown(shown);
    Some(draft.into_json())
}

/// Takes the messages of a run.
fn take(run: &mut Json, merge: &mut Merge) {
    let mut seen = Seen::default();
    for (key, role) in [("inputs", "user"), ("outputs", "assistant")] {
        let Some(value) = run.get_mut(key).filter(|value| !is_void(value)) else {
            continue;
        };
        let inner = value
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        if let Some(inner @ Json::Object(_)) = inner {
            *value = inner;
        }
        let mut messages = Vec::new();
        provider(value, &mut messages);
        find(value, &mut messages);
        if messages.is_empty() {
            let mut draft = Draft::new(role);
            let value = std::mem::take(value);
            match only_text(&value) {
                Some(text) => draft.text(text),
                None => draft.opaque(&value),
            }
            messages.push(draft.into_json());
        }
        merge.add(messages, &mut seen);
    }
}

/// Takes the messages out of a request or an answer in the format of a provider.
fn provider(value: &mut Json, out: &mut Vec<Json>) {
    let format = direct(value);
    let format = format.filter(|format| {
        matches!(
            format,
            Format::Responses | Format::Anthropic | Format::Gemini | Format::OpenAi
        )
    });
    let read = format.and_then(|format| answers::provider(value, format));
    if let Some(messages) = read {
        out.extend(messages);
    } else if answers::is_message(value) {
        answers::message(set_aside(value.take()), out);
    }
}

/// Moves the keys of an answer that are not its words to the recorded values.
fn set_aside(mut json: Json) -> Json {
    if let Some(map) = json.as_object_mut().filter(|map| map.contains_key("role")) {
        let own = ANSWER.into_iter().filter_map(|key| {
            let value = map.shift_remove(key)?;
            Some((key.to_owned(), value))
        });
        let mut own: Map<String, Json> = own.collect();
        if let Some(Json::Object(before)) = map.shift_remove(Recorded::ABOUT) {
            merge(&mut own, before);
        }
        if !own.is_empty() {
            map.insert(Recorded::ABOUT.to_owned(), Json::Object(own));
        }
    }
    json
}

/// Returns the text of an object with a single key.
fn only_text(json: &Json) -> Option<&str> {
    let map = json.as_object()?;
    let mut values = map.values();
    values.next().filter(|_| map.len() == 1)?.as_str()
}

/// Takes all messages out of a value: in a list, in a list of lists, under `message` of a
/// generation or a choice.
fn find(json: &mut Json, out: &mut Vec<Json>) {
    let is_message = |json: &Json| {
        langchain::is_message(json)
            || json["role"].is_string()
                && (json.get("content").is_some() || json.get("tool_calls").is_some())
    };
    if is_message(json) {
        langchain::message(std::mem::take(json), out);
        return;
    }
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| find(item, out)),
        Json::Object(map) => {
            // A generation has its message also as a text, which is not read as a second message.
            map.values_mut().for_each(|value| find(value, out));
        }
        _ => {}
    }
}
