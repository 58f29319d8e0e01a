//! Restores a recorded conversation from its frames.

use accp_context::Call;
use accp_frame::{DecodeError, DynamicFrame, Map, Value};
use accp_registry::Registry;
use serde_json::{Map as JsonMap, Value as Json};

use crate::conversation::{Conversation, NotConversation};
use crate::exact::LoneSurrogates;
use crate::form::{HOST, OPENING, State, VERBATIM, agent_id, is_own, layout_of, slot};
use crate::format::Format;
use crate::layout::Layout;
use crate::resolve::Unresolved;
use crate::side_file::Values;

/// Restores a recorded message from its frames. Returns `None` when the recorder does not write
/// such frames.
pub(crate) fn restore_message(frames: &[DynamicFrame<'_>], state: &State) -> Option<Json> {
    let first = frames.first()?;
    if first.operation == VERBATIM && first.agent == HOST {
        return data(first.payload.get("data")?);
    }
    let mut recorded = JsonMap::new();
    let payload = &first.payload;
    let chat = first.operation == "chat";
    let result = !chat && first.intent == accp_frame::Intent::DONE;
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

/// Restores the recorded content of a frame without the param `no`.
fn content(frame: &DynamicFrame<'_>, result: bool, state: &State) -> Option<Json> {
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

/// Returns the layout in the frame, else the layout known for the slot.
fn laid_out(payload: &Map<'_>, slot: &str, state: &State) -> Layout {
    layout_of(payload).unwrap_or_else(|| state.layout(slot).clone())
}

fn tool_call(frame: &DynamicFrame<'_>, state: &State) -> Option<Json> {
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
            call.insert(Call::SPELLING.into(), raw.into());
        }
    }
    if let Some(Value::Map(rest)) = payload.get("call") {
        put_map(&mut call, rest)?;
    }
    Some(Json::Object(call))
}

/// Restores the recorded keys that travel under their own names, and the keys in `x`.
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

/// Returns the format and the shell of a document.
fn opened_shell(value: &Value<'_>) -> Option<(Format, Json)> {
    let shell = data(value)?;
    let format = Format::named(shell.get("format")?.as_str()?)?;
    Some((format, shell.get("document")?.clone()))
}

/// Returns a value as recorded data. Its references must be resolved already.
fn data(value: &Value<'_>) -> Option<Json> {
    value.clone().into_data(&mut |_| None).ok()
}

/// The reason why frames do not hold a recorded conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The text is not a frame.
    #[error("{0}")]
    Frame(#[from] DecodeError),
    /// A reference in the frame leads nowhere.
    #[error("{0}")]
    Reference(#[from] Unresolved),
    /// The first frame does not open a conversation.
    #[error(
        "expected a frame `@{HOST}>sync:{OPENING}{{..}}` first, as `accp convert` writes it; `accp decode` reads any frame"
    )]
    NotOpened,
    /// The opening frame has params that the recorder does not write.
    #[error("the recorder does not write such an opening frame")]
    Opening,
    /// The opening frame has no count of messages.
    #[error("the opening frame does not say how many messages follow")]
    Uncounted,
    /// The frame is not the next one.
    #[error(
        "expected the frame with seq:{expected}, found seq:{found}: lines are missing, repeated \
         or out of order"
    )]
    Sequence {
        /// The `seq` of the next frame.
        expected: u64,
        /// The `seq` of the frame on this line.
        found: u64,
    },
    /// The recorder does not write such frames.
    #[error("`accp convert` does not write frames like those before this line")]
    Form,
    /// A conversation has fewer or more messages than its first frame says.
    #[error(
        "the conversation that line {line} opens has {expected} messages, {found} were found: the \
         file is cut, or lines are missing"
    )]
    Count {
        /// The line of the first frame of the conversation.
        line: u64,
        /// The count in the first frame.
        expected: usize,
        /// The number of messages that were found.
        found: usize,
    },
    /// The restored JSON is not a conversation.
    #[error("{0}")]
    Conversation(#[from] NotConversation),
}

/// Restores conversations from their frames.
#[derive(Debug, Default)]
pub struct Restorer {
    state: State,
    current: Option<Opened>,
    /// The sequence number of the last frame.
    sequence: u64,
    /// The frames of the recorded message that is not complete yet.
    frames: Vec<DynamicFrame<'static>>,
}

