//! The context of a handler: its frame, and the ways to reply and to mark the frame.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use accp_frame::{DecodeError, DecodeOptions, EncodeFrame, ErrorCode, Limits};
use accp_session::{Inbound, InputError, Mid, Outbound, SendError};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::{Done, Error};
use crate::sent::Sent;

/// The time for which a reply waits to be accepted.
const PATIENCE: Duration = Duration::from_secs(60);

/// The error of a handler that panicked.
pub(crate) const PANICKED: &str = "the handler of the frame panicked";

/// An answer to a frame.
pub(crate) enum Reply {
    Frame(Outbound<'static>),
    Error(ErrorCode, String),
    /// The handler could not read a frame, or has panicked. If the registry of the agent is the reason why the frame
    /// cannot be read, its sender hears of that. Otherwise this code and this text are the answer.
    Unread(ErrorCode, String),
}

/// The end of a handler: the frame is handled, with this answer.
pub(crate) struct Marked {
    pub(crate) inbound: Inbound,
    pub(crate) reply: Option<Reply>,
    /// True if the frame was marked before, and its handler has ended now.
    pub(crate) was_handled: bool,
    /// Answered once the mark and the reply are durable.
    pub(crate) done: Option<Done<Kept>>,
}

impl Marked {
    /// Returns whether the handler has ended by itself, without an answer.
    pub(crate) fn is_end(&self) -> bool {
        self.reply.is_none() && self.done.is_none()
    }
}

/// A reply that is durable, with the mark of its frame.
pub(crate) struct Kept {
    /// The id of the reply. `None` when it is left out, because its chain was cancelled.
    pub(crate) mid: Option<Mid>,
    /// Gets the position once the host has accepted the reply, or the reason why it has not.
    pub(crate) fate: oneshot::Receiver<Result<Sent, Error>>,
}

/// A reply that is in the store of its agent, or in the log of a hub in this process. See
/// [`Cx::reply_kept`].
#[must_use = "the hub may refuse the reply"]
pub struct Replied {
    kept: Kept,
}

impl Replied {
    /// Waits until the hub has accepted the reply, for 60 seconds at most.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the reply was left out, because its chain was cancelled. [`Error::Refused`] and
    /// [`Error::Expired`] when the hub does not take the reply. [`Error::Pending`] when the hub has not confirmed
    /// the reply in time: the agent goes on sending it. [`Error::Ended`].
    pub async fn accepted(self) -> Result<Sent, Error> {
        let Kept { mid, fate } = self.kept;
        let Some(mid) = mid else {
            return Err(Error::Cancelled);
        };
        match timeout(PATIENCE, fate).await {
            Ok(known) => known.unwrap_or_else(|_| Err(Error::ended())),
            Err(_) => Err(Error::Pending(mid)),
        }
    }
}

impl fmt::Debug for Replied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replied")
            .field("mid", &self.kept.mid)
            .finish_non_exhaustive()
    }
}

/// A frame that is being handled, for its handler.
///
/// A handler replies at most once. The reply and the mark that the frame was handled are stored in one commit. A
/// handler that ends without a reply marks the frame. If the frame is a request for its agent alone, it then gets
/// `end`, unless the agent has answered in another way. If the hub refuses a reply, the frame is answered with E9999
/// instead. A handler that fails or panics answers with E9999. If the reason is that the agent cannot read the frame by
/// its registry, the answer is E1003 for a schema that the registry lacks, and E1004 for another form of the schema.
///
/// The end of the handler counts, and not the drop of its `Cx`. So a handler that gives its `Cx` to another task waits
/// for this task.
pub struct Cx {
    ticket: Arc<Ticket>,
}

/// The right to mark a frame, which is used once.
pub(crate) struct Ticket {
    inbound: Inbound,
    /// The handle of the agent.
    agent: Weak<dyn Any + Send + Sync>,
    /// Sends the mark to the side. If the side has ended, it hands the frame out again when it is opened.
    mark: Box<dyn Fn(Marked) + Send + Sync>,
    is_used: AtomicBool,
    /// True once [`Cx::handled`] has marked the frame.
    is_handled: AtomicBool,
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
    /// [`Error::Input`] when the answer cannot be sent: the frame is then answered with E9999. [`Error::Input`] with E5001
    /// when the handler has ended before: nothing is sent. [`Error::Ended`].
    pub async fn reply(self, frame: impl EncodeFrame + Send + Sync + 'static) -> Result<(), Error> {
        self.reply_with(Outbound::owned(frame)).await
    }

    /// As [`reply`](Self::reply), with any outbound frame, such as a [`DynamicFrame`](accp_frame::DynamicFrame).
    /// This sets the chain of the frame.
    ///
    /// # Errors
    /// See [`reply`](Self::reply).
    pub async fn reply_with(self, outbound: Outbound<'static>) -> Result<(), Error> {
        self.reply_kept(outbound).await.map(drop)
    }

