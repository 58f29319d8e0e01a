//! A frame that a session is asked to send.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use accp_registry::ErrorCode;

use crate::gate::refusal::Refusal;
use crate::wire::scan::Scanned;
use crate::{Inbound, Mid};
use accp_frame::{DecodeError, EncodeError, EncodeFrame, Intent, Limits, Message};

/// What to send: a frame of a type, or a [`Message`], with what its envelope says beyond
/// `mid`, `seq` and `ts`, which the session sees to.
///
/// ```
/// use accp_runtime::Message;
/// use accp_runtime::session::Outbound;
///
/// let message = Message::new("planner", "req", "plan")?.with("goal", "lunch");
/// let outbound = Outbound::message(&message).in_chain("lunch").expiring(60);
/// # let _ = outbound;
/// # Ok::<(), accp_runtime::EncodeError>(())
/// ```
#[derive(Clone)]
pub struct Outbound<'a> {
    pub(crate) content: Content<'a>,
    pub(crate) agent: Option<&'a str>,
    pub(crate) cid: Option<String>,
    pub(crate) aid: Option<String>,
    pub(crate) ttl: Option<i64>,
    pub(crate) strict: bool,
}

#[derive(Clone)]
pub(crate) enum Content<'a> {
    Typed(&'a dyn EncodeFrame),
    Owned(Arc<dyn EncodeFrame + 'a>),
    Message(&'a Message<'a>),
}

impl<'a> Outbound<'a> {
    fn new(content: Content<'a>) -> Self {
        Self {
            content,
            agent: None,
            cid: None,
            aid: None,
            ttl: None,
            strict: false,
        }
    }

    /// A frame of a type that derives [`AccpFrame`](accp_frame::AccpFrame), said by the agent of
    /// the session.
    pub fn frame(frame: &'a dyn EncodeFrame) -> Self {
        Self::new(Content::Typed(frame))
    }

    /// As [`Outbound::frame`], of a frame that it owns, so that a handler can give it back.
    pub fn owned(frame: impl EncodeFrame + 'a) -> Self {
        Self::new(Content::Owned(Arc::new(frame)))
    }

    /// A message; its `cid`, `aid` and `ttl` are taken over, the rest of its envelope is not.
    pub fn message(message: &'a Message<'a>) -> Self {
        let text = |id: &Option<_>| id.as_deref().map(String::from);
        Self {
            agent: Some(message.agent.as_str()),
            cid: text(&message.envelope.correlation_id),
            aid: text(&message.envelope.causation_id),
            ttl: message.envelope.ttl,
            ..Self::new(Content::Message(message))
        }
    }

    pub(crate) fn kind(&self) -> (Intent, &str) {
        let frame = match &self.content {
            Content::Typed(frame) => frame.frame_type(),
            Content::Owned(frame) => frame.frame_type(),
            Content::Message(message) => return (message.intent, &message.operation),
        };
        (frame.intent, frame.operation)
    }

    /// Said by this agent, one that the member may speak for.
    pub fn by(mut self, agent: &'a str) -> Self {
        self.agent = Some(agent);
        self
    }

    /// In the chain with this name (`cid`).
    pub fn in_chain(mut self, cid: impl Into<String>) -> Self {
        self.cid = Some(cid.into());
        self
    }

    /// Caused by the message with this id (`aid`).
    pub fn caused_by(mut self, mid: &Mid) -> Self {
        self.aid = Some(mid.to_string());
        self
    }

    /// In answer to a frame: in its chain.
    ///
    /// # Errors
    /// When the frame breaks the grammar, which one that a session delivered does not.
    pub fn answering(mut self, inbound: &Inbound) -> Result<Self, DecodeError> {
        let frame = Scanned::new(inbound.text(), Limits::NONE)?;
        let envelope = frame.envelope;
        self.cid = envelope
            .correlation_id
            .or(envelope.msg_id)
            .map(Cow::into_owned);
        Ok(self)
    }

    /// Worthless after so many seconds (`ttl`); 0 never expires.
    pub fn expiring(mut self, seconds: i64) -> Self {
        self.ttl = Some(seconds);
        self
    }

    /// Under the 50-character rule without exception (draft section 3.3, item 4).
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }
}

impl fmt::Debug for Outbound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Outbound");
        match &self.content {
            Content::Typed(frame) => debug.field("frame", &frame.frame_type()),
            Content::Owned(frame) => debug.field("frame", &frame.frame_type()),
            Content::Message(message) => debug.field("message", message),
        };
        debug
            .field("cid", &self.cid)
            .field("aid", &self.aid)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

/// The pairs `tail` with an `aid`, in place of the one there may be.
pub(crate) fn with_cause(tail: &str, aid: &str) -> String {
    let mut out = String::new();
    let mut escaped = false;
    // A comma behind a backslash belongs to a value.
    let pairs = tail.split(|c| {
        let separates = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        separates
    });
    for pair in pairs.filter(|pair| !pair.is_empty() && !pair.starts_with("aid:")) {
        out.push(',');
        out.push_str(pair);
    }
    out + &format!(",aid:{aid}")
}

/// Why a frame was not sent: nothing of it was kept, and the session is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The message has no frame, or none within the limits (E2003 for those in tokens).
    Encode(EncodeError),
    /// So many frames wait in the outbox, which is all that it holds.
    Full(usize),
    /// The host has not yet said which member this is; wait for
    /// [`Event::Joined`](crate::Event::Joined).
    NotJoined,
    /// The chain was cancelled.
    Cancelled,
    /// No frame at this position waits to be handled.
    NotDue(u64),
    /// The session refuses it as the host would, with this code.
    Refused {
        /// The code.
        code: ErrorCode,
        /// What was expected.
        expected: String,
    },
}

impl SendError {
    /// The code of the draft (section 3.6) that comes nearest.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Encode(error) => error.code(),
            Self::Full(_) => ErrorCode::BUDGET_EXCEEDED,
            Self::NotJoined => ErrorCode::TIMEOUT,
            Self::Cancelled | Self::NotDue(_) => ErrorCode::POLICY_DENIED,
            Self::Refused { code, .. } => *code,
        }
    }
}

impl From<Refusal> for SendError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused {
            code: refusal.code,
            expected: refusal.expected.into_owned(),
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encode(error) => error.fmt(f),
            Self::Full(frames) => write!(
                f,
                "{frames} frames wait to be acknowledged, which is all that the outbox holds"
            ),
            Self::NotJoined => f.write_str("the host has not answered yet"),
            Self::Cancelled => f.write_str("the chain was cancelled"),
            Self::NotDue(position) => {
                write!(f, "no frame at position {position} waits to be handled")
            }
            Self::Refused { code, expected } => write!(f, "{code}: expected {expected}"),
        }
    }
}

impl std::error::Error for SendError {}

impl From<EncodeError> for SendError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

impl From<DecodeError> for SendError {
    fn from(error: DecodeError) -> Self {
        Self::Refused {
            code: error.code(),
            expected: error.expected().to_string(),
        }
    }
}
