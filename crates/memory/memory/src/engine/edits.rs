//! Finds results with text of files. If the agent can replace an exact text in a file, such a result has to stay,
//! because a later edit has to match it.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

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
    /// Notes the calls of a message.
    pub(super) fn see(&mut self, message: &ListMessage) {
        for call in &message.calls {
            let arguments = message.arguments(call);
            let arguments = arguments.as_ref().and_then(Json::as_object);
            let names = |is: fn(&str) -> bool| arguments.is_some_and(|map| has(map, is));
            self.has_replaced |= names(is_replaced);
            // A later call may have the same id.
            if names(is_path) {
                self.files.insert(call.id.clone());
            } else {
                self.files.remove(&call.id);
            }
        }
    }

    /// Returns whether the result of a call shows text of a file that an edit may have to match exactly. There may be
    /// such edits if a tool of the request, or an earlier call, has the text to replace as an argument.
    pub(super) fn quotes(&self, list: &MessageList, id: &str) -> bool {
        self.files.contains(id) && (self.has_replaced || matches(list.tools()))
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
