//! What a handler knows of the frame that it handles.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use accp_runtime::session::{Inbound, Outbound};
use accp_runtime::{EncodeFrame, ErrorCode};
use tokio::sync::oneshot;

use crate::error::{Done, Error};

/// An answer to a frame.
pub(crate) enum Reply {
    Frame(Outbound<'static>),
    Error(ErrorCode, String),
}

/// The end of a handler: the frame is handled, with this answer.
pub(crate) struct Marked {
    pub(crate) inbound: Inbound,
    pub(crate) reply: Option<Reply>,
    /// Who wants to know when both are durable.
    pub(crate) done: Option<Done<()>>,
}

/// A frame that is being handled, for its handler.
///
/// A handler replies at most once. The reply is kept together with the mark that the frame was
/// handled, or neither is. A handler that ends without a reply marks the frame; one that fails or
/// panics answers with E9999.
pub struct Cx {
    ticket: Arc<Ticket>,
}

/// The right to mark a frame, which is used once.
pub(crate) struct Ticket {
    inbound: Inbound,
    /// The handle of the agent.
    agent: Weak<dyn Any + Send + Sync>,
    /// Tells the side. A side that has ended hands the frame out again when it is opened.
    mark: Box<dyn Fn(Marked) + Send + Sync>,
    is_used: AtomicBool,
}

impl Cx {
    /// Returns the frame: its sender, its text, the token that fires when its chain is cancelled.
    pub fn inbound(&self) -> &Inbound {
        &self.ticket.inbound
    }

    /// Returns the handle of the agent, if somebody still has it.
    pub(crate) fn handle(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.ticket.agent.upgrade()
    }

    /// Marks the frame as handled and sends this answer, in one commit.
    ///
    /// # Errors
    /// [`Error::Input`] when the answer cannot be sent: the frame is then answered with E9999.
    /// [`Error::Ended`].
    pub async fn reply(self, frame: impl EncodeFrame + Send + Sync + 'static) -> Result<(), Error> {
        self.reply_with(Outbound::owned(frame)).await
    }

    /// As [`reply`](Self::reply), with an answer of which this sets the chain: a
    /// [`Message`](accp_runtime::Message), say.
    ///
    /// # Errors
    /// See [`reply`](Self::reply).
    pub async fn reply_with(self, outbound: Outbound<'static>) -> Result<(), Error> {
        let (done, answer) = oneshot::channel();
        self.ticket.mark(Some(Reply::Frame(outbound)), Some(done));
        answer.await.unwrap_or_else(|_| Err(Error::ended()))
    }
}

impl Ticket {
    pub(crate) fn new(
        inbound: Inbound,
        agent: Weak<dyn Any + Send + Sync>,
        mark: Box<dyn Fn(Marked) + Send + Sync>,
    ) -> (Arc<Self>, Cx) {
        let ticket = Arc::new(Self {
            inbound,
            agent,
            mark,
            is_used: AtomicBool::new(false),
        });
        let cx = Cx {
            ticket: Arc::clone(&ticket),
        };
        (ticket, cx)
    }

    /// Takes the end of a handler.
    pub(crate) fn ends(&self, result: Result<(), Box<dyn StdError + Send + Sync>>) {
        let fault = |error: Box<dyn StdError + Send + Sync>| {
            Reply::Error(ErrorCode::INTERNAL_ERROR, error.to_string())
        };
        self.mark(result.err().map(fault), None);
    }

    fn mark(&self, reply: Option<Reply>, done: Option<Done<()>>) {
        if self.is_used.swap(true, Ordering::AcqRel) {
            return;
        }
        (self.mark)(Marked {
            inbound: self.inbound.clone(),
            reply,
            done,
        });
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("inbound", self.inbound())
            .finish_non_exhaustive()
    }
}
