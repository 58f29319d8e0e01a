//! A recorded conversation as the instrument reads it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map as JsonMap, Value as Json};

use super::policy::Kind;

/// The key of a recorded tool call that says how it was recorded.
const RECORDING: &str = "arguments_raw";

/// A recorded conversation.
#[derive(Debug)]
pub struct Transcript {
    /// Its `id`; without one, its place in the file.
    pub id: String,
    /// The tool schemas that its agents are given, as compact JSON.
    pub tools: Option<Arc<str>>,
    pub messages: Vec<Message>,
    /// Names of the agents that have a system prompt of their own.
    own_prompt: BTreeSet<String>,
}

/// A recorded message.
#[derive(Debug, Clone)]
pub struct Message {
    /// From 0 in the conversation.
    pub index: usize,
    /// As recorded, without what no model was shown: `arguments_raw`, the spelling of arguments
    /// that stand there too.
    pub json: Arc<Json>,
    /// The same as compact JSON and a line feed.
    pub text: Arc<str>,
    pub kind: Kind,
    /// The only agent that reads it: a system prompt with a name is for the agent of that name.
    pub only_for: Option<Arc<str>>,
}

/// Who is asked for the next message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its name; where none was recorded, its role.
    pub name: Arc<str>,
    /// Prompts with this key share a provider's cache. A cache knows no agents, it knows
    /// beginnings of prompts: an agent with a system prompt of its own has a cache of its own,
    /// and all agents that read one transcript from its first message share one.
    pub cache: Arc<str>,
}

impl Transcript {
    /// Reads a conversation: its tool schemas are `tools`, or else those that it records.
    ///
    /// # Errors
    /// What is not as expected, and the cure.
    pub fn read(json: &Json, place: &str, tools: Option<&Arc<str>>) -> Result<Self, String> {
        let Some(recorded) = json.get("messages").and_then(Json::as_array) else {
            return Err(format!(
                "expected a recorded conversation, an object with `messages`, found {}; record \
                 each conversation as one object a line",
                found(json)
            ));
        };
        let id = match json.get("id") {
            Some(Json::String(id)) => id.clone(),
            Some(id @ Json::Number(_)) => id.to_string(),
            _ => place.to_owned(),
        };
        let messages = recorded.iter().enumerate().map(|(index, json)| {
            Message::read(index, json).ok_or_else(|| {
                format!(
                    "expected `messages[{index}]` to be an object with a `role`, found {}; give \
                     the message a role: system, user, assistant, agent or tool",
                    found(json)
                )
            })
        });
        let messages: Vec<Message> = messages.collect::<Result<_, _>>()?;
        let names = messages
            .iter()
            .filter_map(|message| message.only_for.as_deref());
        let own_prompt = names.map(str::to_owned).collect();
        let recorded = || {
            json.get("tools")
                .map(|tools| Arc::from(format!("{tools}\n")))
        };
        Ok(Self {
            id,
            tools: tools.cloned().or_else(recorded),
            messages,
            own_prompt,
        })
    }

    /// The agent that is asked for this message; `None` when it is not an agent's.
    pub fn agent(&self, message: &Message) -> Option<Agent> {
        let role = message.role();
        if !matches!(role, "assistant" | "agent") {
            return None;
        }
        let name = message.name().unwrap_or(role);
        let own = self.own_prompt.contains(name);
        Some(Agent {
            name: Arc::from(name),
            cache: Arc::from(if own { name } else { "" }),
        })
    }
}

impl Message {
    fn read(index: usize, json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let role = object.get("role")?.as_str()?;
        let calls = object.get("tool_calls").and_then(Json::as_array);
        let kind = match role {
            "system" | "developer" => Kind::System,
            "user" => Kind::User,
            "tool" | "function" => Kind::Result,
            _ if calls.is_some_and(|calls| !calls.is_empty()) => Kind::Call,
            _ => Kind::Agent,
        };
        let name = object.get("name").and_then(Json::as_str);
        let shown = as_shown(object);
        Some(Self {
            index,
            text: Arc::from(format!("{shown}\n")),
            json: Arc::new(shown),
            kind,
            only_for: name.filter(|_| kind == Kind::System).map(Arc::from),
        })
    }

    /// Whether the agent of this name reads it.
    pub fn is_for(&self, agent: &str) -> bool {
        self.only_for.as_deref().is_none_or(|only| only == agent)
    }

