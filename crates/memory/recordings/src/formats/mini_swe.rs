//! Reads trajectories of mini-SWE-agent: the messages of a chat or the items of OpenAI Responses. The program adds its
//! own values to each message or item, under `extra`.

use accp_context::Recorded;
use serde_json::{Map, Value as Json, json};

use super::chat;
use super::fault::{Fault, Parsed};
use super::fields::Fields;
use super::listed::{self, Listed};
use super::responses;

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    let format = json["trajectory_format"].as_str().unwrap_or_default();
    let version = json["info"]["mini_version"].is_string();
    json["messages"].is_array()
        && json["info"].is_object()
        && (format.starts_with("mini-swe-agent") || version)
}

/// Reads a trajectory. The program writes the observations of commands with the role of the user. They are read as
/// results.
///
/// # Errors
/// When there are no messages, or one is not an object.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "an object with `messages`, `info` and `trajectory_format`";
    Fault::unless(detect(&json), expected)?;
    let Listed { objects: all, rest } = listed::taken(json, &["messages"], expected)?;
    let mut reader = Reader::default();
    reader.parsed.rest = rest;
    let is_item = |map: &Map<String, Json>| {
        let kind = map.get("type").and_then(Json::as_str).unwrap_or_default();
        map.get("object").is_some_and(|object| object == "response") || kind.ends_with("_output")
    };
    let has_items = all.iter().any(is_item);
    for message in all {
        if message.get("role").is_some_and(|role| role == "exit") {
            reader.entries.push(Json::Object(message));
        } else if has_items {
            reader.item(message);
        } else {
            reader.message(message);
        }
    }
    let Reader {
        mut parsed,
        items,
        entries,
        ..
    } = reader;
    parsed
        .messages
        .extend(responses::read(Json::Array(items))?.messages);
    if !entries.is_empty() {
        let entries = [("entries".to_owned(), Json::Array(entries))];
        super::fields::merge(&mut parsed.rest, entries.into_iter().collect());
    }
    Ok(parsed)
}

#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// Items of OpenAI Responses.
    items: Vec<Json>,
    /// The entries that no model saw.
    entries: Vec<Json>,
    has_answer: bool,
}

impl Reader {
    /// Adds an item, or the items of an answer.
    fn item(&mut self, mut item: Map<String, Json>) {
        let output = item.get("output").is_some_and(Json::is_array);
        let extra = item.shift_remove("extra");
        let is_answer = output && item.get("type").is_none();
        if is_answer && let Some(Json::Array(output)) = item.shift_remove("output") {
            self.items.extend(output);
            item.extend(extra.map(|extra| ("extra".to_owned(), extra)));
            self.entries.push(Json::Object(item));
            return;
        }
        set_aside(&mut item, extra);
        self.items.push(Json::Object(item));
    }

    /// Adds a message of a chat.
    fn message(&mut self, mut message: Map<String, Json>) {
        let mut extra = message.shift_remove("extra");
        let role = message.get("role").and_then(Json::as_str);
        let is_tool = role == Some("user") && (self.has_answer || extra.is_some());
        if role == Some("assistant") {
            self.has_answer = true;
            let has_calls = message.get("tool_calls").is_some_and(Json::is_array);
            let calls = if has_calls {
                Vec::new()
            } else {
                calls(&message, extra.as_mut())
            };
            if !calls.is_empty() {
                message.insert("tool_calls".to_owned(), Json::Array(calls));
            }
        }
        if is_tool {
            message.insert("role".to_owned(), "tool".into());
        }
        set_aside(&mut message, extra);
        self.parsed.messages.push(chat::message(message));
    }
}

/// Returns the commands of an answer as calls: the commands that the program found in the answer, or else the command
/// in the first block of code.
fn calls(message: &Map<String, Json>, extra: Option<&mut Json>) -> Vec<Json> {
    let call = |command: Json| {
        let arguments = json!({ "command": command });
        json!({ "name": "bash", "arguments": arguments })
    };
    if let Some(actions) = extra.and_then(|extra| extra.get_mut("actions")) {
        let actions = actions.as_array_mut().into_iter().flatten();
        let commands = actions.filter_map(|action| {
            let map = action.as_object_mut()?;
            map.get("command")
                .is_some_and(Json::is_string)
                .then_some(())?;
            map.shift_remove("command")
        });
        return commands.map(call).collect();
    }
    let content = message.get("content").and_then(Json::as_str);
    let block = content.and_then(|text| {
        let (_, code) = text.split_once("```")?;
        let (language, code) = code.split_once('\n')?;
        let is_command = language.ends_with("bash") || language.ends_with("bash_command");
        let (code, _) = code.split_once("```").filter(|_| is_command)?;
        Some(code.trim_end().to_owned())
    });
    block.into_iter().map(|code| call(code.into())).collect()
}

/// Moves the values that the program added to a message to its recorded values.
fn set_aside(message: &mut Map<String, Json>, extra: Option<Json>) {
    let Some(extra) = extra else { return };
    let mut fields = Fields::of(Json::Object(std::mem::take(message))).unwrap_or_default();
    let mut about = fields
        .object(Recorded::ABOUT)
        .unwrap_or_default()
        .into_map();
    let extra = [("extra".to_owned(), extra)];
    super::fields::merge(&mut about, extra.into_iter().collect());
    fields.put(Recorded::ABOUT, Json::Object(about));
    *message = fields.into_map();
}