#[derive(Debug)]
struct Opened {
    messages: Vec<Json>,
    /// The other recorded keys.
    rest: JsonMap<String, Json>,
    lone: LoneSurrogates,
    /// Whether the conversation is a bare array of messages.
    bare: bool,
    /// The document without its messages; `None` if the messages and the other keys are the whole document.
    shell: Option<(Format, Json)>,
    expected: usize,
    line: u64,
}

impl Restorer {
    /// Takes the frame of a line, and returns the conversation that ends before this frame.
    /// `values` holds the values behind the frame's references.
    ///
    /// # Errors
    /// When the frame is faulty or does not fit its place.
    pub fn line(
        &mut self,
        text: &str,
        line: u64,
        values: &Values,
    ) -> Result<Option<Conversation>, RestoreError> {
        let mut message = DynamicFrame::decode(text, Registry::shared())?.into_owned();
        for (_, value) in message.payload.iter_mut() {
            *value = values.resolve(value)?;
        }
        self.frame(message, line)
    }

    /// Takes the frame of a line, with its references resolved, and returns the conversation
    /// that ends before this frame.
    ///
    /// # Errors
    /// When the frame is faulty or does not fit its place.
    pub fn frame(
        &mut self,
        frame: DynamicFrame<'static>,
        line: u64,
    ) -> Result<Option<Conversation>, RestoreError> {
        if frame.agent == HOST && frame.operation == OPENING {
            let ended = self.end()?;
            let mut rest = JsonMap::new();
            put_rest(&mut rest, &frame.payload).ok_or(RestoreError::Opening)?;
            let expected = match frame.payload.get("messages") {
                Some(Value::Integer(count)) => usize::try_from(*count).unwrap_or(0),
                _ => return Err(RestoreError::Uncounted),
            };
            let bare = frame.payload.get("bare").is_some();
            let shell = match frame.payload.get("shell") {
                Some(shell) => Some(opened_shell(shell).ok_or(RestoreError::Opening)?),
                None => None,
            };
            let halves = match frame.payload.get("lone") {
                Some(halves) => data(halves).and_then(|json| LoneSurrogates::of_json(&json)),
                None => Some(LoneSurrogates::default()),
            };
            self.current = Some(Opened {
                messages: Vec::new(),
                rest,
                lone: halves.ok_or(RestoreError::Opening)?,
                bare,
                shell,
                expected,
                line,
            });
            self.sequence = frame.envelope.sequence.unwrap_or(0);
            self.state = State::default();
            self.state.learn(std::slice::from_ref(&frame));
            return Ok(ended);
        }
        if self.current.is_none() {
            return Err(RestoreError::NotOpened);
        }
        let sequence = frame.envelope.sequence.unwrap_or(0);
        if sequence != self.sequence + 1 {
            return Err(RestoreError::Sequence {
                expected: self.sequence + 1,
                found: sequence,
            });
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

    fn complete_message(&mut self) -> Result<(), RestoreError> {
        let frames = std::mem::take(&mut self.frames);
        if frames.is_empty() {
            return Ok(());
        }
        let recorded = restore_message(&frames, &self.state).ok_or(RestoreError::Form)?;
        self.state.learn(&frames);
        if let Some(opened) = &mut self.current {
            opened.messages.push(recorded);
        }
        Ok(())
    }

    /// Returns the conversation that ends with the input.
    ///
    /// # Errors
    /// When the conversation has fewer or more messages than its first frame says.
    pub fn end(&mut self) -> Result<Option<Conversation>, RestoreError> {
        self.complete_message()?;
        let Some(Opened {
            messages,
            rest,
            lone,
            bare,
            shell,
            expected,
            line,
        }) = self.current.take()
        else {
            return Ok(None);
        };
        let found = messages.len();
        if found == expected {
            let conversation = match shell {
                Some((format, shell)) => {
                    let restored = Conversation::restored(&shell, messages, format)?;
                    restored.ok_or(RestoreError::Form)?
                }
                None => Conversation::of(messages, rest, bare)?,
            };
            return Ok(Some(conversation.with_lone(lone)));
        }
        Err(RestoreError::Count {
            line,
            expected,
            found,
        })
    }
}
