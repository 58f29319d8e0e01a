//! A frame for a session to send.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use accp_registry::ErrorCode;

use crate::interface::inbound::Inbound;
use crate::log::mid::Mid;
use crate::wire::link::{PeerError, error_frame};
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;
use accp_frame::{DecodeError, DynamicFrame, EncodeError, EncodeFrame, Intent, Limits, Map, Value};

/// A frame to send: a typed frame or a [`DynamicFrame`], with the rest of its envelope. The session sets
/// `mid`, `seq` and `ts`, and `sid` where the registry requires it.
///
/// ```
/// use accp_runtime::DynamicFrame;
/// use accp_runtime::session::Outbound;
///
/// let message = DynamicFrame::new("planner", "req", "plan")?.with("goal", "lunch");
/// let outbound = Outbound::message(&message).in_chain("lunch").expiring(60);
/// # let _ = outbound;
/// # Ok::<(), accp_runtime::EncodeError>(())
/// ```
#[derive(Clone)]
pub struct Outbound<'a> {
    pub(crate) content: Content<'a>,
    pub(crate) agent: Option<Cow<'a, str>>,
    pub(crate) cid: Option<String>,
    pub(crate) aid: Option<String>,
    pub(crate) ttl: Option<i64>,
    pub(crate) to: To,
    pub(crate) strict: bool,
}

/// The agent that a frame is for, as far as the sender says so in the metadata.
#[derive(Debug, Clone)]
pub(crate) enum To {
    /// The sender names no agent in the metadata, so a field may name one.
    Unsaid,
    /// No agent in particular.
    Anybody,
    /// One agent that takes such requests, which the host chooses.
    Taker,
    Agent(String),
}

