//! Messages of clients, as frames for the session.

use a2a::{A2AError, Message, Part, PartContent, SendMessageConfiguration, SendMessageRequest};
use accp_client::ttl_left;
use accp_frame::{
    AgentId, DecodeError, DynamicFrame, ErrorCode, Intent, Registry, profiles::ChatReq,
};
use accp_session::Outbound;
use sha2::{Digest, Sha256};

use crate::fault;
use crate::frame::{ACCP, LONG, LONG_VALUES, TEXT, TO, TaskFrame};

/// Intents that a client may use in an existing task.
const IN_TASK: [Intent; 8] = [
    Intent::REQ,
    Intent::QRY,
    Intent::DONE,
    Intent::FAIL,
    Intent::WAIT,
    Intent::ESC,
    Intent::STREAM,
    Intent::END,
];

/// A message of a client, with its configuration.
pub(crate) struct ClientMessage {
    /// The id of the message.
    pub(crate) id: String,
    /// The task to which the message belongs.
    pub(crate) task: Option<String>,
    pub(crate) content: Content,
    /// How many messages of the task the client wants back at most.
    pub(crate) history: Option<usize>,
    /// Whether the client does not wait for the end of the task.
    pub(crate) returns: bool,
}

impl ClientMessage {
    /// Reads a message for an agent of this session.
    pub(crate) fn read(request: SendMessageRequest, session: &str) -> Result<Self, A2AError> {
        let SendMessageRequest {
            message,
            configuration,
            ..
        } = request;
        let context = message.context_id.as_deref().filter(|id| !id.is_empty());
        if context.is_some_and(|context| context != session) {
            let text = format!(
                "expected `{session}`, the session that is the context of all tasks here, or no contextId"
            );
            return Err(fault::of_field("message.contextId", &text, []));
        }
        if message.message_id.is_empty() {
            // Two messages with the same id and content count as one message, so each message needs an id of its own.
            let text = "expected an id of the message that no other one has";
            return Err(fault::of_field("message.messageId", text, []));
        }
        configuration.as_ref().map_or(Ok(()), check)?;
        let history = configuration
            .as_ref()
            .and_then(|configuration| configuration.history_length);
        let returns = configuration.and_then(|configuration| configuration.return_immediately);
        Ok(Self {
            content: Content::read(&message)?,
            id: message.message_id,
            task: message.task_id.filter(|id| !id.is_empty()),
            history: fault::count("configuration.historyLength", history)?,
            returns: returns == Some(true),
        })
    }
}

/// Checks the configuration of a message.
fn check(configuration: &SendMessageConfiguration) -> Result<(), A2AError> {
    if configuration.task_push_notification_config.is_some() {
        return Err(fault::of_push());
    }
    let modes = configuration
        .accepted_output_modes
        .as_deref()
        .unwrap_or_default();
    let fits = |mode: &String| {
        let mode = mode.split(';').next().unwrap_or_default().trim();
        [ACCP, TEXT, "*/*", "text/*", "application/*"].contains(&mode)
    };
    if !modes.is_empty() && !modes.iter().any(fits) {
        let error = A2AError::content_type_not_supported();
        let message =
            format!("configuration.acceptedOutputModes: expected {ACCP} or {TEXT} among them");
        return Err(A2AError { message, ..error });
    }
    Ok(())
}

/// A frame to send, from a part of a message.
pub(crate) struct PartFrame {
    /// The index of the part.
    pub(crate) part: usize,
    pub(crate) outbound: Outbound<'static>,
}

/// The content of a message.
pub(crate) enum Content {
    /// Frames, each with the index of its part.
    Frames(Vec<(usize, String)>),
    /// Text, as one request of a conversation.
    Text(String),
}

impl Content {
    /// Returns how many frames the content becomes.
    pub(crate) fn frame_count(&self) -> usize {
        match self {
            Self::Frames(frames) => frames.len(),
            Self::Text(_) => 1,
        }
    }

    /// Reads the parts of a message. A message holds frames or text.
    fn read(message: &Message) -> Result<Self, A2AError> {
        let (mut frames, mut texts) = (Vec::new(), Vec::new());
        for (at, part) in message.parts.iter().enumerate() {
            let media_type = media_type(part);
            let is_frame = media_type.eq_ignore_ascii_case(ACCP);
            if !is_frame && !media_type.eq_ignore_ascii_case(TEXT) {
                return Err(other_type(at));
            }
            let text = match &part.content {
                PartContent::Text(text) => text.clone(),
                PartContent::Raw(bytes) => match String::from_utf8(bytes.clone()) {
                    Ok(text) => text,
                    Err(error) => {
                        let byte = error.utf8_error().valid_up_to();
                        let error = DecodeError::new(ErrorCode::PARSE_ERROR, byte, "UTF-8");
                        return Err(fault::of_frame(at, &error));
                    }
                },
                _ => return Err(other_type(at)),
            };
            if is_frame {
                frames.push((at, text.trim().to_owned()));
            } else {
                texts.push(text);
            }
        }
        match (frames.is_empty(), texts.is_empty()) {
            (false, true) => Ok(Self::Frames(frames)),
            (true, false) => Ok(Self::Text(texts.join("\n"))),
            (true, true) => {
                let expected = "expected at least one part: a frame as application/accp, or text";
                Err(fault::of_field("message.parts", expected, []))
            }
            (false, false) => {
                let expected = "expected frames or text, not both: send the text in a message of \
                                its own, or as a field of the frame";
                Err(fault::of_field("message.parts", expected, []))
            }
        }
    }

