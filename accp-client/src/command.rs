//! What handles ask of the task of a side, and what sides tell each other.

use std::error::Error as StdError;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::time::Duration;

use accp_runtime::session::{Inbound, MemberId, Router};
use accp_runtime::{AgentId, EncodeFrame, FrameFamily, Intent, IntoOwned};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::Error;
use crate::context::{Cx, Marked};

/// What a handler of any type does with a frame.
pub(crate) type Handling =
    Pin<Box<dyn Future<Output = Result<(), Box<dyn StdError + Send + Sync>>> + Send>>;
/// What is said of a handler that panicked.
pub(crate) const PANICKED: &str = "the handler of the frame panicked";

/// A handler as it is registered: it takes the frame that a router has chosen it for.
pub(crate) type Handlers = Router<Option<Cx>, Handling>;

/// A frame on its way to another side of this process.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) from: MemberId,
    pub(crate) text: String,
}

/// The way to a side. A frame that finds no room is lost, and its sender sends it again.
pub(crate) type Wire = mpsc::Sender<Frame>;

/// What a handle asks of its side.
pub(crate) enum Command {
    Send {
        frame: Box<dyn EncodeFrame + Send>,
        done: oneshot::Sender<Result<(), Error>>,
    },
    Ask {
        frame: Box<dyn EncodeFrame + Send>,
        within: Duration,
        until: Instant,
        answer: oneshot::Sender<Answered>,
    },
    Serve(Box<dyn FnOnce(Handlers) -> Handlers + Send>),
    /// A handler has handled a frame.
    Handled(Marked),
    /// Of a host: an agent of this process joins.
    Join {
        agent: AgentId<'static>,
        wire: Wire,
        number: oneshot::Sender<Result<MemberId, Error>>,
    },
}

/// The frame that answers a question, with its intent.
pub(crate) type Answered = Result<(Inbound, Intent), Error>;

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
            // The task of the side calls the handler, and must outlive it.
            match catch_unwind(AssertUnwindSafe(|| handler(frame, cx))) {
                Ok(handling) => Box::pin(async move { handling.await.map_err(Into::into) }),
                Err(_) => Box::pin(async { Err(PANICKED.into()) }),
            }
        }
        None => Box::pin(async { Ok(()) }),
    })
}

/// Answers what a handle asks of a side that has ended.
pub(crate) fn refuse(command: Command, ended: Error) {
    match command {
        Command::Send { done, .. } => drop(done.send(Err(ended))),
        Command::Ask { answer, .. } => drop(answer.send(Err(ended))),
        Command::Join { number, .. } => drop(number.send(Err(ended))),
        Command::Handled(marked) => drop(marked.done.map(|done| done.send(Err(ended)))),
        Command::Serve(_) => {}
    }
}
