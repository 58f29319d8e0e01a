//! `LangSmith` exports: runs with `inputs` and `outputs`, and runs inside them.

use serde_json::{Map, Value as Json};

use super::draft::Draft;
use super::fault::{Fault, Model};
use super::fields::{Fields, is_void};
use super::langchain;
use super::merge::{Merge, Seen};

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    match json {
        Json::Array(runs) => runs.iter().any(is_run),
        _ => {
            is_run(json)
                || json["runs"]
                    .as_array()
                    .is_some_and(|runs| runs.iter().any(is_run))
        }
    }
}

fn is_run(json: &Json) -> bool {
    let inputs = json.get("inputs").is_some_and(Json::is_object);
    inputs
        && ["run_type", "outputs", "trace_id", "child_runs"]
            .iter()
            .any(|key| json.get(key).is_some())
}

/// Reads a document.
///
/// # Errors
/// When there are no runs.
pub(crate) fn read(json: Json) -> Result<Model, Fault> {
    let mut rest = Map::new();
    let (mut runs, list) = match json {
        Json::Array(runs) => (runs, true),
        other => {
            let mut fields = Fields::of(other).map_err(|_| Fault::at("", "a run, an object"))?;
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
    let mut merge = Merge::default();
    let models = runs.iter().any(holds_model);
    let mut order: Vec<&mut Json> = Vec::new();
    for run in &mut runs {
        if models {
            models_of(run, &mut order);
        } else {
            order.push(run);
        }
    }
    order.sort_by_cached_key(|run| time(run));
    for run in order {
        take(run, &mut merge);
    }
    let id = ["session_id", "trace_id", "id"];
    if let Some(id) = id
        .iter()
        .find_map(|key| runs.first()?.get(key).filter(|id| id.is_string()))
    {
        rest.entry("id").or_insert_with(|| id.clone());
    }
    rest.insert("runs".to_owned(), Json::Array(runs));
    if !merge.repeated.is_empty() {
        rest.insert("repeated".to_owned(), Json::Array(merge.repeated));
    }
    Ok(Model {
        messages: merge.messages,
        rest,
    })
}

/// Returns whether a run or a run inside it asked a model.
fn holds_model(run: &Json) -> bool {
    let inside = run["child_runs"]
        .as_array()
        .is_some_and(|runs| runs.iter().any(holds_model));
    run["run_type"] == "llm" || inside
}

/// Finds the runs that asked a model: this run, or runs inside it.
fn models_of<'r>(run: &'r mut Json, out: &mut Vec<&'r mut Json>) {
    if run["run_type"] == "llm" {
        out.push(run);
    } else if let Some(Json::Array(runs)) = run.get_mut("child_runs") {
        for run in runs {
            models_of(run, out);
        }
    }
}

fn time(run: &Json) -> String {
    let time = run["start_time"]
        .as_str()
        .or_else(|| run["dotted_order"].as_str());
    time.unwrap_or_default().to_owned()
}

/// Takes the messages of a run.
fn take(run: &mut Json, merge: &mut Merge) {
    let mut seen = Seen::default();
    for (key, role) in [("inputs", "user"), ("outputs", "assistant")] {
        let Some(value) = run.get_mut(key).filter(|value| !is_void(value)) else {
            continue;
        };
        let mut messages = Vec::new();
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

/// Returns the text of an object that has nothing else.
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
            // The text of a generation repeats its message.
            map.values_mut().for_each(|value| find(value, out));
        }
        _ => {}
    }
}
