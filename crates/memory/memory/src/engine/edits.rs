//! Finds results with text of files. If the agent can replace an exact text in a file, such a result has to stay,
//! because a later edit has to match it.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::calls::Calls;
use super::known::KnownResult;
use crate::list::MessageList;
use crate::message::ListMessage;
use crate::writes::{is_path, is_replaced};

/// What the calls of a list say about edits.
#[derive(Debug, Clone, Default)]
pub(super) struct Edits {
    /// Whether a call replaced an exact text in a file.
    has_replaced: bool,
    /// The ids of calls that name a file.
    files: HashSet<String>,
}

impl Edits {
    /// Notes the calls of a message, which `calls` knows already. If several calls with one id wait for their results,
    /// one that names a file is enough.
    pub(super) fn see(&mut self, message: &ListMessage, calls: &Calls) {
        for call in &message.calls {
            let arguments = message.arguments(call);
            let arguments = arguments.as_ref().and_then(Json::as_object);
            let names = |is: fn(&str) -> bool| arguments.is_some_and(|map| has(map, is));
            self.has_replaced |= names(is_replaced);
            // A later call may have the same id.
            if names(is_path) {
                self.files.insert(call.id.clone());
            } else if !calls.is_shared(&call.id) {
                self.files.remove(&call.id);
            }
        }
    }

    /// Returns whether the newest call with this id names a file.
    pub(super) fn names_file(&self, id: &str) -> bool {
        self.files.contains(id)
    }

    /// Returns whether a result shows text of a file that an edit may have to match exactly. There are such edits if a
    /// tool of the request or an earlier call takes the text that it replaces.
    pub(super) fn quotes(&self, list: &MessageList, result: &KnownResult) -> bool {
        result.names_file() && (self.has_replaced || matches(list.tools()))
    }
}

/// Returns whether a tool has an argument for the text to replace.
fn matches(tools: &Json) -> bool {
    let mut tools = tools.as_array().into_iter().flatten();
    tools.any(|tool| {
        let inside = tool.get("function").unwrap_or(tool);
        let schema = ["parameters", "input_schema"];
        let schema = schema.iter().find_map(|key| inside.get(*key));
        let properties = schema.and_then(|schema| schema["properties"].as_object());
        properties.is_some_and(|map| has(map, is_replaced))
    })
}

fn has(map: &Map<String, Json>, is: fn(&str) -> bool) -> bool {
    map.keys().any(|key| is(key))
}
