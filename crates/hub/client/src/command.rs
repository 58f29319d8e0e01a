//! The commands of handles, and of other sides, to the task of a side.

use std::any::Any;
use std::error::Error as StdError;
use std::future::Future;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Weak};

use accp_context::Checkpoint;
use accp_frame::{AgentId, ErrorCode, FrameFamily, Intent, IntoOwned, Registry, Value};
use accp_session::{Inbound, MemberId, Mid, Outbound, Posted, Router, Session, Supplied};
use accp_store::Match;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};

use crate::claim::Claim;
use crate::context::{Cx, Marked, PANICKED};
use crate::deadline::Deadline;
use crate::error::{Done, Error};
use crate::sent::Sent;
use crate::wire::Wire;

/// The future of a handler.
pub(crate) type HandlerFuture =
    Pin<Box<dyn Future<Output = Result<(), Box<dyn StdError + Send + Sync>>> + Send>>;

/// The handlers of an agent. The router chooses one for each frame.
pub(crate) type Handlers = Router<Option<Cx>, HandlerFuture>;

/// A function that looks at the session. If the side has ended, it gets the error instead.
pub(crate) type Look = Box<dyn FnOnce(Result<&Session, Error>) + Send>;

/// A command of a handle to its side.
pub(crate) enum Command {
    Send(Posting),
    Ask(Asking),
    /// The asker of the question with this number no longer waits: its chain is to be cancelled.
    Abandon(u64),
    /// The asker of the question with this number no longer waits, but its chain goes on.
    Leave(u64),
    /// The asker has taken the answer at this position, or has left without it: then a handler gets the answer.
    Taken {
        position: u64,
        is_taken: bool,
    },
    Serve(Box<dyn FnOnce(Handlers) -> Handlers + Send>),
    /// A handler has handled a frame.
    Handled(Marked),
    /// Looks at the session.
    Look(Look),
    /// Reads the value that a reference names.
    Read {
        key: String,
        done: Done<Value<'static>>,
    },
    Search {
        words: String,
        limit: usize,
        done: Done<Vec<Match>>,
    },
    /// Of a host: an agent in this process opens. `own` is the handle of the agent. `last` tells followers of the
    /// log how far it is durable.
    Open {
        agent: AgentId<'static>,
        own: Weak<dyn Any + Send + Sync>,
        last: watch::Sender<u64>,
    },
    /// Of a host: the last handle of an agent in this process is gone.
    Close,
    /// Of a host: an agent joins, and is reached on this wire.
    Join {
        agent: AgentId<'static>,
        wire: Wire,
        number: Done<MemberId>,
    },
    /// Of a host: this wire to a member has ended.
    Unlink {
        member: MemberId,
        wire: u64,
    },
    /// Of a host: an agent has sent this frame without a link. An agent that is not in the session joins, unless the
    /// host refuses the frame.
    Post {
        agent: AgentId<'static>,
        text: Vec<u8>,
        done: Done<Posted>,
    },
    /// Of a host: judges the frame with which an agent in this process would join. The agent does not join.
    Check {
        agent: AgentId<'static>,
        first: Outbound<'static>,
        done: Done<()>,
    },
    /// Of a host: an agent has sent the bytes of a value without a link.
    Supply {
        agent: AgentId<'static>,
        key: String,
        bytes: Vec<u8>,
        done: Done<Supplied>,
    },
    /// Of a host: a phase of the work is over.
    Phase(Done<Option<Box<Checkpoint>>>),
    /// Of a host: an agent is taken out of the session.
    Remove {
        agent: AgentId<'static>,
        done: Done<bool>,
    },
    /// Of a host: registers more schemas.
    Register {
        schemas: Box<Registry>,
        done: Done<()>,
    },
    /// Of a host whose store is an old copy: gets the lost entries from the member that has them. Answered with the
    /// positions of these entries.
    Recover(Done<RangeInclusive<u64>>),
    /// Of a host: gives the log a new identity, and so goes on without the entries that an old copy of the store
    /// lacks.
    Fork(Done<()>),
    /// Of a host: ping a member.
    Ping(MemberId),
    /// Of a member: the link to the host was made again.
    Connected,
    /// Of a member: answers when the member is in the session and has its state.
    Joined(Done<()>),
    /// The agent, or the side with all of its agents, gets no more frames, and ends once its work is done.
    Drain {
        /// True if the agent leaves its session, too.
        leaves: bool,
        done: Done<()>,
    },
    /// The side ends, for this reason.
    End(String),
}

