//! Checks the messages of a list of OpenAI's chat: their roles, contents, calls and ids.

use serde_json::Value as Json;

use super::{caller, ids, role};
use crate::finding::{Code, Finding};
use crate::list::MessageList;
use crate::message::{ListMessage, Role};

/// An assistant's message without a content must have at least one of these members.
const INSTEAD: [&str; 4] = ["tool_calls", "function_call", "refusal", "audio"];

/// Checks each message by itself.
pub(super) fn check(list: &MessageList) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, message) in list.messages().iter().enumerate() {
        shape(at, message, &mut found);
        caller(at, message, &mut found);
        ids(std::slice::from_ref(message), at, &mut found);
    }
    found
}

fn shape(at: usize, message: &ListMessage, found: &mut Vec<Finding>) {
    let json = message.json();
    if message.role == Role::Other {
        let expected = "system, developer, user, assistant and tool";
        found.push(role(at, json["role"].as_str(), expected));
        return;
    }
    if json["tool_calls"].as_array().is_some_and(Vec::is_empty) {
        return;
    }
    let instead = |key: &&str| json.get(*key).is_some_and(|value| !value.is_null());
    let is_null = json.get("content").is_none_or(Json::is_null);
    let may_be_null = message.role == Role::Assistant && INSTEAD.iter().any(instead);
    if is_null && !may_be_null {
        let text =
            "the content is null, and there are no calls; give a text, `\"\"` if there is none";
        found.push(Finding::at(Code::TextBlank, at, text));
    }
}
