//! Recorded conversations as what a registry is learnt from: calls, and results that are JSON.

use std::collections::BTreeMap;

use accp_recordings::Conversation as Recorded;
use accp_registry::Hash;
use serde_json::{Map, Value as Json};

use super::declared::Tools;

/// The conversations of some files, in an order that does not depend on that of the files.
#[derive(Debug, Default)]
pub struct Traces {
    pub(crate) conversations: Vec<Conversation>,
    /// The tools that the conversations list.
    pub tools: Tools,
}

/// What happened in a conversation, in its order.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) events: Vec<Event>,
    /// Of all of its text.
    digest: Hash,
}

/// A call or a result of a tool.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) root: Root,
    /// The arguments: an object. A result: an object or an array.
    pub(crate) value: Json,
}

/// What a value is to a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Root {
    pub(crate) tool: String,
    pub(crate) part: Part,
}

/// Arguments or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Arguments,
    Result,
}

impl Traces {
    /// Whether there is no conversation.
    pub fn is_empty(&self) -> bool {
        self.conversations.is_empty()
    }

    /// Adds a conversation.
    pub fn add(&mut self, recorded: &Recorded, text: &str) {
        let digest = Hash::of(text.as_bytes());
        if let Some(tools) = recorded.rest.get("tools") {
            self.tools.add_all(tools);
        }
        let place = self
            .conversations
            .partition_point(|other| other.digest < digest);
        let events = events(&recorded.messages);
        self.conversations
            .insert(place, Conversation { events, digest });
    }
}

/// The calls of a conversation, and the results that are objects or arrays of JSON.
fn events(messages: &[Json]) -> Vec<Event> {
    let mut events = Vec::new();
    // Ids repeat: the latest call of an id is the one that a result answers.
    let mut called: BTreeMap<&str, String> = BTreeMap::new();
    let mut last = None;
    for message in messages {
        let calls = message.get("tool_calls").and_then(Json::as_array);
        for call in calls.into_iter().flatten() {
            let Some((tool, arguments)) = call_of(call) else {
                continue;
            };
            if let Some(id) = call.get("id").and_then(Json::as_str) {
                called.insert(id, tool.clone());
            }
            last = Some(tool.clone());
            let part = Part::Arguments;
            events.push(Event {
                root: Root { tool, part },
                value: Json::Object(arguments),
            });
        }
        if message.get("role").and_then(Json::as_str) != Some("tool") {
            continue;
        }
        let text_of = |key| message.get(key).and_then(Json::as_str);
        let by_id = || called.get(text_of("tool_call_id")?).cloned();
        let tool = text_of("name")
            .map(str::to_owned)
            .or_else(by_id)
            .or_else(|| last.clone());
        let Some(tool) = tool else { continue };
        for text in texts(message.get("content")) {
            if let Ok(value @ (Json::Object(_) | Json::Array(_))) = serde_json::from_str(text) {
                let (tool, part) = (tool.clone(), Part::Result);
                events.push(Event {
                    root: Root { tool, part },
                    value,
                });
            }
        }
    }
    events
}

/// A call as `{name, arguments}` or as `{function: {name, arguments}}`, the arguments an
/// object or the JSON text of one.
fn call_of(call: &Json) -> Option<(String, Map<String, Json>)> {
    let call = call.get("function").unwrap_or(call);
    let name = call.get("name")?.as_str()?.to_owned();
    let arguments = match call.get("arguments")? {
        Json::Object(arguments) => arguments.clone(),
        Json::String(text) => serde_json::from_str(text).ok()?,
        _ => return None,
    };
    Some((name, arguments))
}

/// The content of a message: a text, or parts that hold texts.
fn texts(content: Option<&Json>) -> Vec<&str> {
    match content {
        Some(Json::String(text)) => vec![text],
        Some(Json::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect()
        }
        _ => Vec::new(),
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
        let told: Vec<String> = events(&messages)
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