    /// Returns the name of the chain that this message begins. A repeated message gets the same name. No message id
    /// of a session begins with the first letter of this name. The rest of the name is digits: each frame of the task
    /// has the name, and digits take half as many tokens as letters.
    pub(crate) fn chain(&self, agent: &str, message_id: &str) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        };
        add(agent);
        add(message_id);
        match self {
            Self::Frames(frames) => frames.iter().for_each(|(_, text)| add(text)),
            Self::Text(text) => add(text),
        }
        let first = hash.finalize().into_iter().take(8);
        let number = first.fold(0, |number, byte| number << 8 | u64::from(byte));
        format!("c{:018}", number % 1_000_000_000_000_000_000)
    }

    /// Returns the frames to send for a new or an existing task.
    pub(crate) fn frames(
        self,
        agent: &str,
        task: &str,
        begins: bool,
        registry: &Registry,
    ) -> Result<Vec<PartFrame>, A2AError> {
        let frames = match self {
            Self::Text(text) => {
                let is_long = text.len() > LONG;
                let chat = Outbound::owned(ChatReq::new(text).role("user")).in_chain(task);
                return Ok(vec![PartFrame {
                    part: 0,
                    outbound: if is_long { chat.strict() } else { chat },
                }]);
            }
            Self::Frames(frames) => frames,
        };
        let mut outbound = Vec::new();
        for (index, (at, text)) in frames.into_iter().enumerate() {
            let begins = begins && index == 0;
            outbound.push(frame(at, &text, agent, task, begins, registry)?);
        }
        Ok(outbound)
    }
}

/// Reads one frame of a client, and makes this agent the sender, whatever sender the frame names. Of the frame's
/// metadata, only the time to live and the addressee (`to`) are used.
fn frame(
    at: usize,
    text: &str,
    agent: &str,
    task: &str,
    begins: bool,
    registry: &Registry,
) -> Result<PartFrame, A2AError> {
    let refuse = |error: DecodeError| fault::of_frame(at, &error);
    let sent = TaskFrame::read_wide(text).map_err(refuse)?;
    // The registry may require a chain id for this frame. The client cannot know the id, so the
    // task's id is added.
    let whole = format!("{}[cid:{task}]", sent.head());
    let mut message = DynamicFrame::decode_with(&whole, registry, &LONG_VALUES).map_err(refuse)?;
    let is_fine = if begins {
        message.intent == Intent::REQ
    } else {
        IN_TASK.contains(&message.intent)
    };
    if !is_fine {
        let expected = if begins {
            "expected a frame with the intent req, which begins a task; other frames need the taskId \
             of a task"
        } else if message.intent == Intent::CANCEL {
            "expected another intent than cancel: call CancelTask"
        } else {
            "expected one of the intents req, qry, done, fail, wait, esc, stream, end"
        };
        let code = ErrorCode::INVALID_INTENT;
        let byte = 2 + sent.agent().len();
        let facts = [("code", code.to_string()), ("byte", byte.to_string())];
        let text = format!("{code} at byte {byte}: {expected}");
        return Err(fault::of_part(at, &text, facts));
    }
    let name = AgentId::new(agent.to_owned());
    message.agent = name.map_err(|error| A2AError::internal(error.to_string()))?;
    if let Some(to) = sent.envelope.extra.get(TO) {
        message.envelope.extra.insert(TO, to.clone());
    }
    let outbound = Outbound::owned_message(message.into_owned()).in_chain(task);
    // `strict` moves every value of more than 50 characters into a reference, so that a long frame
    // becomes short enough.
    let outbound = if text.len() > LONG {
        outbound.strict()
    } else {
        outbound
    };
    let ttl = ttl_left(&sent.envelope).map_err(|error| fault::of_caller(&error))?;
    let outbound = match ttl {
        Some(ttl) => outbound.expiring(ttl),
        None => outbound,
    };
    Ok(PartFrame { part: at, outbound })
}

/// Returns the media type of a part, without its parameters. A part without a media type counts as plain text.
pub(crate) fn media_type(part: &Part) -> &str {
    let named = part.media_type.as_deref().unwrap_or_default();
    match named.split(';').next().unwrap_or_default().trim() {
        "" => TEXT,
        named => named,
    }
}

fn other_type(at: usize) -> A2AError {
    let text =
        format!("message.parts[{at}]: expected text, as application/accp (a frame) or text/plain");
    A2AError {
        message: text,
        ..A2AError::content_type_not_supported()
    }
}
