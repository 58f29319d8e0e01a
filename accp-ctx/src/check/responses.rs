//! The rules of OpenAI's Responses.

use std::collections::BTreeMap;

use super::{misplaced, missing, orphan, repeated, role, same_id, without_id};
use crate::finding::{Code, Finding};
use crate::list::MessageList;
use crate::message::{Call, Message, Role};

pub(super) fn check(list: &MessageList) -> Vec<Finding> {
    let messages = list.messages();
    let mut found = Vec::new();
    let mut asked: BTreeMap<&str, (usize, &Call, bool)> = BTreeMap::new();
    for (at, message) in messages.iter().enumerate() {
        shape(at, messages, &mut found);
        for call in &message.calls {
            let id = call.id.as_str();
            if id.is_empty() {
                found.push(without_id(at, &format!("the call of `{}`", call.tool)));
            } else if let Some((first, ..)) = asked.get(id) {
                found.push(same_id(at, id, &format!("in item {first}")));
            } else {
                asked.insert(id, (at, call, false));
            }
        }
        for answer in &message.answers {
            let id = answer.id.as_str();
            let later = || {
                messages[at..]
                    .iter()
                    .flat_map(|later| &later.calls)
                    .any(|call| call.id == id)
            };
            match asked.get_mut(id) {
                _ if id.is_empty() => found.push(without_id(at, "the output")),
                Some((.., answered)) if *answered => found.push(repeated(at, id)),
                Some((.., answered)) => *answered = true,
                None if later() => found.push(misplaced(at, id, "behind its call")),
                // The call may stand in items that the provider keeps.
                None if list.goes_on() => {}
                None => found.push(orphan(at, id)),
            }
        }
    }
    for (id, (at, call, answered)) in asked {
        let next = messages[at..]
            .iter()
            .position(|later| matches!(later.role, Role::User | Role::System));
        if let Some(next) = next.filter(|_| !answered) {
            found.push(missing(at, id, &call.tool, at + next));
        }
    }
    found
}

/// Checks an item by itself, and that reasoning stands before what it belongs to.
fn shape(at: usize, messages: &[Message], found: &mut Vec<Finding>) {
    let message = &messages[at];
    let json = message.json();
    if message.role == Role::Other && json["type"].as_str().is_none_or(|kind| kind == "message") {
        let expected = "user, assistant, system and developer";
        found.push(role(at, json["role"].as_str(), expected));
    }
    let next = messages.get(at + 1).map(|next| next.role);
    if message.is_kind("reasoning") && !matches!(next, Some(Role::Assistant | Role::Other)) {
        let text =
            "the item that this reasoning belongs to does not follow it; keep both, or drop both";
        found.push(Finding::at(Code::ReasoningSplit, at, text));
    }
}
