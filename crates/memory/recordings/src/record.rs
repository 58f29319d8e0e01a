//! Writes a recorded conversation as frames.
//!
//! The first frame describes the conversation. Then each recorded message is one frame, and
//! each tool call of an assistant is a frame of its own. Keys of a recorded message that the
//! profile does not have travel as further params, so that nothing is lost.

use std::collections::BTreeMap;

use accp_context::{Call, Recorded};
use accp_frame::{DynamicFrame, EncodeError, Envelope, Map, Value};
use accp_registry::{Registry, expand, lexical};
use serde_json::{Map as JsonMap, Value as Json};

use crate::conversation::Conversation;
use crate::form::{HOST, OPENING, State, VERBATIM, agent_id, is_own, slot};
use crate::layout::Layout;
use crate::restore::restore_message;

/// Turns one conversation into frames.
pub struct Recorder<'r> {
    registry: &'r Registry,
    /// The state that the reader of the frames has at this point too.
    state: State,
    /// The number of each agent, and the count of its frames.
    members: BTreeMap<String, (u32, u32)>,
    sequence: u64,
    /// The senders of the frames made for the current message.
    written: Vec<String>,
    start: i64,
}

impl<'r> Recorder<'r> {
    /// Makes a recorder. `start` is the time of the first frame in Unix seconds; each further
    /// frame is one second later.
    pub fn new(registry: &'r Registry, start: i64) -> Self {
        Self {
            registry,
            state: State::default(),
            members: BTreeMap::new(),
            sequence: 0,
            written: Vec::new(),
            start,
        }
    }

