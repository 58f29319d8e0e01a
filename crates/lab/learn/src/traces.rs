//! Traces of recorded conversations: their calls, and their results that are JSON.

use std::borrow::Cow;

use accp_context::Calls;
use accp_recordings::Conversation;
use accp_registry::Hash;
use serde_json::Value as Json;

use crate::declared::Tools;

/// The conversations of some files. Their order does not depend on the order of the files.
#[derive(Debug, Default)]
pub struct Traces {
    pub(crate) conversations: Vec<Trace>,
    /// The tools that the conversations list.
    pub tools: Tools,
}

/// The calls and results of a conversation, in their order.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) events: Vec<Event>,
    /// The digest of the JSON of the conversation.
    digest: Hash,
}

/// A call or a result of a tool.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) root: Root,
    /// The arguments, an object; or the result, an object or an array.
    pub(crate) value: Json,
}

/// The tool of a value, and its part in the call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Root {
    pub(crate) tool: String,
    pub(crate) part: Part,
}

/// The part that a value has in a call: arguments or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Arguments,
    Result,
}

impl Traces {
    /// Returns whether there are no conversations.
    pub fn is_empty(&self) -> bool {
        self.conversations.is_empty()
    }

    /// Adds a conversation.
    pub fn add(&mut self, conversation: &Conversation) {
        let digest = Hash::of(conversation.as_json().to_string().as_bytes());
        if let Some(tools) = conversation.get("tools") {
            self.tools.add_all(tools);
        }
        let place = self
            .conversations
            .partition_point(|other| other.digest < digest);
        let events = events(conversation);
        self.conversations.insert(place, Trace { events, digest });
    }
}

/// Returns the calls of a conversation, and the results that are objects or arrays of JSON.
fn events(conversation: &Conversation) -> Vec<Event> {
    let mut events = Vec::new();
    let mut calls = Calls::default();
    for message in conversation.messages() {
        for call in message.calls() {
            let arguments = call.arguments().map(Cow::into_owned);
            if let (Some(tool), Some(value @ Json::Object(_))) = (call.tool(), arguments) {
                calls.note(call.id(), tool);
                events.push(Event::new(tool, Part::Arguments, value));
            }
        }
        let tool = calls.answered(message).or_else(|| calls.last());
        let Some(tool) = tool.filter(|_| message.is_result()) else {
            continue;
        };
        for text in message.texts() {
            if let Ok(value @ (Json::Object(_) | Json::Array(_))) = serde_json::from_str(text) {
                events.push(Event::new(tool, Part::Result, value));
            }
        }
    }
    events
}

impl Event {
    fn new(tool: &str, part: Part, value: Json) -> Self {
        let tool = tool.to_owned();
        let root = Root { tool, part };
        Self { root, value }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_belongs_to_the_latest_call_of_its_id() {
        let call = |name: &str| json!({ "id": "c", "name": name, "arguments": {} });
        let result = json!({ "role": "tool", "tool_call_id": "c", "content": "[1]" });
        let function = json!({ "function": { "name": "g", "arguments": "{\"x\":1}" } });
        let parts = json!([{ "type": "text", "text": "{}" }, { "type": "text", "text": "done" }]);
        let messages = [
            json!({ "role": "assistant", "tool_calls": [call("a")] }),
            result.clone(),
            json!({ "role": "assistant", "tool_calls": [call("b"), function] }),
            result,
            json!({ "role": "tool", "content": parts }),
            json!({ "role": "tool", "name": "h", "content": "no JSON" }),
        ];
        let conversation = Conversation::new(json!(messages)).unwrap();
        let told: Vec<String> = events(&conversation)
            .iter()
            .map(|event| format!("{:?} {} {}", event.root.part, event.root.tool, event.value))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        Arguments a {}
        Result a [1]
        Arguments b {}
        Arguments g {"x":1}
        Result b [1]
        Result g {}
        "#);
    }
}