    pub fn role(&self) -> &str {
        self.field("role").unwrap_or_default()
    }

    pub fn name(&self) -> Option<&str> {
        self.field("name")
    }

    /// The original, whose bytes [`super::policy::Policy::recover`] has to give back.
    pub fn original(&self) -> &str {
        self.text.trim_end_matches('\n')
    }

    /// The names and arguments of its tool calls. Arguments that were recorded as a text are
    /// read as JSON.
    pub fn calls(&self) -> Vec<(&str, Json)> {
        let calls = self.json.get("tool_calls").and_then(Json::as_array);
        let read = |call: &'_ Json| -> Option<Json> {
            let arguments = call.get("arguments")?;
            match arguments {
                Json::String(text) => serde_json::from_str(text).ok(),
                arguments => Some(arguments.clone()),
            }
        };
        let mut found = Vec::new();
        for call in calls.into_iter().flatten() {
            let call = call.get("function").unwrap_or(call);
            let name = call.get("name").and_then(Json::as_str).unwrap_or_default();
            found.extend(read(call).map(|arguments| (name, arguments)));
        }
        found
    }

    /// What its writer said: the content, of content in parts their texts.
    pub fn said(&self) -> String {
        match self.json.get("content") {
            Some(Json::String(text)) => text.clone(),
            Some(Json::Array(parts)) => {
                let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        }
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.json.get(name)?.as_str()
    }
}

/// The message without the recording's own keys.
fn as_shown(message: &JsonMap<String, Json>) -> Json {
    let mut message = message.clone();
    if let Some(Json::Array(calls)) = message.get_mut("tool_calls") {
        for call in calls.iter_mut().filter_map(Json::as_object_mut) {
            call.retain(|key, _| key != RECORDING);
        }
    }
    Json::Object(message)
}

/// What a JSON value is, for an error.
fn found(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object without it",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(json: &Json) -> Result<Transcript, String> {
        Transcript::read(json, "line 7", None)
    }

    #[test]
    fn agents_with_a_prompt_of_their_own_have_a_cache_of_their_own() {
        let transcript = read(&json!({ "messages": [
            { "role": "system", "name": "a", "content": "You are a." },
            { "role": "agent", "name": "a", "content": "hello" },
            { "role": "agent", "name": "b", "content": "hello" },
            { "role": "assistant", "content": "hello" },
            { "role": "user", "content": "hello" },
        ] }))
        .unwrap();
        let agents: Vec<_> = transcript
            .messages
            .iter()
            .map(|message| transcript.agent(message))
            .collect();
        let names: Vec<_> = agents
            .iter()
            .map(|agent| agent.as_ref().map(|agent| (&*agent.name, &*agent.cache)))
            .collect();
        let expected = [
            None,
            Some(("a", "a")),
            Some(("b", "")),
            Some(("assistant", "")),
            None,
        ];
        assert_eq!(names, expected);
        assert!(transcript.messages[0].is_for("a") && !transcript.messages[0].is_for("b"));
        assert_eq!(transcript.id, "line 7");
    }

    #[test]
    fn arguments_are_held_once_and_read_from_either_form() {
        let call = json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "name": "get", "arguments": { "n": 1 }, "arguments_raw": "{ \"n\": 1 }" }] });
        let transcript = read(&json!({ "messages": [call] })).unwrap();
        let message = &transcript.messages[0];
        assert!(
            !message.original().contains("raw"),
            "{}",
            message.original()
        );
        assert_eq!(message.calls(), [("get", json!({ "n": 1 }))]);
        let wire = json!({ "role": "assistant", "tool_calls": [
            { "function": { "name": "get", "arguments": "{\"n\": 1}" } }] });
        let transcript = read(&json!({ "messages": [wire] })).unwrap();
        assert_eq!(transcript.messages[0].calls(), [("get", json!({ "n": 1 }))]);
    }

    #[test]
    fn what_is_no_conversation_is_told() {
        insta::assert_snapshot!(read(&json!([1])).unwrap_err(), @"expected a recorded conversation, an object with `messages`, found an array; record each conversation as one object a line");
        insta::assert_snapshot!(read(&json!({ "messages": [{}] })).unwrap_err(), @"expected `messages[0]` to be an object with a `role`, found an object without it; give the message a role: system, user, assistant, agent or tool");
    }
}