/// A frame on its way.
pub(crate) struct Posting {
    pub(crate) outbound: Outbound<'static>,
    /// Answered when the frame is durable here. A frame that waits is not sent if the receiver is gone.
    pub(crate) queued: Option<Done<Mid>>,
    /// Decides whether the session takes the frame or its sender gives it up.
    pub(crate) claim: Arc<Claim>,
    /// Answered when the host has accepted the frame.
    pub(crate) fate: Option<Done<Sent>>,
}

impl Posting {
    /// A frame whose fate nobody waits for.
    pub(crate) fn unwatched(outbound: Outbound<'static>) -> Self {
        Self {
            outbound,
            queued: None,
            claim: Arc::default(),
            fate: None,
        }
    }

    /// Returns whether nobody waits any more for the frame to be sent.
    pub(crate) fn is_given_up(&self) -> bool {
        self.queued.as_ref().is_some_and(Done::is_closed)
    }

    /// Answers the sender that the frame is not sent.
    pub(crate) fn fails(self, error: Error) {
        if let Some(queued) = self.queued {
            let _ = queued.send(Err(error));
        }
    }
}

/// A question on its way.
pub(crate) struct Asking {
    pub(crate) outbound: Outbound<'static>,
    pub(crate) number: u64,
    pub(crate) deadline: Deadline,
    /// True if its chain is cancelled when nobody waits any more.
    pub(crate) cancels: bool,
    /// Answered when the host has accepted the question.
    pub(crate) fate: Option<Done<Sent>>,
    pub(crate) answer: oneshot::Sender<Answered>,
    /// Gets the pieces of a stream that come before the answer.
    pub(crate) pieces: Option<UnboundedSender<Inbound>>,
}

/// The frame that answers a question, with its intent. A failure has the code that its schema names, if it names one.
pub(crate) type Answered = Result<(Inbound, Intent, Option<ErrorCode>), Error>;

/// Registers a handler of the frames of type `F`.
pub(crate) fn on<F, H, R, E>(handlers: Handlers, handler: H) -> Handlers
where
    F: FrameFamily + Send + 'static,
    for<'a> F::Frame<'a>: IntoOwned<Owned = F>,
    H: Fn(F, Cx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<Box<dyn StdError + Send + Sync>> + 'static,
{
    handlers.on::<F>(move |cx, typed, _| match cx.take() {
        Some(cx) => {
            let frame = typed.frame.into_owned();
            handling(|| handler(frame, cx))
        }
        None => Box::pin(async { Ok(()) }),
    })
}

/// Registers a handler of all other frames.
pub(crate) fn otherwise<H, R, E>(handlers: Handlers, handler: H) -> Handlers
where
    H: Fn(Cx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<Box<dyn StdError + Send + Sync>> + 'static,
{
    handlers.otherwise(move |cx, _| match cx.take() {
        Some(cx) => handling(|| handler(cx)),
        None => Box::pin(async { Ok(()) }),
    })
}

/// Calls a handler. A panic of the handler must not end the task of the side, which makes this call.
fn handling<R, E>(call: impl FnOnce() -> R) -> HandlerFuture
where
    R: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<Box<dyn StdError + Send + Sync>> + 'static,
{
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(handling) => Box::pin(async move { handling.await.map_err(Into::into) }),
        Err(_) => Box::pin(async { Err(PANICKED.into()) }),
    }
}

/// Answers a command to a side that has ended.
pub(crate) fn refuse(command: Command, ended: Error) {
    match command {
        Command::Send(posting) => posting.fails(ended),
        Command::Ask(asking) => drop(asking.answer.send(Err(ended))),
        Command::Join { number, .. } => drop(number.send(Err(ended))),
        Command::Post { done, .. } => drop(done.send(Err(ended))),
        Command::Supply { done, .. } => drop(done.send(Err(ended))),
        Command::Read { done, .. } => drop(done.send(Err(ended))),
        Command::Search { done, .. } => drop(done.send(Err(ended))),
        Command::Check { done, .. } | Command::Joined(done) | Command::Drain { done, .. } => {
            drop(done.send(Err(ended)));
        }
        Command::Phase(done) => drop(done.send(Err(ended))),
        Command::Register { done, .. } | Command::Fork(done) => drop(done.send(Err(ended))),
        Command::Recover(done) => drop(done.send(Err(ended))),
        Command::Remove { done, .. } => drop(done.send(Err(ended))),
        Command::Look(look) => look(Err(ended)),
        Command::Handled(marked) => drop(marked.done.map(|done| done.send(Err(ended)))),
        Command::Serve(_)
        | Command::Open { .. }
        | Command::Close
        | Command::Abandon(_)
        | Command::Leave(_)
        | Command::Taken { .. }
        | Command::Unlink { .. }
        | Command::Ping(_)
        | Command::Connected
        | Command::End(_) => {}
    }
}
