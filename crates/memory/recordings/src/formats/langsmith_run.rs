//! Tells runs of `LangSmith` from other documents.

use serde_json::Value as Json;

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    match json {
        Json::Array(runs) => runs.iter().any(is_run),
        _ => {
            is_run(json)
                || is_batch(json)
                || json["runs"]
                    .as_array()
                    .is_some_and(|runs| runs.iter().any(is_run))
        }
    }
}

/// Returns whether this is a batch that a client sends: new runs under `post`, and later patches of runs under
/// `patch`.
pub(super) fn is_batch(json: &Json) -> bool {
    let runs = |key: &str| {
        let runs = json[key].as_array();
        runs.is_some_and(|runs| runs.iter().all(|run| run["id"].is_string()))
    };
    runs("post")
        && runs("patch")
        && json["post"]
            .as_array()
            .is_some_and(|all| all.iter().any(is_run))
}

/// Returns whether this is a run: the `inputs` of one step of a program, with at least one other key of runs.
pub(super) fn is_run(json: &Json) -> bool {
    // In an export as a table, `inputs` is a text of JSON.
    let inputs = json.get("inputs").is_some_and(|inputs| {
        inputs.is_object() || inputs.is_string() && json.get("run_type").is_some()
    });
    inputs
        && ["run_type", "outputs", "trace_id", "child_runs"]
            .iter()
            .any(|key| json.get(key).is_some())
}
