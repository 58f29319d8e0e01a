//! Recorded conversations as one of their agents has them: lists of OpenAI chat.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

/// A recorded conversation.
pub(crate) struct Recorded {
    /// The name of its file.
    pub(crate) file: String,
    pub(crate) id: String,
    /// Whether the conversation is in the half that judges are developed with. Nobody looks at the other half.
    pub(crate) is_known: bool,
    pub(crate) messages: Vec<Json>,
}

/// Returns the conversations of the folder that `ACCP_CORPUS` names, or of the project's examples.
pub(crate) fn all() -> Vec<Recorded> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples");
    let folder = std::env::var_os("ACCP_CORPUS").map_or(examples, PathBuf::from);
    let files = std::fs::read_dir(&folder).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    paths.sort();
    let mut out = Vec::new();
    for path in paths {
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let json: Json = serde_json::from_str(line).unwrap();
            let Some(messages) = json["messages"].as_array() else {
                continue;
            };
            let id = json["id"].to_string();
            out.push(Recorded {
                is_known: hash(&format!("{file} {id}")).is_multiple_of(2),
                messages: chat(messages),
                file: file.clone(),
                id,
            });
        }
    }
    out
}

/// Returns a number that looks random, and is the same for the same text.
pub(crate) fn hash(text: &str) -> u64 {
    let mixed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (mixed ^ mixed >> 29) >> 7
}

/// Returns who speaks, if it is an agent.
fn agent(message: &Json) -> Option<&str> {
    let role = message["role"].as_str()?;
    let speaks = role == "assistant" || role == "agent";
    speaks.then(|| message["name"].as_str().unwrap_or(role))
}

/// Returns the messages from the view of the agent that speaks most often. Its own messages have the role `assistant`.
/// The words and results of all others have the role `user`.
fn chat(messages: &[Json]) -> Vec<Json> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in messages.iter().filter_map(agent) {
        *counts.entry(name).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let own = most.map_or("assistant", |(name, _)| name);
    let mut open = BTreeSet::new();
    let mut out = Vec::new();
    for message in messages {
        let content = message["content"].as_str().unwrap_or_default();
        let role = match message["role"].as_str() {
            Some("system") => "system",
            Some("tool") => "tool",
            _ if agent(message) == Some(own) => "assistant",
            _ => "user",
        };
        let id = message["tool_call_id"].as_str().unwrap_or_default();
        if role == "tool" && open.remove(id) {
            out.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
            continue;
        }
        let role = if role == "tool" { "user" } else { role };
        let mut said = json!({ "role": role, "content": content });
        let calls = calls(message);
        if role == "assistant" && !calls.is_empty() {
            open.extend(
                calls
                    .iter()
                    .map(|call| call["id"].as_str().unwrap().to_owned()),
            );
            said["tool_calls"] = calls.into();
        }
        out.push(said);
    }
    out
}

/// Returns the calls of a message, in the form of OpenAI chat.
fn calls(message: &Json) -> Vec<Json> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let call = |call: &Json| {
        if call["function"].is_object() {
            return call.clone();
        }
        let arguments = call["arguments"].to_string();
        let function = json!({ "name": call["name"], "arguments": arguments });
        json!({ "id": call["id"], "type": "function", "function": function })
    };
    calls
        .filter(|call| call["id"].is_string())
        .map(call)
        .collect()
}

/// Returns whether a message calls a tool or has a block of code.
pub(crate) fn acts(message: &Json) -> bool {
    let is_assistant = message["role"] == "assistant";
    is_assistant && (message["tool_calls"].is_array() || words(message).contains("```"))
}

/// Returns the text of a message.
pub(crate) fn words(message: &Json) -> &str {
    message["content"].as_str().unwrap_or_default()
}

/// Returns the arguments of the calls in a message: keys and short values.
pub(crate) fn arguments(message: &Json) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let text = call["function"]["arguments"].as_str().unwrap_or_default();
        if let Ok(json) = serde_json::from_str(text) {
            leaves(&json, "", &mut out);
        }
    }
    out
}

fn leaves(json: &Json, key: &str, out: &mut Vec<(String, String)>) {
    match json {
        Json::Object(map) => map.iter().for_each(|(key, value)| leaves(value, key, out)),
        Json::Array(items) => items.iter().for_each(|item| leaves(item, key, out)),
        Json::String(text) if (3..=60).contains(&text.len()) => {
            out.push((key.to_owned(), text.clone()));
        }
        Json::Number(number) if number.to_string().len() >= 3 => {
            out.push((key.to_owned(), number.to_string()));
        }
        _ => {}
    }
}
