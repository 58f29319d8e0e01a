//! An accepted frame on its way to a handler.

use std::sync::Arc;

use crate::{CancelToken, MemberId};
use accp_frame::{DecodeError, DecodeFrame, Message, Registry, Typed};

/// An accepted frame of another member, for a handler on this side.
///
/// The session delivers the frame again after a restart, until
/// [`Session::handled`](crate::Session::handled) marks it handled.
///
/// ```
/// use accp_runtime::profiles::ScheduleReq;
/// # use accp_runtime::session::{CancelToken, Inbound, MemberId};
/// # let text = "@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}[mid:101000001001,seq:1,ts:0]";
/// # let inbound = Inbound::new(1, MemberId::HOST, text.into(), CancelToken::new());
/// let request = inbound.decode::<ScheduleReq>()?;
/// assert_eq!(request.frame.task, "impl_auth");
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Inbound {
    position: u64,
    sender: MemberId,
    text: Arc<str>,
    cancel: CancelToken,
    redelivered: bool,
}

impl Inbound {
    /// Makes a frame at its place in the log.
    pub fn new(position: u64, sender: MemberId, text: Arc<str>, cancel: CancelToken) -> Self {
        Self {
            position,
            sender,
            text,
            cancel,
            redelivered: false,
        }
    }

    pub(crate) fn again(mut self, redelivered: bool) -> Self {
        self.redelivered = redelivered;
        self
    }

    /// Returns whether a handler of this side may have had the frame before: the session was
    /// restored since, and its store has no mark of it. Nothing that the handler did is in the
    /// session, but what it did elsewhere may have happened.
    pub fn redelivered(&self) -> bool {
        self.redelivered
    }

    /// Returns the place in the log, which marks the frame handled.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the member that sent the frame.
    pub fn sender(&self) -> MemberId {
        self.sender
    }

    /// Returns the frame as its sender wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the token that fires when the chain of this frame is cancelled.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Decodes the frame as a type of the application.
    ///
    /// # Errors
    /// As [`Typed::decode`].
    pub fn decode<'a, T: DecodeFrame<'a>>(&'a self) -> Result<Typed<'a, T>, DecodeError> {
        Typed::decode(&self.text)
    }

    /// Decodes the frame under full names.
    ///
    /// # Errors
    /// As [`Message::decode`].
    pub fn message(&self, registry: &Registry) -> Result<Message<'_>, DecodeError> {
        Message::decode(&self.text, registry)
    }
}
