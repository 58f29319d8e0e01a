//! Reads events of the versions 0.x of `OpenHands`: an `action` with `args`, or an `observation` with a `content`.

use serde_json::{Map, Value as Json};

use crate::formats::draft::Draft;
use crate::formats::fields::Fields;
use crate::formats::listed::value;

/// Actions and observations of the program, which no model saw.
const PROGRAM: [&str; 12] = [
    "change_agent_state",
    "agent_state_changed",
    "null",
    "recall",
    "condensation",
    "condensation_request",
    "start",
    "pause",
    "resume",
    "stop",
    "loop_recovery",
    "task_tracking_state",
];

/// Reads an event. Returns the event as `Err` if no model saw it.
pub(super) fn message(mut event: Fields, out: &mut Vec<Json>) -> Result<(), Fields> {
    let key = ["action", "observation"]
        .into_iter()
        .find(|key| event.str(key).is_some());
    let kind = key
        .and_then(|key| event.str(key))
        .unwrap_or_default()
        .to_owned();
    let source = event.str("source").unwrap_or_default().to_owned();
    if PROGRAM.contains(&kind.as_str()) {
        return Err(event);
    }
    let draft = match (key, kind.as_str()) {
        (Some("action"), "message" | "system") => {
            let role = match (kind.as_str(), source.as_str()) {
                ("system", _) => "system",
                (_, "user") => "user",
                (_, "agent") => "assistant",
                _ => "system",
            };
            let mut draft = Draft::new(role);
            words(&mut draft, &mut event);
            draft
        }
        (Some("action"), _) if source == "agent" => action(&mut event, &kind),
        // The user or the program ran this action, and not the agent. Its arguments are shown
        // whole.
        (Some("action"), _) => {
            let mut draft = Draft::new(if source == "user" { "user" } else { "system" });
            let args = event.take("args").unwrap_or_default();
            draft.opaque(&args);
            draft
        }
        _ => observation(&mut event),
    };
    let mut draft = draft;
    let is_empty = draft.is_empty() && kind == "null";
    draft.event(event);
    if !is_empty {
        out.push(draft.into_json());
    }
    Ok(())
}

/// Adds the words of a message, and its pictures.
fn words(draft: &mut Draft, event: &mut Fields) {
    let Some(mut args) = event.object("args") else {
        return;
    };
    draft.content(args.take("content"), |draft, json| draft.opaque(&json));
    for url in args.list("image_urls").into_iter().flatten() {
        let part = serde_json::json!({ "type": "image_url", "image_url": { "url": url } });
        crate::formats::parts::any(draft, part);
    }
    event.put("args", Json::Object(args.into_map()));
}

/// Reads an action of an agent: its thought, and a call.
fn action(event: &mut Fields, kind: &str) -> Draft {
    let mut draft = Draft::new("assistant");
    let mut args = event.object("args").unwrap_or_default();
    let thought = args.text("thought").filter(|text| !text.is_empty());
    if kind == "think" {
        args.put("thought", thought.unwrap_or_default().into());
    } else if let Some(text) = thought {
        draft.text(text);
    }
    let mut metadata = event.object("tool_call_metadata").unwrap_or_default();
    let (id, name) = (
        metadata.take("tool_call_id"),
        metadata.take("function_name"),
    );
    // These are the arguments that the model wrote. The program's own copy has more arguments.
    let written = id.as_ref().and_then(|id| {
        let response = metadata.get("model_response")?;
        let calls = response
            .pointer("/choices/0/message/tool_calls")?
            .as_array()?;
        let call = calls.iter().find(|call| call.get("id") == Some(id))?;
        call.pointer("/function/arguments").cloned()
    });
    let name = name.or_else(|| event.take("action"));
    let number = id
        .is_none()
        .then(|| event.get("id").map(Json::to_string))
        .flatten();
    let id = id.or_else(|| number.map(Json::from));
    let arguments = match written {
        Some(written) => {
            event.put("args", Json::Object(args.into_map()));
            written
        }
        None => Json::Object(args.into_map()),
    };
    let about: Map<String, Json> = metadata.into_map();
    draft.call(id, name, Some(arguments), about);
    draft
}

/// Reads an observation: the result of a call, or words of the program.
fn observation(event: &mut Fields) -> Draft {
    let kind = event.str("observation").unwrap_or_default().to_owned();
    let mut metadata = event.object("tool_call_metadata").unwrap_or_default();
    let (id, name) = (
        metadata.take("tool_call_id"),
        metadata.take("function_name"),
    );
    let cause = event
        .get("cause")
        .filter(|cause| cause.is_number())
        .map(Json::to_string);
    let is_result = id.is_some() || cause.is_some();
    let mut draft = if is_result || event.str("source") == Some("agent") {
        Draft::result(id.or_else(|| cause.map(Json::from)), name)
    } else {
        Draft::new("system")
    };
    if kind == "error" && is_result {
        draft.set("is_error", true.into());
    }
    value(&mut draft, event.take("content"));
    let metadata = metadata.into_map();
    if !metadata.is_empty() {
        event.put("tool_call_metadata", Json::Object(metadata));
    }
    draft
}