    /// As [`reply_with`](Self::reply_with). The returned [`Replied`] waits until the hub has accepted the reply.
    ///
    /// # Errors
    /// See [`reply`](Self::reply).
    pub async fn reply_kept(self, outbound: Outbound<'static>) -> Result<Replied, Error> {
        let (done, answer) = oneshot::channel();
        self.ticket.mark(Some(Reply::Frame(outbound)), Some(done))?;
        let kept = answer.await.unwrap_or_else(|_| Err(Error::ended()))?;
        Ok(Replied { kept })
    }

    /// Marks the frame as handled, without an answer. The mark is sent at once, and the returned future ends when
    /// the mark is in the store: a program that is killed after that does not get the frame again. The result of
    /// the handler then changes nothing, but a request for its agent alone still gets `end` if the agent has not
    /// answered when the handler ends.
    ///
    /// ```
    /// use accp_client::Hub;
    /// use accp_runtime::profiles::ChatReq;
    /// use accp_store::MemoryStore;
    ///
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let (guest, cook) = (hub.agent("guest")?, hub.agent("cook")?);
    /// let (read, mut known) = tokio::sync::mpsc::unbounded_channel();
    /// cook.serve(move |_: ChatReq, cx| {
    ///     let read = read.clone();
    ///     async move {
    ///         cx.handled().await?;
    ///         let _ = read.send(());
    ///         Ok::<(), accp_client::Error>(())
    ///     }
    /// });
    /// guest.send(ChatReq::new("The bread is here.")).await?;
    /// assert_eq!(known.recv().await, Some(()));
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Input`] with E5001 when the handler has ended before: its end has marked the frame. [`Error::Ended`].
    pub fn handled(self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let (done, kept) = oneshot::channel();
        self.ticket.is_handled.store(true, Ordering::Release);
        let marked = self.ticket.mark(None, Some(done));
        async move {
            marked?;
            let kept = kept.await.unwrap_or_else(|_| Err(Error::ended()));
            kept.map(drop)
        }
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
            is_handled: AtomicBool::new(false),
        });
        let cx = Cx {
            ticket: Arc::clone(&ticket),
        };
        (ticket, cx)
    }

    /// Reports that a handler has ended, with this result.
    pub(crate) fn ends(&self, result: Result<(), Box<dyn StdError + Send + Sync>>) {
        let fault = |error: Box<dyn StdError + Send + Sync>| failure(&*error);
        if result.is_ok() && self.is_handled.load(Ordering::Acquire) {
            return self.tell(None, None, true);
        }
        // If the frame is marked already, the result of the handler changes nothing.
        let _ = self.mark(result.err().map(fault), None);
    }

    /// Marks the frame, once.
    ///
    /// # Errors
    /// E5001 if the frame is marked already. A [`Cx`] marks at most once, so its handler has ended.
    fn mark(&self, reply: Option<Reply>, done: Option<Done<Kept>>) -> Result<(), Error> {
        if self.is_used.swap(true, Ordering::AcqRel) {
            return Err(InputError::Send(SendError::Refused {
                code: ErrorCode::POLICY_DENIED,
                expected: "a reply or a mark before the handler ends, which marks its frame: \
                           let the handler wait for the task that has its `Cx`"
                    .to_owned(),
            })
            .into());
        }
        self.tell(reply, done, false);
        Ok(())
    }

    fn tell(&self, reply: Option<Reply>, done: Option<Done<Kept>>, was_handled: bool) {
        (self.mark)(Marked {
            inbound: self.inbound.clone(),
            reply,
            was_handled,
            done,
        });
    }
}

/// The options for frames that the session has delivered: their length has no limit here.
pub(crate) const DELIVERED: DecodeOptions = DecodeOptions {
    limits: Limits::NONE,
    marks: true,
};

/// Returns the answer to a frame whose handler has ended with this error. It is E9999, because the handler is at fault,
/// unless the agent cannot read the frame.
fn failure(error: &(dyn StdError + Send + Sync + 'static)) -> Reply {
    let text = error.to_string();
    let read = error.downcast_ref::<DecodeError>().map(DecodeError::code);
    let refused = || match error.downcast_ref::<Error>()? {
        Error::Answer(_, error) => Some(error.code()),
        _ => None,
    };
    let is_unread = matches!(
        read.or_else(refused),
        Some(ErrorCode::UNKNOWN_SCHEMA | ErrorCode::INVALID_TYPE)
    );
    if is_unread || text == PANICKED {
        Reply::Unread(ErrorCode::INTERNAL_ERROR, text)
    } else {
        Reply::Error(ErrorCode::INTERNAL_ERROR, text)
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("inbound", self.inbound())
            .finish_non_exhaustive()
    }
}
