//! Reads trajectories of SWE-agent: `history` has the messages of the agents, and `trajectory` has the steps.

use serde_json::{Map, Value as Json, json};

use super::anthropic;
use super::draft::Draft;
use super::fault::{Fault, Parsed};
use super::fields::{Fields, merge};
use super::listed::{self, Listed};
use super::parts;

/// Keys of a message that only say how it was recorded, or that repeat its content.
const ABOUT: [&str; 9] = [
    "agent",
    "message_type",
    "is_demo",
    "thought",
    "action",
    "tags",
    "cache_control",
    "tool_call_ids",
    "timestamp",
];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    let all = |key: &str, is_one: fn(&Json) -> bool| {
        let list = json[key].as_array().filter(|all| !all.is_empty());
        list.is_some_and(|all| all.iter().all(is_one))
    };
    all("trajectory", is_step) && json.get("messages").is_none()
        || all("history", is_message) && json.get("trajectory").is_some_and(Json::is_array)
        || all("history", is_step_of_demo) && json.get("messages").is_none()
}

fn is_step(json: &Json) -> bool {
    let has = |key: &str| json.get(key).is_some();
    has("action") && has("observation") && (has("thought") || has("response")) && !has("source")
}

fn is_message(json: &Json) -> bool {
    let has = |key: &str| json.get(key).is_some();
    json["role"].is_string() && (has("message_type") || has("agent")) && has("content")
}

/// Returns whether this is a message of a demonstration, which is kept without its steps.
fn is_step_of_demo(json: &Json) -> bool {
    is_message(json) && json["message_type"].is_string() && json["agent"].is_string()
}

/// Reads a trajectory. The program writes observations with the role of the user. They are read as results.
///
/// # Errors
/// When there are neither messages nor steps.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "an object with `trajectory` and `history`";
    Fault::unless(detect(&json), expected)?;
    let has_history = json["history"]
        .as_array()
        .is_some_and(|all| !all.is_empty());
    let key = if has_history { "history" } else { "trajectory" };
    let Listed { objects: all, rest } = listed::taken(json, &[key], expected)?;
    let mut parsed = Parsed {
        rest,
        ..Parsed::default()
    };
    let mut asked = NeutralCall::default();
    for one in all {
        let fields = Fields::of(Json::Object(one)).unwrap_or_default();
        if has_history {
            asked.message(fields, &mut parsed.messages);
        } else {
            step(fields, &mut parsed);
        }
    }
    Ok(parsed)
}

/// Whether the agent has answered. Messages of the user before the first answer are the task, and those after it are
/// results.
#[derive(Default)]
struct NeutralCall {
    has_answer: bool,
}

impl NeutralCall {
    fn message(&mut self, mut fields: Fields, out: &mut Vec<Json>) {
        let role = fields.text("role").unwrap_or_default();
        let is_demo = fields.get("is_demo") == Some(&Json::Bool(true));
        let kind = fields.str("message_type").unwrap_or_default().to_owned();
        match role.as_str() {
            "assistant" => {
                self.has_answer |= !is_demo;
                let mut draft = Draft::new(&role);
                for json in fields.list("thinking_blocks").into_iter().flatten() {
                    anthropic::block(&mut draft, json);
                }
                draft.content(fields.take("content"), parts::any);
                let calls = fields.list("tool_calls");
                let has_calls = calls.as_ref().is_some_and(|calls| !calls.is_empty());
                for call in calls.into_iter().flatten() {
                    parts::call(&mut draft, call);
                }
                let action = fields.str("action").unwrap_or_default().trim();
                if !has_calls && !action.is_empty() {
                    let command = fields.take("action").unwrap_or_default();
                    command_of(&mut draft, &command);
                }
                draft.rest(fields, &ABOUT);
                out.push(draft.into_json());
            }
            "tool" => out.push(result(fields)),
            // In this role, only the task is by the person. The program wrote the demonstrations
            // before it and the results after it.
            "user"
                if kind == "demonstration" || is_demo && !self.has_answer && !is_result(&kind) =>
            {
                out.push(plain("system", fields));
            }
            "user" if self.has_answer || is_demo => out.push(result(fields)),
            _ => out.push(plain(&role, fields)),
        }
    }
}

fn is_result(kind: &str) -> bool {
    kind == "observation"
}

fn plain(role: &str, mut fields: Fields) -> Json {
    let mut draft = Draft::new(role);
    draft.content(fields.take("content"), parts::any);
    draft.rest(fields, &ABOUT);
    draft.into_json()
}

fn result(mut fields: Fields) -> Json {
    let mut ids = fields.list("tool_call_ids").unwrap_or_default();
    let id = (ids.len() == 1).then(|| ids.remove(0));
    let mut draft = Draft::result(id, None);
    draft.content(fields.take("content"), parts::any);
    if !ids.is_empty() {
        fields.put("tool_call_ids", Json::Array(ids));
    }
    draft.rest(fields, &ABOUT);
    draft.into_json()
}

/// Adds a command as a call. The program runs it in a shell.
fn command_of(draft: &mut Draft, command: &Json) {
    let arguments = json!({ "command": command });
    draft.call(None, Some("bash".into()), Some(arguments), Map::new());
}

/// Reads a step: the answer of the agent, and the observation that followed. The first step also has the messages
/// that the agent got.
fn step(mut fields: Fields, parsed: &mut Parsed) {
    if parsed.messages.is_empty() {
        for json in fields.list("query").into_iter().flatten() {
            match Fields::of(json) {
                Ok(mut message) => {
                    let role = message.text("role").unwrap_or_else(|| "user".to_owned());
                    parsed.messages.push(plain(&role, message));
                }
                Err(odd) => parsed.messages.push(opaque(&odd)),
            }
        }
    }
    let mut draft = Draft::new("assistant");
    let response = fields.text("response").filter(|text| !text.is_empty());
    let text = response.or_else(|| fields.text("thought"));
    if let Some(text) = text {
        draft.text(text);
    }
    for json in fields.list("thinking_blocks").into_iter().flatten() {
        anthropic::block(&mut draft, json);
    }
    let action = fields.str("action").unwrap_or_default().trim();
    if !action.is_empty() {
        let command = fields.take("action").unwrap_or_default();
        command_of(&mut draft, &command);
    }
    let mut answer = Draft::new("tool");
    listed::value(&mut answer, fields.take("observation"));
    let mut about = fields.into_map();
    let recorded = match about.shift_remove("_recorded") {
        Some(Json::Object(map)) => map,
        other => other
            .into_iter()
            .map(|odd| ("_recorded".to_owned(), odd))
            .collect(),
    };
    merge(&mut about, recorded);
    draft.about(about);
    parsed.messages.push(draft.into_json());
    if !answer.is_empty() {
        parsed.messages.push(answer.into_json());
    }
}

fn opaque(json: &Json) -> Json {
    let mut draft = Draft::new("system");
    draft.opaque(json);
    draft.into_json()
}
