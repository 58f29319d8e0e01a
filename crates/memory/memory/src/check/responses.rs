//! Checks a list of OpenAI's Responses: its ids and roles, and the place of reasoning items.

use super::{ids, role};
use crate::finding::{Code, Finding};
use crate::list::MessageList;
use crate::message::Role;

/// Checks each item by itself, and that each reasoning item stands before the item that it belongs to.
pub(super) fn check(list: &MessageList) -> Vec<Finding> {
    let messages = list.messages();
    let mut found = Vec::new();
    ids(messages, 0, &mut found);
    for (at, message) in messages.iter().enumerate() {
        let json = message.json();
        let kind = json["type"].as_str();
        if message.role == Role::Other && kind.is_none_or(|kind| kind == "message") {
            let expected = "user, assistant, system and developer";
            found.push(role(at, json["role"].as_str(), expected));
        }
        let next = messages.get(at + 1).map(|next| next.role);
        let belongs = matches!(next, Some(Role::Assistant | Role::Other));
        if message.is_kind("reasoning") && !belongs {
            let text = "the item that this reasoning belongs to does not follow it; keep both, or drop both";
            found.push(Finding::at(Code::ReasoningSplit, at, text));
        }
    }
    found
}
