//! Messages of the protocol as the conversation that was recorded.

use std::collections::BTreeMap;

use accp_runtime::{Map, Message, Value};
use serde_json::{Map as JsonMap, Value as Json};

use super::layout::Layout;
use super::record::{Conversation, HOST, OPENING, VERBATIM, agent_id, is_own, slot};

/// What earlier frames of a conversation have told, the same for writer and reader.
#[derive(Debug, Default)]
pub(crate) struct State {
    layouts: BTreeMap<String, Layout>,
    /// The layout of the last text without its keys: what a tool not seen before is likely
    /// to have.
    usual: Layout,
    /// The tool of each call, by the recorded id; of equal ids the latest counts.
    calls: BTreeMap<String, String>,
    /// The message id of the last frame.
    pub(crate) last_mid: String,
}

impl State {
    pub(crate) fn layout(&self, slot: &str) -> &Layout {
        self.layouts.get(slot).unwrap_or(&self.usual)
    }

    pub(crate) fn tool_of(&self, call: &str) -> Option<&str> {
        self.calls.get(call).map(String::as_str)
    }

    /// Takes note of the frames of one recorded message.
    pub(crate) fn learn(&mut self, frames: &[Message<'_>]) {
        for frame in frames {
            let tool = frame.payload.get("tool_name").and_then(Value::as_str);
            let id = frame.envelope.correlation_id.as_deref();
            let is_call = frame.intent == accp_runtime::Intent::REQ;
            if let (Some(tool), Some(layout)) = (tool, layout_of(&frame.payload)) {
                let slot = slot(if is_call { "args" } else { "res" }, tool);
                self.usual = layout.without_keys();
                self.layouts.entry(slot).or_default().learn(&layout);
            }
            if let (Some(tool), Some(id), true) = (tool, id, is_call) {
                self.calls.insert(id.to_owned(), tool.to_owned());
            }
            if let Some(mid) = &frame.envelope.msg_id {
                self.last_mid.clear();
                self.last_mid.push_str(mid);
            }
        }
    }
}

fn layout_of(payload: &Map<'_>) -> Option<Layout> {
    payload.get("lay").and_then(Layout::from_value)
}

/// The recorded message behind its frames; `None` when they are not what the recorder
/// writes.
pub(crate) fn restore_message(frames: &[Message<'_>], state: &State) -> Option<Json> {
    let first = frames.first()?;
    if first.operation == VERBATIM && first.agent == HOST {
        return data(first.payload.get("data")?);
    }
    let mut recorded = JsonMap::new();
    let payload = &first.payload;
    let chat = first.schema.as_deref() == Some("CH");
    let result = !chat && first.intent == accp_runtime::Intent::DONE;
    let role = match payload.get("role") {
        Some(role) => role.as_str()?,
        None if result => "tool",
        None => "assistant",
    };
    recorded.insert("role".into(), role.into());
    if let Some(name) = payload.get("name") {
        recorded.insert("name".into(), name.as_str()?.into());
    } else if first.agent.as_str() != agent_id(role) {
        recorded.insert("name".into(), first.agent.as_str().into());
    }
    if payload.get("no").is_none() {
        recorded.insert("content".into(), content(first, result, state)?);
    }
    if let Some(to) = payload.get("target") {
        recorded.insert("to".into(), to.as_str()?.into());
    }
    let calls = if chat { &frames[1..] } else { frames };
    if result {
        let id = first.envelope.correlation_id.as_deref()?;
        if id != state.last_mid {
            recorded.insert("tool_call_id".into(), id.into());
        }
    } else if !calls.is_empty() {
        let calls: Option<Vec<Json>> = calls.iter().map(|frame| tool_call(frame, state)).collect();
        recorded.insert("tool_calls".into(), Json::Array(calls?));
    }
    put_rest(&mut recorded, payload)?;
    Some(Json::Object(recorded))
}

/// The recorded content of a frame that does not say that there was none.
fn content(frame: &Message<'_>, result: bool, state: &State) -> Option<Json> {
    let payload = &frame.payload;
    if let Some(parts) = payload.get("parts") {
        return data(parts);
    }
    if !result {
        return data(payload.get("content").unwrap_or(&Value::Null));
    }
    let value = payload.get("result").unwrap_or(&Value::Null);
    let json = data(value)?;
    Some(match value {
        Value::Array(_) | Value::Map(_) => {
            let slot = slot("res", payload.get("tool_name")?.as_str()?);
            laid_out(payload, &slot, state).write(&json).into()
        }
        _ => json,
    })
}

/// The layout that the frame brings, else the one that is known.
fn laid_out(payload: &Map<'_>, slot: &str, state: &State) -> Layout {
    layout_of(payload).unwrap_or_else(|| state.layout(slot).clone())
}

fn tool_call(frame: &Message<'_>, state: &State) -> Option<Json> {
    let payload = &frame.payload;
    let name = payload.get("tool_name")?.as_str()?;
    let arguments = match payload.get("arguments") {
        Some(arguments) => Some(data(arguments)?),
        None => None,
    };
    let text = |arguments: &Json| laid_out(payload, &slot("args", name), state).write(arguments);
    let raw = match (payload.get("raw"), &arguments) {
        (Some(Value::Boolean(_)), Some(arguments)) => Some(text(arguments)),
        (Some(raw), _) => Some(raw.as_str()?.to_owned()),
        (None, _) => None,
    };
    let mut call = JsonMap::new();
    if let Some(id) = &frame.envelope.correlation_id {
        call.insert("id".into(), id.as_ref().into());
    }
    if let Some(kind) = payload.get("type") {
        if *kind != Value::Null {
            call.insert("type".into(), data(kind)?);
        }
        let arguments = raw.or_else(|| arguments.as_ref().map(text))?;
        let mut function = JsonMap::new();
        function.insert("name".into(), name.into());
        function.insert("arguments".into(), arguments.into());
        call.insert("function".into(), Json::Object(function));
    } else {
        call.insert("name".into(), name.into());
        call.insert("arguments".into(), arguments?);
        if let Some(raw) = raw {
            call.insert("arguments_raw".into(), raw.into());
        }
    }
    if let Some(Value::Map(rest)) = payload.get("call") {
        put_map(&mut call, rest)?;
    }
    Some(Json::Object(call))
}

/// Params that are recorded keys under their own names, and those that `x` holds.
fn put_rest(recorded: &mut JsonMap<String, Json>, payload: &Map<'_>) -> Option<()> {
    for (key, value) in payload.iter().filter(|(key, _)| !is_own(key)) {
        recorded.insert(key.to_owned(), data(value)?);
    }
    match payload.get("x") {
        Some(Value::Map(rest)) => put_map(recorded, rest),
        Some(_) => None,
        None => Some(()),
    }
}

fn put_map(json: &mut JsonMap<String, Json>, map: &Map<'_>) -> Option<()> {
    for (key, value) in map.iter() {
        json.insert(key.to_owned(), data(value)?);
    }
    Some(())
}

/// A value as recorded data; references are resolved before.
fn data(value: &Value<'_>) -> Option<Json> {
    value.clone().into_data(&mut |_| None).ok()
}

/// Gathers the frames of conversations.
#[derive(Debug, Default)]
pub struct Restorer {
    state: State,
    current: Option<Opened>,
    /// The sequence number of the last frame.
    sequence: u64,
    /// The frames of the recorded message that is not complete yet.
    frames: Vec<Message<'static>>,
}

#[derive(Debug)]
struct Opened {
    conversation: Conversation,
    expected: usize,
    line: u64,
}

impl Restorer {
    /// Takes the frame of a line, references resolved, and gives the conversation that
    /// ends before it.
    ///
    /// # Errors
    /// What is wrong with the frame in its place.
    pub fn frame(
        &mut self,
        frame: Message<'static>,
        line: u64,
    ) -> Result<Option<Conversation>, String> {
        if frame.agent == HOST && frame.operation == OPENING {
            let ended = self.end()?;
            let mut rest = JsonMap::new();
            put_rest(&mut rest, &frame.payload).ok_or("the opening frame is not a recorder's")?;
            let expected = match frame.payload.get("messages") {
                Some(Value::Integer(count)) => usize::try_from(*count).unwrap_or(0),
                _ => return Err("the opening frame does not say how many messages follow".into()),
            };
            let bare = frame.payload.get("bare").is_some();
            let conversation = Conversation {
                messages: Vec::new(),
                rest,
                bare,
            };
            self.current = Some(Opened {
                conversation,
                expected,
                line,
            });
            self.sequence = frame.envelope.sequence.unwrap_or(0);
            self.state = State::default();
            self.state.learn(std::slice::from_ref(&frame));
            return Ok(ended);
        }
        if self.current.is_none() {
            return Err(format!(
                "expected a frame `@{HOST}>sync:{OPENING}{{..}}` first"
            ));
        }
        let sequence = frame.envelope.sequence.unwrap_or(0);
        if sequence != self.sequence + 1 {
            return Err(format!(
                "expected the frame with seq:{}, found seq:{sequence}: lines are missing, twice, \
                 or out of order",
                self.sequence + 1
            ));
        }
        self.sequence = sequence;
        let continues = frame.envelope.causation_id.is_some()
            && frame.envelope.causation_id
                == self
                    .frames
                    .first()
                    .and_then(|first| first.envelope.msg_id.clone());
        if !continues {
            self.complete_message()?;
        }
        self.frames.push(frame);
        Ok(None)
    }

    fn complete_message(&mut self) -> Result<(), String> {
        let frames = std::mem::take(&mut self.frames);
        if frames.is_empty() {
            return Ok(());
        }
        let recorded = restore_message(&frames, &self.state)
            .ok_or("the frames before this line are not what `accp convert` writes")?;
        self.state.learn(&frames);
        if let Some(opened) = &mut self.current {
            opened.conversation.messages.push(recorded);
        }
        Ok(())
    }

    /// The conversation that ends with the input.
    ///
    /// # Errors
    /// When it has fewer or more messages than its first frame says.
    pub fn end(&mut self) -> Result<Option<Conversation>, String> {
        self.complete_message()?;
        let Some(Opened {
            conversation,
            expected,
            line,
        }) = self.current.take()
        else {
            return Ok(None);
        };
        let found = conversation.messages.len();
        if found == expected {
            return Ok(Some(conversation));
        }
        Err(format!(
            "the conversation that line {line} opens has {expected} messages, {found} were found: \
             the file is cut, or lines are missing"
        ))
    }
}