    /// Returns the opening frame of a conversation.
    pub fn opening<'j>(
        &mut self,
        conversation: &'j Conversation,
    ) -> Result<DynamicFrame<'j>, EncodeError> {
        let mut payload = Map::new();
        payload.insert(
            "messages",
            Value::from(conversation.messages().len() as i64),
        );
        if let Some(document) = conversation.shell() {
            let shell = [
                ("format", Value::from(conversation.format().name())),
                ("document", Value::from_data(&document).into_owned()),
            ];
            payload.insert("shell", Value::Map(shell.into_iter().collect()));
        } else {
            if conversation.is_bare() {
                payload.insert("bare", Value::from(true));
            }
            self.put_rest(&mut payload, conversation.rest());
        }
        if let Some(lone) = conversation.lone().to_json() {
            payload.insert("lone", Value::from_data(&lone).into_owned());
        }
        let mut message = self.frame(HOST, "sync", OPENING, None, payload)?;
        let id = conversation.get("id").and_then(Json::as_str);
        message.envelope.session_id = id.filter(|id| !id.is_empty()).map(Into::into);
        self.state.learn(std::slice::from_ref(&message));
        Ok(message)
    }

    /// Returns the frames of one recorded message.
    pub fn message<'j>(
        &mut self,
        recorded: Recorded<'j>,
    ) -> Result<Vec<DynamicFrame<'j>>, EncodeError> {
        self.written.clear();
        let frames = self.profiled(recorded);
        if let Some(frames) = frames
            && restore_message(&frames, &self.state).as_ref() == Some(recorded.as_json())
        {
            self.state.learn(&frames);
            return Ok(frames);
        }
        self.undo();
        let payload = [("data", Value::from_data(recorded.as_json()))]
            .into_iter()
            .collect();
        let frames = vec![self.frame(HOST, "sync", VERBATIM, None, payload)?];
        self.state.learn(&frames);
        Ok(frames)
    }

    /// Takes back the frames of the current message.
    fn undo(&mut self) {
        for agent in std::mem::take(&mut self.written) {
            self.sequence -= 1;
            if let Some((_, count)) = self.members.get_mut(&agent) {
                *count -= 1;
                if *count == 0 {
                    self.members.remove(&agent);
                }
            }
        }
    }

    fn profiled<'j>(&mut self, message: Recorded<'j>) -> Option<Vec<DynamicFrame<'j>>> {
        let recorded = message.as_json().as_object()?;
        let role = message.role()?;
        let calls = recorded.get("tool_calls").and_then(Json::as_array);
        match (role, calls.map(Vec::as_slice)) {
            ("tool", None) => Some(vec![self.tool_result(message, recorded)?]),
            (_, Some([_, ..])) => self.tool_calls(message, recorded, role),
            _ => Some(vec![self.chat(recorded, role, &[])?]),
        }
    }

    /// Writes `req:chat` from a user or to a named agent, else `done:chat` (draft section 10.1).
    fn chat<'j>(
        &mut self,
        recorded: &'j JsonMap<String, Json>,
        role: &'j str,
        done: &[&str],
    ) -> Option<DynamicFrame<'j>> {
        let mut payload = Map::new();
        payload.insert("role", Value::from(role));
        // Schema CH requires a content, so a message without a text is sent without a schema.
        let schema = match recorded.get("content") {
            Some(Json::String(text)) => {
                payload.insert("content", Value::from(text.as_str()));
                Some("CH")
            }
            other => {
                put_odd_content(&mut payload, other);
                None
            }
        };
        let agent = Self::speaker(recorded, role, &mut payload)?;
        let rest = recorded.iter().filter(|(key, _)| {
            !["role", "content", "name", "to"].contains(&key.as_str())
                && !done.contains(&key.as_str())
        });
        self.put_rest(&mut payload, rest);
        let asks = matches!(role, "user" | "system" | "developer") || recorded.contains_key("to");
        self.frame(
            &agent,
            if asks { "req" } else { "done" },
            "chat",
            schema,
            payload,
        )
        .ok()
    }

    /// Returns the agent id of the sender, and puts the recipient into `payload`. The recorded name goes into
    /// `payload`, too, if the agent id alone would not restore it.
    fn speaker<'j>(
        recorded: &'j JsonMap<String, Json>,
        role: &str,
        payload: &mut Map<'j>,
    ) -> Option<String> {
        if let Some(to) = recorded.get("to") {
            payload.insert("target", Value::from(to.as_str()?));
        }
        let agent = agent_id(role);
        let Some(name) = recorded.get("name") else {
            return Some(agent);
        };
        let name = name.as_str()?;
        if name == agent || !lexical::is_agent_id(name) {
            payload.insert("name", Value::from(name));
        }
        Some(agent_id(name))
    }

    /// Writes `req:tool` for each call (draft section 10.2). If the message also has a text, the text goes into a frame
    /// before the frames of the calls, and `aid` in these frames names it.
    fn tool_calls<'j>(
        &mut self,
        message: Recorded<'j>,
        recorded: &'j JsonMap<String, Json>,
        role: &'j str,
    ) -> Option<Vec<DynamicFrame<'j>>> {
        let mut frames = Vec::new();
        let mut first = Map::new();
        let mut ignored = Map::new();
        let agent = Self::speaker(recorded, role, &mut ignored)?;
        match recorded.get("content") {
            Some(Json::String(text)) if !text.is_empty() => {
                frames.push(self.chat(recorded, role, &["tool_calls"])?);
            }
            content => {
                if content == Some(&Json::from("")) {
                    first.insert("content", Value::from(""));
                } else {
                    put_odd_content(&mut first, content);
                }
                if role != "assistant" {
                    first.insert("role", Value::from(role));
                }
                Self::speaker(recorded, role, &mut first)?;
                let rest = recorded.iter().filter(|(key, _)| {
                    !["role", "content", "name", "to", "tool_calls"].contains(&key.as_str())
                });
                self.put_rest(&mut first, rest);
            }
        }
        for call in message.calls() {
            let payload = if frames.is_empty() {
                std::mem::take(&mut first)
            } else {
                Map::new()
            };
            let mut frame = self.tool_call(call, &agent, payload)?;
            frame.envelope.causation_id = frames
                .first()
                .and_then(|first: &DynamicFrame<'_>| first.envelope.msg_id.clone());
            frames.push(frame);
        }
        Some(frames)
    }

    /// Writes a call, recorded as `{id, name, arguments}` with the arguments as an object, or as
    /// `{id, type, function: {name, arguments}}` with the arguments as a JSON text.
    fn tool_call<'j>(
        &mut self,
        call: Call<'j>,
        agent: &str,
        mut payload: Map<'j>,
    ) -> Option<DynamicFrame<'j>> {
        let recorded = call.as_json().as_object()?;
        let (known, arguments, text) = if call.is_function() {
            let kind = recorded.get("type").unwrap_or(&Json::Null);
            payload.insert("type", Value::from_data(kind));
            let text = call.recorded_arguments()?.as_str()?;
            (["id", "type", "function"], None, Some(text))
        } else {
            let text = match recorded.get(Call::SPELLING) {
                Some(text) => Some(text.as_str()?),
                None => None,
            };
            let arguments = call.recorded_arguments().filter(|json| json.is_object())?;
            (["id", "name", "arguments"], Some(arguments), text)
        };
        let name = call.tool()?;
        payload.insert("tool_name", Value::from(name));
        let slot = slot("args", name);
        let laid_out = text.and_then(|text| Layout::read(text, self.state.layout(&slot)));
        match laid_out {
            Some((json, layout)) if json.is_object() && arguments.is_none_or(|a| *a == json) => {
                if *self.state.layout(&slot) != layout {
                    payload.insert("lay", layout.to_value());
                }
                if arguments.is_some() {
                    payload.insert("raw", Value::from(true));
                }
                payload.insert("arguments", Value::from_data(&json).into_owned());
            }
            _ => {
                if let Some(arguments) = arguments {
                    payload.insert("arguments", Value::from_data(arguments));
                }
                if let Some(text) = text {
                    payload.insert("raw", Value::from(text));
                }
            }
        }
        let rest = recorded
            .iter()
            .filter(|(key, _)| !known.contains(&key.as_str()) && *key != Call::SPELLING);
        let rest: Map<'_> = rest
            .map(|(k, v)| (k.as_str(), Value::from_data(v)))
            .collect();
        if !rest.is_empty() {
            payload.insert("call", Value::Map(rest));
        }
        let mut frame = self.frame(agent, "req", "tool", Some("TC"), payload).ok()?;
        if let Some(id) = recorded.get("id") {
            frame.envelope.correlation_id = Some(id.as_str()?.into());
        }
        Some(frame)
    }

    /// Writes `done:tool`. `cid` is the recorded id of the call, or the id of the frame before if no id was recorded.
    fn tool_result<'j>(
        &mut self,
        message: Recorded<'j>,
        recorded: &'j JsonMap<String, Json>,
    ) -> Option<DynamicFrame<'j>> {
        let mut payload = Map::new();
        let id = match recorded.get("tool_call_id") {
            Some(id) => Some(id.as_str()?),
            None => None,
        };
        let agent = Self::speaker(recorded, "tool", &mut payload)?;
        let name = self.state.calls.answered(message);
        let name = name.unwrap_or("tool").to_owned();
        match recorded.get("content") {
            Some(Json::String(text)) => {
                let slot = slot("res", &name);
                match Layout::read(text, self.state.layout(&slot)) {
                    Some((json, layout)) => {
                        if *self.state.layout(&slot) != layout {
                            payload.insert("lay", layout.to_value());
                        }
                        payload.insert("result", Value::from_data(&json).into_owned());
                    }
                    None => {
                        payload.insert("result", Value::from(text.as_str()));
                    }
                }
            }
            other => {
                put_odd_content(&mut payload, other);
            }
        }
        payload.insert("tool_name", Value::from(name));
        let rest = recorded.iter().filter(|(key, _)| {
            !["role", "content", "name", "to", "tool_call_id"].contains(&key.as_str())
        });
        self.put_rest(&mut payload, rest);
        let before = self.state.last_mid.clone();
        let mut frame = self
            .frame(&agent, "done", "tool", Some("TC"), payload)
            .ok()?;
        frame.envelope.correlation_id = Some(id.map_or(before.into(), Into::into));
        Some(frame)
    }

    /// Puts the recorded keys that no field holds into `payload`: as params under their own
    /// names, or into the map `x` where the name is taken or does not fit the grammar.
    fn put_rest<'j>(
        &self,
        payload: &mut Map<'j>,
        rest: impl Iterator<Item = (&'j String, &'j Json)>,
    ) {
        // If a key is the abbreviation of a field, a reader would expand it to the full name of the
        // field. So such a key goes into the map `x`.
        let abbreviates = |key: &str| {
            let fields = |code| {
                self.registry
                    .schema(code)
                    .and_then(|schema| schema.field(key))
            };
            expand(key).is_some() || fields("CH").is_some() || fields("TC").is_some()
        };
        let taken = |key: &str| is_own(key) || ["schema", "_"].contains(&key) || abbreviates(key);
        let mut map = Map::new();
        for (key, value) in rest {
            let value = Value::from_data(value);
            if lexical::is_key(key) && !taken(key) {
                payload.insert(key.as_str(), value);
            } else {
                map.insert(key.as_str(), value);
            }
        }
        if !map.is_empty() {
            payload.insert("x", Value::Map(map));
        }
    }

    fn frame<'j>(
        &mut self,
        agent: &str,
        intent: &str,
        operation: &'static str,
        schema: Option<&'static str>,
        payload: Map<'j>,
    ) -> Result<DynamicFrame<'j>, EncodeError> {
        let members = self.members.len() as u32;
        let (member, count) = self.members.entry(agent.to_owned()).or_insert((members, 0));
        *count += 1;
        self.sequence += 1;
        self.written.push(agent.to_owned());
        // The id has three digits for the member, three for the epoch and six for the count.
        let (number, epoch) = (100 + *member % 900, 1 + *member / 900);
        let mid = format!("{number}{epoch:03}{:06}", *count % 1_000_000);
        let time = self.start.saturating_add(self.sequence as i64);
        let mut message = DynamicFrame::new(agent.to_owned(), intent, operation)?;
        message.schema = schema.map(Into::into);
        message.payload = payload;
        message.envelope = Envelope::new(mid, self.sequence).at(time);
        Ok(message)
    }
}

/// Writes content that is not a text. Null is the reader's default and is not written, parts
/// travel as data, and `no:content` marks a message without content.
fn put_odd_content<'j>(payload: &mut Map<'j>, content: Option<&'j Json>) -> Option<Value<'j>> {
    match content {
        None => payload.insert("no", Value::from("content")),
        Some(Json::Null) => None,
        Some(parts) => payload.insert("parts", Value::from_data(parts)),
    }
}
