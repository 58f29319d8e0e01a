//! Turns messages of a recording into the OpenAI chat list of one agent's program.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use crate::policy::{Kind, Message};

/// Returns a message as the program of `agent` has it in a list of OpenAI chat. The agent's own messages get the role
/// `assistant`, and messages of other speakers the role `user`. `foreign` has the calls of other agents. Results of
/// these calls get the role `user`, too.
pub(super) fn as_chat(
    message: &Message,
    agent: &str,
    foreign: &mut BTreeSet<String>,
) -> Map<String, Json> {
    let recorded = message.recorded();
    let speaker = recorded.name().or(recorded.role()).unwrap_or_default();
    let answers =
        recorded.is_result() && recorded.call_id().is_some_and(|id| !foreign.contains(id));
    for id in recorded.calls().filter_map(accp_context::Call::id) {
        if speaker == agent {
            foreign.remove(id);
        } else {
            foreign.insert(id.to_owned());
        }
    }
    let role = match message.kind {
        Kind::System => "system",
        Kind::Result if answers => "tool",
        _ if speaker == agent => "assistant",
        _ => "user",
    };
    let mut chat = Map::new();
    chat.insert("role".to_owned(), role.into());
    for (key, value) in message.json.as_object().into_iter().flatten() {
        let is_call = key == "tool_calls" || key == "function_call";
        let names_call = key == "tool_call_id" && role != "tool";
        if key != "role" && !names_call && !(is_call && role != "assistant") {
            chat.insert(key.clone(), value.clone());
        }
    }
    let has_calls = chat.get("tool_calls").is_some_and(|calls| !calls.is_null());
    if chat.get("content").is_none_or(Json::is_null) && !has_calls {
        chat.insert("content".to_owned(), "".into());
    }
    chat
}
