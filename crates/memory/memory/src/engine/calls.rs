//! Calls that are made again, and calls of `memory_read`. If the same call is made again, the later result supersedes
//! the earlier one.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value as Json;

use super::mark::TOOL;
use crate::message::{ListMessage, Role};

/// The place of a result: the index of its message, and its number there.
pub(super) type Place = (usize, usize);

/// The lines that a call of `memory_read` asks for: the name of a result or of a message, the first line and the last
/// line.
pub(super) type Asked = (String, usize, usize);

/// The calls of a list, and which of their results are superseded.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    /// The name and the arguments of the newest call with an id.
    by_id: HashMap<String, String>,
    /// The newest result of each call, by name and arguments.
    newest: HashMap<String, Place>,
    superseded: BTreeSet<Place>,
    /// For the id of a call, the lines that the newest call with this id asks for, if that is a call of `memory_read`.
    asked: HashMap<String, Asked>,
    /// For the id of a call, how many calls with this id wait for their results.
    waiting: HashMap<String, usize>,
}

impl Calls {
    /// Notes the calls of a message, and which calls it answers. If two calls with one id wait for their results, nobody
    /// can tell which of them a result answers. They stand in one message, or in items of Responses.
    pub(super) fn see(&mut self, message: &ListMessage) {
        for answer in &message.answers {
            if let Some(waiting) = self.waiting.get_mut(&answer.id) {
                *waiting = waiting.saturating_sub(1);
            }
        }
        if message.role == Role::User && message.answers.is_empty() {
            // A person speaks, so nobody waits for the calls before.
            self.waiting.clear();
        }
        for call in &message.calls {
            *self.waiting.entry(call.id.clone()).or_default() += 1;
        }
        for call in &message.calls {
            if self.is_shared(&call.id) {
                self.by_id.remove(&call.id);
                self.asked.remove(&call.id);
                continue;
            }
            let arguments = message.arguments(call).unwrap_or_default();
            let said = format!("{}\n{arguments}", call.tool);
            self.by_id.insert(call.id.clone(), said);
            match asked(&call.tool, &arguments) {
                Some(asked) => self.asked.insert(call.id.clone(), asked),
                None => self.asked.remove(&call.id),
            };
        }
    }

    /// Returns whether several calls with this id wait for their results.
    pub(super) fn is_shared(&self, id: &str) -> bool {
        self.waiting.get(id).is_some_and(|calls| *calls > 1)
    }

    /// Notes the result of the call with this id. The caller leaves out failed calls.
    pub(super) fn answered(&mut self, id: &str, place: Place) {
        let Some(call) = self.by_id.get(id).filter(|_| !id.is_empty()) else {
            return;
        };
        if let Some(before) = self.newest.insert(call.clone(), place) {
            self.superseded.insert(before);
        }
    }

    /// Returns whether the result is superseded: the same call was made and answered again later.
    pub(super) fn is_superseded(&self, place: Place) -> bool {
        self.superseded.contains(&place)
    }

    /// Returns what the newest call with this id asks for, if it is a call of the tool.
    pub(super) fn asked(&self, id: &str) -> Option<&Asked> {
        self.asked.get(id).filter(|_| !id.is_empty())
    }
}

/// Returns the lines that a call asks for, if it is a call of `memory_read`.
fn asked(tool: &str, arguments: &Json) -> Option<Asked> {
    if tool != TOOL {
        return None;
    }
    let name = match &arguments["result"] {
        Json::String(name) => name.clone(),
        Json::Number(number) => number.to_string(),
        _ => return None,
    };
    let line = |key: &str| -> Option<usize> {
        let value = &arguments[key];
        let text = value.as_str().and_then(|text| text.trim().parse().ok());
        usize::try_from(value.as_u64().or(text)?).ok()
    };
    let from = line("from").unwrap_or(1);
    Some((name, from, line("to").unwrap_or(usize::MAX)))
}
