//! The rules of Anthropic's messages.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value as Json;

use super::{misplaced, missing, orphan, repeated, role, same_id, without_id};
use crate::finding::{Code, Finding};
use crate::list::MessageList;
use crate::message::{Call, Message, Role};

pub(super) fn check(list: &MessageList) -> Vec<Finding> {
    let messages = list.messages();
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        shape(at, message, at + 1 == messages.len(), &mut found);
    }
    let turns = turns(messages);
    if turns
        .first()
        .is_some_and(|turn| messages[turn.start].role == Role::Assistant)
    {
        let text = "the list begins with the assistant; begin with a turn of the user";
        found.push(Finding::at(Code::FirstNotUser, 0, text));
    }
    ids(messages, &mut found);
    for (index, turn) in turns.iter().enumerate() {
        let turn = turn.clone();
        if messages[turn.start].role == Role::User {
            let before = index
                .checked_sub(1)
                .map_or(0..0, |before| turns[before].clone());
            let is_last = index + 1 == turns.len();
            answers(messages, before, turn, is_last, &mut found);
            continue;
        }
        for at in turn.clone() {
            for answer in &messages[at].answers {
                found.push(misplaced(at, &answer.id, "in a turn of the user"));
            }
        }
        let follows = turns.get(index + 1);
        // A turn that nothing follows is in flight. A turn of the user answers itself, above.
        if let Some(next) = follows.filter(|next| messages[next.start].role != Role::User) {
            for (at, call) in calls(messages, turn) {
                found.push(missing(at, &call.id, &call.tool, next.start));
            }
        }
    }
    found
}

/// Returns the turns: messages of one role that follow each other.
pub(crate) fn turns(messages: &[Message]) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match turns.last_mut() {
            Some(last) if messages[last.start].role == message.role => last.end = at + 1,
            _ => turns.push(at..at + 1),
        }
    }
    turns
}

fn calls(messages: &[Message], turn: Range<usize>) -> impl Iterator<Item = (usize, &Call)> {
    turn.flat_map(move |at| messages[at].calls.iter().map(move |call| (at, call)))
}

/// Checks a message by itself.
fn shape(at: usize, message: &Message, is_last: bool, found: &mut Vec<Finding>) {
    let json = message.json();
    match message.role {
        Role::System => {
            let text =
                "a system message stands in the list; give its text as `system`, beside `messages`";
            found.push(Finding::at(Code::SystemInside, at, text));
            return;
        }
        Role::User | Role::Assistant => {}
        Role::Tool | Role::Other => {
            found.push(role(at, json["role"].as_str(), "user and assistant"));
            return;
        }
    }
    let may_be_empty = is_last && message.role == Role::Assistant;
    let blank = |text: &str| text.trim().is_empty();
    let blank = match &json["content"] {
        Json::String(text) => blank(text) && !(may_be_empty && text.is_empty()),
        Json::Array(blocks) => {
            let text =
                |block: &Json| block["type"] == "text" && block["text"].as_str().is_none_or(blank);
            blocks.is_empty() && !may_be_empty || blocks.iter().any(text)
        }
        _ => true,
    };
    if blank {
        let text = "a text is blank; leave the block out, or give a text that is not white space";
        found.push(Finding::at(Code::TextBlank, at, text));
    } else if may_be_empty
        && last_text(json).is_some_and(|text| text.ends_with(char::is_whitespace))
    {
        let text = "the last text of the assistant ends in white space; cut the white space";
        found.push(Finding::at(Code::TextBlank, at, text));
    }
}

/// Returns the text that a message ends with.
fn last_text(json: &Json) -> Option<&str> {
    match &json["content"] {
        Json::Array(blocks) => blocks.last()?["text"].as_str(),
        content => content.as_str(),
    }
}

/// Checks that the ids of calls differ in the whole list.
fn ids(messages: &[Message], found: &mut Vec<Finding>) {
    let mut seen = BTreeMap::new();
    for (at, call) in calls(messages, 0..messages.len()) {
        if call.id.is_empty() {
            found.push(without_id(at, &format!("the call of `{}`", call.tool)));
        } else if let Some(first) = seen.get(&call.id) {
            found.push(same_id(at, &call.id, &format!("in message {first}")));
        } else {
            seen.insert(&call.id, at);
        }
    }
}

/// Checks a turn of the user against the calls of the turn before.
fn answers(
    messages: &[Message],
    before: Range<usize>,
    turn: Range<usize>,
    is_last: bool,
    found: &mut Vec<Finding>,
) {
    let mut open: BTreeMap<&str, bool> = BTreeMap::new();
    for (_, call) in calls(messages, before.clone()) {
        open.insert(&call.id, false);
    }
    for at in turn.clone() {
        for answer in &messages[at].answers {
            let id = answer.id.as_str();
            if id.is_empty() {
                found.push(without_id(at, "the result"));
                continue;
            }
            match open.get_mut(id) {
                Some(answered) if *answered => found.push(repeated(at, id)),
                Some(answered) => *answered = true,
                None if calls(messages, 0..messages.len()).any(|(_, call)| call.id == id) => {
                    found.push(misplaced(at, id, "in the turn right behind its call"));
                }
                None => found.push(orphan(at, id)),
            }
        }
    }
    let mut other = None;
    for at in turn.clone() {
        let message = &messages[at];
        // A content that is a text is a block that is not a result.
        let blocks = message.blocks();
        let is_result = |block: &Json| block["type"] == "tool_result";
        let others = if blocks.is_empty() {
            1
        } else {
            blocks.iter().take_while(|block| !is_result(block)).count()
        };
        let leads = others > 0 && !message.answers.is_empty();
        if leads || other.is_some() && !message.answers.is_empty() {
            let text = "something stands before the results; put all results first in this turn";
            found.push(Finding::at(Code::ResultsNotFirst, at, text));
        } else {
            let inner = blocks.iter().skip_while(|block| is_result(block));
            if inner.clone().any(is_result) {
                let text =
                    "something stands between the results; put all results first in this turn";
                found.push(Finding::at(Code::ResultsNotFirst, at, text));
            }
        }
        if blocks.is_empty() || !blocks.iter().all(is_result) {
            other = Some(at);
        }
    }
    // Results alone at the end of the list may be followed by those that are missing.
    let in_flight = is_last && other.is_none();
    for (at, call) in calls(messages, before) {
        if !in_flight && !call.id.is_empty() && open.get(&*call.id) == Some(&false) {
            found.push(missing(at, &call.id, &call.tool, turn.end));
        }
    }
}
