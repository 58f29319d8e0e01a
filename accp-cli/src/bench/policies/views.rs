//! What this project makes of a transcript: views of messages, and facts of old ones.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use accp_registry::lexical::{is_agent_id, is_key};
use accp_runtime::view::{PRIMER, Prompt, PromptLimits, View};
use accp_runtime::{Message as Frame, Value};
use serde_json::Value as Json;

use crate::bench::policy::{Kind, Opening, Policy, Record, Segment};
use crate::bench::transcript::{Agent, Message};

/// The prompt that all agents of a transcript share, behind their system prompts.
#[derive(Debug)]
pub(super) struct Views {
    tools: Option<Segment>,
    primer: Segment,
    messages: Vec<Message>,
    prompt: Prompt,
    /// What was shown for each part, by the place of its text in memory.
    shown: Vec<(Arc<str>, Segment)>,
    /// The name of each tool call by its id, the latest of an id.
    calls: BTreeMap<String, String>,
}

impl Views {
    pub(super) fn new(opening: &Opening, limits: PromptLimits) -> Self {
        let counter = Arc::new(opening.counter);
        Self {
            tools: Segment::tools(opening),
            primer: Segment::new(Kind::Primer, PRIMER),
            messages: Vec::new(),
            prompt: Prompt::new(opening.view.clone(), limits, counter),
            shown: Vec::new(),
            calls: BTreeMap::new(),
        }
    }

    /// The frames that a recorded message is.
    fn frames(&mut self, message: &Message) -> Vec<Frame<'static>> {
        let role = message.role();
        let name = message.name().filter(|name| is_agent_id(name));
        let said = message.said();
        if message.kind == Kind::Result {
            let id = message.json.get("tool_call_id").and_then(Json::as_str);
            let called = id.and_then(|id| self.calls.get(id).cloned());
            let tool = called.or_else(|| message.name().map(str::to_owned));
            return result(tool.as_deref().unwrap_or("tool"), &said)
                .into_iter()
                .collect();
        }
        let agent = name.unwrap_or(if is_agent_id(role) { role } else { "agent" });
        let mut frames = Vec::new();
        if !said.is_empty() {
            let to = message.json.get("to").and_then(Json::as_str);
            frames.extend(chat(agent, role, to, &said));
        }
        for (tool, arguments) in message.calls() {
            frames.extend(call(agent, tool, &arguments, self.prompt.view()));
        }
        let calls = message.json.get("tool_calls").and_then(Json::as_array);
        for call in calls.into_iter().flatten() {
            let name = call.get("function").unwrap_or(call).get("name");
            if let (Some(id), Some(name)) = (call.get("id"), name)
                && let (Some(id), Some(name)) = (id.as_str(), name.as_str())
            {
                self.calls.insert(id.into(), name.into());
            }
        }
        frames
    }

    fn refresh(&mut self) {
        let mut shown = std::mem::take(&mut self.shown);
        let parts = self.prompt.parts().enumerate();
        let mut now = Vec::new();
        for (at, part) in parts {
            let before = shown
                .get(at)
                .filter(|(text, _)| Arc::ptr_eq(text, &part.text));
            if before.is_some() {
                let empty = (Arc::from(""), Segment::new(Kind::Facts, ""));
                now.push(std::mem::replace(&mut shown[at], empty));
                continue;
            }
            let message = self.messages.get(part.position as usize);
            let kind = match message {
                _ if part.is_facts => Kind::Facts,
                Some(message) => message.kind,
                None => Kind::Agent,
            };
            let mut segment = Segment::new(kind, Arc::clone(&part.text));
            let mut records = Vec::new();
            part.values
                .iter()
                .for_each(|value| bind(value, None, &mut records));
            segment.records = records.into();
            now.push((Arc::clone(&part.text), segment));
        }
        self.shown = now;
    }
}

