//! An agent of a session.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use accp_runtime::profiles::ErrorFail;
use accp_runtime::session::Inbound;
use accp_runtime::{AgentId, EncodeFrame, FrameFamily, Intent, IntoOwned};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::command::{self, Command};
use crate::{Cx, Error};

/// The time for which [`Agent::ask`] waits.
const PATIENCE: Duration = Duration::from_secs(60);
/// A time that nobody waits for.
const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);

/// An agent of a session. Clones are the same agent.
///
/// When the last clone is dropped, the agent stops. What it has sent is durable: it goes out when an
/// agent of this name is there again.
#[derive(Clone)]
pub struct Agent {
    name: AgentId<'static>,
    side: UnboundedSender<Command>,
    /// The host of the session runs at least as long as its agents.
    _host: UnboundedSender<Command>,
}

impl Agent {
    pub(crate) fn new(
        name: AgentId<'static>,
        side: UnboundedSender<Command>,
        host: UnboundedSender<Command>,
    ) -> Self {
        Self {
            name,
            side,
            _host: host,
        }
    }

    /// Returns the name of the agent.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Sends a frame. When this returns, the frame is durable, and goes out until its fate is known,
    /// also after a restart.
    ///
    /// # Errors
    /// [`Error::Input`] when the session does not take the frame. [`Error::Ended`].
    pub async fn send(&self, frame: impl EncodeFrame + Send + 'static) -> Result<(), Error> {
        let (done, answer) = oneshot::channel();
        let frame = Box::new(frame);
        self.tell(Command::Send { frame, done })?;
        answer.await.unwrap_or_else(|_| Err(Error::ended()))
    }

    /// Sends a frame and waits for the frame that answers it, at most 60 seconds: see
    /// [`ask_within`](Self::ask_within).
    ///
    /// # Errors
    /// See [`ask_within`](Self::ask_within).
    pub async fn ask<A>(&self, frame: impl EncodeFrame + Send + 'static) -> Result<A, Error>
    where
        A: FrameFamily,
        for<'a> A::Frame<'a>: IntoOwned<Owned = A>,
    {
        self.ask_within(frame, PATIENCE).await
    }

    /// Sends a frame and waits for the frame that answers it: `done` or `end` in its chain. The answer
    /// counts as handled. If this future is dropped, or nobody answers in time, the question stands,
    /// and a late answer goes to a handler. A question that this side could not send in time, because it
    /// had not joined yet or its outbox was full, is not sent at all.
    ///
    /// # Errors
    /// [`Error::Failed`] when the answer is `fail`, [`Error::Answer`] when it is another frame than
    /// `A`, [`Error::Timeout`] (E3001), [`Error::Refused`], [`Error::Cancelled`], [`Error::Expired`],
    /// [`Error::Input`] when the session does not take the frame, [`Error::Ended`].
    pub async fn ask_within<A>(
        &self,
        frame: impl EncodeFrame + Send + 'static,
        within: Duration,
    ) -> Result<A, Error>
    where
        A: FrameFamily,
        for<'a> A::Frame<'a>: IntoOwned<Owned = A>,
    {
        let (answer, answered) = oneshot::channel();
        let (frame, now) = (Box::new(frame), Instant::now());
        self.tell(Command::Ask {
            frame,
            within,
            until: now.checked_add(within).unwrap_or(now + FAR),
            answer,
        })?;
        let (inbound, intent) = answered.await.unwrap_or_else(|_| Err(Error::ended()))?;
        if intent == Intent::FAIL {
            return Err(failure(&inbound));
        }
        match inbound.decode::<A::Frame<'_>>() {
            Ok(typed) => Ok(typed.frame.into_owned()),
            Err(error) => Err(Error::Answer(error)),
        }
    }

    /// Hands the frames of type `F` to a handler, those first that wait already. If a frame fits two
    /// handlers, the one that was registered first gets it. Handlers of an agent run beside each
    /// other; 64 frames at a time have one that has not replied. They are called in the order of the
    /// session. Frames that no handler takes wait, in memory.
    ///
    /// A handler may be called again for a frame when the agent was opened again in the middle:
    /// [`Inbound::redelivered`](accp_runtime::session::Inbound::redelivered) says so. A handler that
    /// owns a clone of its own agent keeps that agent and its hub alive.
    pub fn serve<F, H, R, E>(&self, handler: H)
    where
        F: FrameFamily + Send + 'static,
        for<'a> F::Frame<'a>: IntoOwned<Owned = F>,
        H: Fn(F, Cx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Box<dyn StdError + Send + Sync>> + 'static,
    {
        let add = Box::new(move |handlers| command::on(handlers, handler));
        // A side that has ended says so at the next call that can fail.
        let _ = self.tell(Command::Serve(add));
    }

    fn tell(&self, command: Command) -> Result<(), Error> {
        self.side.send(command).map_err(|_| Error::ended())
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Reads what a failure says.
fn failure(inbound: &Inbound) -> Error {
    match inbound.decode::<ErrorFail<'_>>() {
        Ok(told) => Error::Failed {
            code: told.frame.code.parse().ok(),
            message: told.frame.msg.into_owned(),
        },
        Err(_) => Error::Failed {
            code: None,
            message: inbound.text().to_owned(),
        },
    }
}
