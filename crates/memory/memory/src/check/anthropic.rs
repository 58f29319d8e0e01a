//! Checks a list in Anthropic's form: the roles, the order of results, and the pairs of server tools.

use std::ops::Range;

use super::pairs::{Why, turns};
use super::server::{self, At, ServerPairs};
use super::{caller, ids, missing, orphan, repeated, role};
use crate::finding::{Code, Finding};
use crate::list::MessageList;
use crate::message::{ListMessage, Role};

pub(super) fn check(list: &MessageList) -> Vec<Finding> {
    let messages = list.messages();
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        shape(at, message, &mut found);
        if message.role != Role::System {
            caller(at, message, &mut found);
        }
    }
    let turns = turns(messages);
    let first = turns.first().map(|turn| turn.start);
    if let Some(first) = first.filter(|first| messages[*first].role == Role::Assistant) {
        let text = "the list begins with the assistant; begin with a turn of the user";
        found.push(Finding::at(Code::FirstNotUser, first, text));
    }
    ids(messages, 0, &mut found);
    for turn in turns {
        if messages[turn.start].role == Role::User {
            results_first(messages, turn, &mut found);
        }
    }
    server_tools(list, &mut found);
    found
}

/// Checks a message by itself.
fn shape(at: usize, message: &ListMessage, found: &mut Vec<Finding>) {
    match message.role {
        Role::System => {
            let text =
                "a system message stands in the list; give its text as `system`, beside `messages`";
            found.push(Finding::at(Code::SystemInside, at, text));
        }
        Role::User | Role::Assistant => {}
        Role::Tool | Role::Other => {
            let json = message.json();
            found.push(role(at, json["role"].as_str(), "user and assistant"));
        }
    }
}

/// Checks that nothing stands before a result in a turn of the user.
fn results_first(messages: &[ListMessage], turn: Range<usize>, found: &mut Vec<Finding>) {
    let mut other = false;
    for at in turn {
        let message = &messages[at];
        if message.role == Role::System {
            continue;
        }
        // A content that is plain text has no blocks. It counts as something other than a result.
        other |= message.blocks().is_empty();
        let mut late = false;
        for block in message.blocks() {
            let is_result = block["type"] == "tool_result";
            late |= other && is_result;
            other |= !is_result;
        }
        if late {
            let text = "something stands before a result; put all results first in this turn";
            found.push(Finding::at(Code::ResultsNotFirst, at, text));
            return;
        }
    }
}

/// Reports the blocks of server tools that do not pair.
fn server_tools(list: &MessageList, found: &mut Vec<Finding>) {
    let messages = list.messages();
    let block = |(at, index): At| &messages[at].blocks()[index];
    let pairs = ServerPairs::of(list);
    for (place, before) in pairs.missing {
        let call = block(place);
        let id = server::call(call).unwrap_or_default();
        let tool = call["name"].as_str().unwrap_or_default();
        found.push(missing(place.0, id, tool, before));
    }
    for (place, why) in pairs.stray {
        let id = server::result(block(place)).unwrap_or_default();
        found.push(match why {
            Why::Repeated => repeated(place.0, id),
            _ => orphan(place.0, id),
        });
    }
}