impl Policy for Views {
    fn push(&mut self, message: &Message) {
        if message.kind != Kind::System {
            for frame in self.frames(message) {
                self.prompt.push(message.index as u64, &frame);
            }
            self.refresh();
        }
        self.messages.push(message.clone());
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let system = self.messages.iter();
        let system = system
            .filter(|message| message.kind == Kind::System && message.is_for(&agent.name))
            .map(|message| Segment::new(Kind::System, Arc::clone(&message.text)));
        let before = self.tools.iter().cloned().chain(system);
        let shown = self.shown.iter().map(|(_, segment)| segment.clone());
        before.chain([self.primer.clone()]).chain(shown).collect()
    }

    /// From the log, which keeps every message.
    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.messages.get(index)?.original()))
    }
}

/// `@user? ..` and `@assistant: ..`
fn chat(agent: &str, role: &str, to: Option<&str>, said: &str) -> Option<Frame<'static>> {
    let asks = matches!(role, "user" | "developer");
    let intent = if asks { "req" } else { "done" };
    let frame = Frame::new(agent.to_owned(), intent, "chat")
        .ok()?
        .under("CH");
    let role = if asks {
        agent.to_owned()
    } else {
        "assistant".into()
    };
    let mut frame = frame
        .with("role", role)
        .with("lang", "en")
        .with("content", said.to_owned());
    if let Some(to) = to {
        frame = frame.with("to", to.to_owned());
    }
    Some(frame)
}

/// A call, with the tool for its operation and its arguments for params.
fn call(agent: &str, tool: &str, arguments: &Json, view: &View) -> Option<Frame<'static>> {
    if let (true, Json::Object(arguments)) = (is_key(tool), arguments) {
        let mut frame = Frame::new(agent.to_owned(), "req", tool.to_owned()).ok()?;
        for (key, value) in arguments {
            frame = frame.with(key.clone(), Value::from_data(value).into_owned());
        }
        let mut schemas = view.registry().schemas();
        let has = |key: &String, fields: &[accp_registry::Field]| {
            fields.iter().any(|field| field.name == *key)
        };
        let schema = schemas.find(|schema| {
            schema.frame("req", tool).is_some()
                && arguments.keys().all(|key| has(key, &schema.fields))
        });
        return Some(match schema {
            Some(schema) => frame.under(schema.code.clone()),
            None => frame,
        });
    }
    let frame = Frame::new(agent.to_owned(), "req", "tool").ok()?;
    let arguments = Value::from_data(arguments).into_owned();
    Some(
        frame
            .with("tool", tool.to_owned())
            .with("arguments", arguments),
    )
}

/// A result: a value where it is JSON, else a text.
fn result(tool: &str, said: &str) -> Option<Frame<'static>> {
    let operation = if is_key(tool) { tool } else { "tool" };
    let frame = Frame::new("tool", "done", operation.to_owned()).ok()?;
    let value = match serde_json::from_str(said) {
        Ok(json @ (Json::Object(_) | Json::Array(_))) => Value::from_data(&json).into_owned(),
        _ => Value::from(said.to_owned()),
    };
    Some(frame.with("result", value))
}

/// The records that a value is made of: its scalars under their keys, and for those further
/// in the names that stand above them.
fn bind(value: &Value<'_>, above: Option<&(String, String)>, out: &mut Vec<Record>) {
    match value {
        Value::Map(map) => {
            let mut record: Vec<(String, String)> = above.cloned().into_iter().collect();
            for (key, value) in map.iter() {
                match value {
                    Value::Array(items) => {
                        let scalars = items.iter().filter_map(scalar);
                        record.extend(scalars.map(|text| (key.to_owned(), text)));
                    }
                    value => record.extend(scalar(value).map(|text| (key.to_owned(), text))),
                }
            }
            for (key, value) in map.iter() {
                // The key may be data: the name of the record below it.
                bind(value, Some(&(String::from("id"), key.to_owned())), out);
            }
            if !record.is_empty() {
                out.push(Record(record));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| bind(item, above, out)),
        _ => {}
    }
}

fn scalar(value: &Value<'_>) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        Value::Integer(_) | Value::Decimal(_) => Some(value.to_string()),
        Value::Number(_) => Some(value.to_string().trim_start_matches('#').to_owned()),
        _ => None,
    }
}