#[derive(Clone)]
pub(crate) enum Content<'a> {
    Typed(&'a (dyn EncodeFrame + Sync)),
    Owned(Arc<dyn EncodeFrame + Send + Sync + 'a>),
    Message(&'a DynamicFrame<'a>),
    OwnedMessage(Arc<DynamicFrame<'a>>),
}

impl<'a> Outbound<'a> {
    fn new(content: Content<'a>) -> Self {
        Self {
            content,
            agent: None,
            cid: None,
            aid: None,
            ttl: None,
            to: To::Unsaid,
            strict: false,
        }
    }

    /// Makes an outbound frame of a type that derives [`AccpFrame`](accp_frame::AccpFrame), sent
    /// by the agent of the session.
    pub fn frame(frame: &'a (dyn EncodeFrame + Sync)) -> Self {
        Self::new(Content::Typed(frame))
    }

    /// As [`Outbound::frame`], but the result owns the frame, so that a handler can return it.
    pub fn owned(frame: impl EncodeFrame + Send + Sync + 'a) -> Self {
        Self::new(Content::Owned(Arc::new(frame)))
    }

    /// Makes an error frame (draft section 3.6). The frame has `retry:true` if the draft says that the sender may try
    /// again after this code, such as [`INTERNAL_ERROR`](ErrorCode::INTERNAL_ERROR) for a fault of a handler.
    pub fn error(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::owned(error_frame(code, message.into()))
    }

    /// Makes an outbound message. From the envelope of the message it keeps only `cid`, `aid`, `ttl` and
    /// [`to`](Self::to).
    pub fn message(message: &'a DynamicFrame<'a>) -> Self {
        let agent = message.agent.as_str().into();
        Self::message_as(message, agent, Content::Message(message))
    }

    /// As [`Outbound::message`], but the result owns the message, so that a handler can return it.
    pub fn owned_message(message: DynamicFrame<'a>) -> Self {
        let message = Arc::new(message);
        let agent = String::from(message.agent.as_str()).into();
        Self::message_as(&message, agent, Content::OwnedMessage(Arc::clone(&message)))
    }

    fn message_as(message: &DynamicFrame<'_>, agent: Cow<'a, str>, content: Content<'a>) -> Self {
        let text = |id: &Option<_>| id.as_deref().map(String::from);
        Self {
            agent: Some(agent),
            cid: text(&message.envelope.correlation_id),
            aid: text(&message.envelope.causation_id),
            ttl: message.envelope.ttl,
            to: match message.envelope.extra.get(TO) {
                Some(Value::Null) => To::Anybody,
                // `to:?` stays in the frame even if a field of the message names an agent.
                _ => addressee_in(&message.envelope.extra)
                    .filter(|_| asks(message.intent))
                    .map_or(To::Unsaid, |name| To::Agent(name.into_owned())),
            },
            ..Self::new(content)
        }
    }

    pub(crate) fn kind(&self) -> (Intent, &str) {
        let frame = match &self.content {
            Content::Typed(frame) => frame.frame_type(),
            Content::Owned(frame) => frame.frame_type(),
            Content::Message(message) => return (message.intent, &message.operation),
            Content::OwnedMessage(message) => return (message.intent, &message.operation),
        };
        (frame.intent, frame.operation)
    }

    /// Sets the agent that sends the frame. The member must speak for it.
    pub fn by(mut self, agent: &'a str) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Sets the name of the chain (`cid`).
    pub fn in_chain(mut self, cid: impl Into<String>) -> Self {
        self.cid = Some(cid.into());
        self
    }

    /// Returns the name of the chain that was set. Without one, the chain has the id of the frame.
    pub fn chain(&self) -> Option<Mid> {
        self.cid.as_deref().map(Mid::parse)
    }

    /// Sets the id of the message that caused this one (`aid`).
    pub fn caused_by(mut self, mid: &Mid) -> Self {
        self.aid = Some(mid.to_string());
        self
    }

    /// Puts the frame into the chain of the frame that it answers (`cid`). Also names that frame as the cause
    /// (`aid`), unless the chain is named after it, or [`caused_by`](Self::caused_by) names another frame.
    ///
    /// # Errors
    /// When the answered frame breaks the grammar. This never happens for a frame that a session delivered.
    pub fn answering(mut self, inbound: &Inbound) -> Result<Self, DecodeError> {
        let frame = Scanned::new(inbound.text(), Limits::NONE)?;
        let [mid, cid] = [frame.envelope.msg_id, frame.envelope.correlation_id];
        if cid.is_some() && cid != mid && self.aid.is_none() {
            self.aid = mid.as_deref().map(String::from);
        }
        self.cid = cid.or(mid).map(Cow::into_owned);
        Ok(self)
    }

    /// Names the agent that a `req` or a `qry` is for. Only the handlers of this agent get the frame, and only this
    /// agent, the host and supervisors may answer. Other members have the frame in their logs. The host refuses the
    /// name of an agent that never joined (E2001), and a name that contradicts the field that the registry declares
    /// (`to` of a `frames` entry; E1004).
    ///
    /// ```
    /// use accp_runtime::profiles::ChatReq;
    /// use accp_runtime::session::Outbound;
    ///
    /// let outbound = Outbound::owned(ChatReq::new("soup?")).to("cook");
    /// assert_eq!(outbound.addressee(), Some("cook"));
    /// ```
    pub fn to(mut self, agent: impl Into<String>) -> Self {
        // The name also replaces an earlier `to_a_taker`.
        self.to = To::Agent(agent.into());
        self
    }

    /// Says that the frame is for no agent in particular (`to:~` in the metadata), even if one of its fields names
    /// an agent: the field may have been written for another session, or for people.
    pub fn to_anybody(mut self) -> Self {
        self.to = To::Anybody;
        self
    }

    /// Lets the host choose the agent that a `req` or a `qry` is for (`to:?` in the metadata), unless a field of
    /// the frame names an agent. The host chooses an agent that has said that it takes such requests
    /// ([`Input::Takes`](crate::Input::Takes)). If every agent that ever joined has said what it takes, and none
    /// takes this request, the host refuses the frame (E2001). If the chosen agent leaves the session, the host
    /// hands the request on to another agent, marked as redelivered.
    ///
    /// This method changes nothing if the frame is for an agent already.
    #[must_use]
    pub fn to_a_taker(mut self) -> Self {
        if matches!(self.to, To::Unsaid) && asks(self.kind().0) {
            self.to = To::Taker;
        }
        self
    }

    /// Returns the name of the agent that [`to`](Self::to) or the metadata of the message has set.
    pub fn addressee(&self) -> Option<&str> {
        match &self.to {
            To::Agent(name) if name != A_TAKER => Some(name),
            _ => None,
        }
    }

    /// Sets the seconds after which the frame expires (`ttl`); with 0 it never expires.
    pub fn expiring(mut self, seconds: i64) -> Self {
        self.ttl = Some(seconds);
        self
    }

    /// Applies the 50-character rule without exception (draft section 3.3, item 4).
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }
}

/// The metadata pair by which a sender names the agent that its request is for.
pub(crate) const TO: &str = "to";

/// The value of the pair [`TO`] if the host is to choose the agent. No agent has this name.
pub(crate) const A_TAKER: &str = "?";

/// Returns whether the host chooses the agent that a request is for.
pub(crate) fn wants_taker(extra: &Map<'_>) -> bool {
    extra.get(TO) == Some(&Value::from(A_TAKER))
}

/// Returns whether frames with this intent may be for one agent.
pub(crate) fn asks(intent: Intent) -> bool {
    matches!(intent, Intent::REQ | Intent::QRY)
}

/// Returns the name of an agent in the pairs of the metadata, without its `@`. A name that has only digits was read
/// as an integer.
pub(crate) fn addressee_in<'m>(extra: &'m Map<'_>) -> Option<Cow<'m, str>> {
    match extra.get(TO)? {
        Value::String(name) => Some(name.trim_start_matches('@').into()),
        Value::Integer(number) => Some(number.to_string().into()),
        _ => None,
    }
}

impl fmt::Debug for Outbound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Outbound");
        match &self.content {
            Content::Typed(frame) => debug.field("frame", &frame.frame_type()),
            Content::Owned(frame) => debug.field("frame", &frame.frame_type()),
            Content::Message(message) => debug.field("message", message),
            Content::OwnedMessage(message) => debug.field("message", message),
        };
        debug
            .field("cid", &self.cid)
            .field("aid", &self.aid)
            .field("ttl", &self.ttl)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

/// The reason why a frame was not sent. The session kept nothing of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The message cannot be written as a frame, or exceeds a limit (E2003 for the limits in tokens).
    Encode(EncodeError),
    /// The outbox has no room. This many frames wait in it.
    Full(usize),
    /// The host has not yet told this side its number; wait for [`Event::Joined`](crate::Event::Joined). After a
    /// restart, a frame whose values go by reference also gets this error until the host has answered, because this
    /// side does not know earlier which keys are free.
    NotJoined,
    /// The chain was cancelled.
    Cancelled,
    /// The `ttl` of the frame is over.
    Expired,
    /// The host takes the frame of a guest later: it is the turn of another member to take a number, or too
    /// many frames wait for the host's own handlers. Send the frame again after the next input of the host.
    Busy,
    /// The host refuses the frame of a guest ([`Session::send_as`](crate::Session::send_as)).
    Denied(Box<PeerError>),
    /// No frame at this position waits to be handled.
    NotDue(u64),
    /// All message ids of this side are used up. Begin a new session.
    IdsUsedUp,
    /// This host was rolled back: a member holds the log up to this position. Somebody has to decide
    /// how to go on; see [`Event::RolledBack`](crate::Event::RolledBack).
    Stopped(u64),
    /// The session refuses the frame as the host would, with this code.
    Refused {
        /// The code.
        code: ErrorCode,
        /// The expected content.
        expected: String,
    },
}

impl SendError {
    /// Returns the nearest error code of the draft (section 3.6).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Encode(error) => error.code(),
            Self::Full(_) | Self::IdsUsedUp => ErrorCode::BUDGET_EXCEEDED,
            Self::NotJoined | Self::Expired | Self::Busy => ErrorCode::TIMEOUT,
            Self::Denied(error) => error.code,
            Self::Cancelled | Self::NotDue(_) | Self::Stopped(_) => ErrorCode::POLICY_DENIED,
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
                "the outbox has no room: {frames} frames in it wait to be acknowledged"
            ),
            Self::NotJoined => f.write_str("the host has not answered yet"),
            Self::Cancelled => f.write_str("the chain was cancelled"),
            Self::Expired => f.write_str("the time of the frame is over"),
            Self::Busy => f.write_str("the host takes no frame of this agent now"),
            Self::Denied(error) => write!(f, "{}: expected {}", error.code, error.message),
            Self::NotDue(position) => {
                write!(f, "no frame at position {position} waits to be handled")
            }
            Self::IdsUsedUp => {
                f.write_str("all message ids of this side are used up; begin a new session")
            }
            Self::Stopped(position) => write!(
                f,
                "the store of this host is an old copy: a member holds the log up to position \
                 {position}; recover the entries from it, or fork the log"
            ),
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
