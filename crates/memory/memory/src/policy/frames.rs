//! Makes frames of recorded messages.

use std::borrow::Cow;

use accp_frame::{DynamicFrame, Value};
use accp_registry::Registry;
use accp_registry::lexical::{is_agent_id, is_key};
use serde_json::{Value as Json, json};

use super::message::{Kind, Message};
use accp_context::{Calls, view::schema_of};

/// Makes frames of the messages of a conversation, in their order, for policies that show messages
/// by a registry. The frames are for a prompt and have no envelope.
///
/// ```
/// use accp_runtime::Registry;
/// use accp_context::Recorded;
/// use accp_memory::policy::{Frames, Message};
/// use accp_runtime::view::View;
/// use serde_json::json;
///
/// let json = json!({ "role": "assistant", "content": "I look.", "tool_calls": [
///     { "id": "c1", "name": "stock", "arguments": { "item": "rye" } }] });
/// let message = Message::new(0, Recorded::of(&json)).expect("it has a role");
///
/// let view = View::new(Registry::standard().into());
/// let frames = Frames::default().of(&message, view.registry());
/// let text: String = frames.iter().map(|frame| view.block(frame).text).collect();
/// assert_eq!(text, "@assistant: I look.\n@assistant>req:stock{item:rye}\n");
/// ```
#[derive(Debug, Default)]
pub struct Frames {
    calls: Calls,
}

impl Frames {
    /// Returns the frames for a recorded message. Call this for every message, in order: a result
    /// comes from the tool that an earlier message called.
    pub fn of(&mut self, message: &Message, registry: &Registry) -> Vec<DynamicFrame<'static>> {
        let recorded = message.recorded();
        let role = recorded.role().unwrap_or_default();
        let name = recorded.name().filter(|name| is_agent_id(name));
        let said = recorded.texts().join("\n");
        if message.kind == Kind::Result {
            let tool = self.calls.answered(recorded).unwrap_or("tool");
            return result(tool, &said, registry).into_iter().collect();
        }
        let agent = name.unwrap_or(if is_agent_id(role) { role } else { "agent" });
        let mut frames = Vec::new();
        if !said.is_empty() {
            frames.extend(chat(agent, role, recorded.to(), &said));
        }
        for called in recorded.calls() {
            let tool = called.tool();
            // The model wrote the arguments, so they are shown even if they are not JSON.
            let recorded = || called.recorded_arguments().map(Cow::Borrowed);
            let arguments = called.arguments().or_else(recorded);
            let arguments = arguments.unwrap_or_else(|| Cow::Owned(json!({})));
            frames.extend(call(agent, tool.unwrap_or_default(), &arguments, registry));
            if let Some(tool) = tool {
                self.calls.note(called.id(), tool);
            }
        }
        frames
    }
}

/// Makes `@user? ..` or `@assistant: ..`.
fn chat(agent: &str, role: &str, to: Option<&str>, said: &str) -> Option<DynamicFrame<'static>> {
    let asks = matches!(role, "user" | "developer");
    let intent = if asks { "req" } else { "done" };
    let frame = DynamicFrame::new(agent.to_owned(), intent, "chat")
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

/// Makes the frame of a call. The operation is the tool, and the params are its arguments.
fn call(
    agent: &str,
    tool: &str,
    arguments: &Json,
    registry: &Registry,
) -> Option<DynamicFrame<'static>> {
    if let (true, Json::Object(arguments)) = (is_key(tool), arguments) {
        let mut frame = DynamicFrame::new(agent.to_owned(), "req", tool.to_owned()).ok()?;
        for (key, value) in arguments {
            frame = frame.with(key.clone(), Value::from_data(value).into_owned());
        }
        let mut schemas = registry.schemas();
        let has = |key: &String, fields: &[accp_registry::Field]| {
            fields.iter().any(|field| field.name == *key)
        };
        let schema = schemas.find(|schema| {
            schema.frame(&["req", tool]).is_some()
                && arguments.keys().all(|key| has(key, &schema.fields))
        });
        return Some(match schema {
            Some(schema) => frame.under(schema.code.clone()),
            None => frame,
        });
    }
    let frame = DynamicFrame::new(agent.to_owned(), "req", "tool").ok()?;
    let arguments = Value::from_data(arguments).into_owned();
    Some(
        frame
            .with("tool", tool.to_owned())
            .with("arguments", arguments),
    )
}

/// Makes the frame of a result: a value if it is a JSON object or list, otherwise a text.
fn result(tool: &str, said: &str, registry: &Registry) -> Option<DynamicFrame<'static>> {
    let operation = if is_key(tool) { tool } else { "tool" };
    let frame = DynamicFrame::new("tool", "done", operation.to_owned()).ok()?;
    let value = match serde_json::from_str(said) {
        Ok(json @ (Json::Object(_) | Json::Array(_))) => Value::from_data(&json).into_owned(),
        _ => Value::from(said.to_owned()),
    };
    if let Value::Map(map) = &value
        && let Some(schema) = schema_of(registry, map)
    {
        let record = DynamicFrame {
            payload: map.clone(),
            ..frame.clone().under(schema.code.clone())
        };
        // The schema may require fields that this record lacks. Then the whole record becomes the
        // field `result`.
        if record.encode(registry).is_ok() {
            return Some(record);
        }
    }
    Some(frame.with("result", value))
}
