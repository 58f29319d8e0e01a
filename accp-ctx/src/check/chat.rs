//! The rules of OpenAI's chat.

use serde_json::Value as Json;

use super::{misplaced, missing, orphan, repeated, role, same_id, without_id};
use crate::finding::{Code, Finding};
use crate::list::MessageList;
use crate::message::{Call, Message, Role};

/// The members beside a content that a message may have instead.
const INSTEAD: [&str; 4] = ["tool_calls", "function_call", "refusal", "audio"];

/// The calls of one message, which the messages after it answer.
struct Open<'l> {
    at: usize,
    calls: &'l [Call],
    answered: Vec<bool>,
}

pub(super) fn check(list: &MessageList) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut open: Option<Open<'_>> = None;
    for (at, message) in list.messages().iter().enumerate() {
        shape(at, message, &mut found);
        if message.role == Role::Tool {
            answer(list, at, open.as_mut(), &mut found);
            continue;
        }
        close(open.take(), at, &mut found);
        if !message.calls.is_empty() {
            open = Some(Open {
                at,
                calls: &message.calls,
                answered: vec![false; message.calls.len()],
            });
        }
    }
    // What is open at the end is in flight.
    found
}

/// Checks a message by itself.
fn shape(at: usize, message: &Message, found: &mut Vec<Finding>) {
    let json = message.json();
    if message.role == Role::Other {
        let expected = "system, developer, user, assistant and tool";
        found.push(role(at, json["role"].as_str(), expected));
        return;
    }
    if json["tool_calls"].as_array().is_some_and(Vec::is_empty) {
        let text = "`tool_calls` is empty; leave it out where there is no call";
        found.push(Finding::at(Code::CallsEmpty, at, text));
    }
    let instead = |key: &&str| json.get(*key).is_some_and(|value| !value.is_null());
    let is_null = json.get("content").is_none_or(Json::is_null);
    if is_null && !INSTEAD.iter().any(instead) {
        let text =
            "the content is null, and there are no calls; give a text, `\"\"` if there is none";
        found.push(Finding::at(Code::TextBlank, at, text));
    }
    for (index, call) in message.calls.iter().enumerate() {
        if call.id.is_empty() {
            found.push(without_id(at, &format!("the call of `{}`", call.tool)));
        } else if message.calls[..index]
            .iter()
            .any(|other| other.id == call.id)
        {
            found.push(same_id(at, &call.id, "of this message"));
        }
    }
}

/// Checks a message with a result.
fn answer(
    list: &MessageList,
    at: usize,
    mut open: Option<&mut Open<'_>>,
    found: &mut Vec<Finding>,
) {
    let messages = list.messages();
    for answer in &messages[at].answers {
        let id = &answer.id;
        if id.is_empty() {
            found.push(without_id(at, "the result"));
            continue;
        }
        match open.as_mut().and_then(|open| open.answer(id)) {
            Some(true) => {}
            Some(false) => found.push(repeated(at, id)),
            None if asked(&messages[..at], id) => {
                found.push(misplaced(at, id, "right behind the message with its call"));
            }
            None => found.push(orphan(at, id)),
        }
    }
}

impl Open<'_> {
    /// Takes note of a result. Returns whether its call waited; `None` if no call has this id.
    fn answer(&mut self, id: &str) -> Option<bool> {
        let mut same = self
            .calls
            .iter()
            .zip(&mut self.answered)
            .filter(|(call, _)| call.id == id);
        let (_, first) = same.next()?;
        let waiting = if *first {
            same.map(|(_, answered)| answered)
                .find(|answered| !**answered)
        } else {
            Some(first)
        };
        Some(waiting.map(|answered| *answered = true).is_some())
    }
}

/// Returns whether one of these messages has a call with this id.
fn asked(messages: &[Message], id: &str) -> bool {
    messages
        .iter()
        .flat_map(|message| &message.calls)
        .any(|call| call.id == id)
}

/// Ends the results of a message.
fn close(open: Option<Open<'_>>, before: usize, found: &mut Vec<Finding>) {
    if let Some(open) = open {
        for (call, answered) in open.calls.iter().zip(&open.answered) {
            if !answered && !call.id.is_empty() {
                found.push(missing(open.at, &call.id, &call.tool, before));
            }
        }
    }
}
