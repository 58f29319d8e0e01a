//! The handle of an agent or a host, which sends commands to the task of its side.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use accp_frame::{AgentId, Registry, Value};
use accp_session::{ReadError, Session};
use accp_store::{Committer, Match, SideId};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, watch};

use crate::command::Command;
use crate::error::{Done, Error};
use crate::frames::Log;

/// How long a read waits for the bytes of a value.
const SUPPLY: Duration = Duration::from_secs(30);

/// How long the close of an agent waits for its work.
const CLOSE: Duration = Duration::from_secs(60);

/// The number of a side's own handles. Each guest of a host has a number of its own.
pub(crate) const SIDE: u64 = 0;

pub(crate) struct Handle {
    name: Box<str>,
    side: UnboundedSender<(u64, Command)>,
    /// The number of the agent on its side.
    number: u64,
    pub(crate) log: Log,
    /// The host of this process. It ends when no handle of its agents is left.
    _keeps: Option<Arc<dyn Any + Send + Sync>>,
}

/// The other end of a handle, for the task of the side.
pub(crate) struct End {
    /// Commands, each with the number of the handle.
    pub(crate) commands: UnboundedReceiver<(u64, Command)>,
    pub(crate) last: watch::Sender<u64>,
}

impl Handle {
    pub(crate) fn new(committer: &Committer, side: SideId) -> (Arc<Self>, End) {
        let (sender, commands) = mpsc::unbounded_channel();
        let (last, watched) = watch::channel(0);
        let handle = Arc::new(Self {
            name: side.agent().into(),
            side: sender,
            number: SIDE,
            log: Log {
                committer: committer.clone(),
                side: Arc::new(side),
                last: watched,
            },
            _keeps: None,
        });
        (handle, End { commands, last })
    }

    /// Opens an agent that lives in the process of this host. `keeps` lives as long as the agent.
    pub(crate) fn open(
        &self,
        agent: AgentId<'static>,
        keeps: Arc<dyn Any + Send + Sync>,
    ) -> Result<Arc<Self>, Error> {
        static NUMBERS: AtomicU64 = AtomicU64::new(SIDE + 1);
        let (last, watched) = watch::channel(*self.log.last.borrow());
        let handle = Arc::new(Self {
            name: agent.as_str().into(),
            side: self.side.clone(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            log: Log {
                last: watched,
                ..self.log.clone()
            },
            _keeps: Some(keeps),
        });
        let own = Arc::downgrade(&handle) as _;
        handle.tell(Command::Open { agent, own, last })?;
        Ok(handle)
    }

    /// Returns the name of the agent.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn tell(&self, command: Command) -> Result<(), Error> {
        let sent = self.side.send((self.number, command));
        sent.map_err(|_| Error::ended())
    }

    /// Returns whether the side, or the agent of this handle, has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.log.last.has_changed().is_err()
    }

    pub(crate) async fn call<T>(
        &self,
        command: impl FnOnce(Done<T>) -> Command,
    ) -> Result<T, Error> {
        let (done, answer) = oneshot::channel();
        self.tell(command(done))?;
        answer.await.unwrap_or_else(|_| Err(Error::ended()))
    }

    /// Closes the agent, or the side with all of its agents, and waits until all running work is done.
    pub(crate) async fn close(&self) -> Result<(), Error> {
        self.drain(false).await
    }

    /// As [`close`](Self::close), and takes the agent out of its session.
    pub(crate) async fn leave(&self) -> Result<(), Error> {
        self.drain(true).await
    }

    async fn drain(&self, leaves: bool) -> Result<(), Error> {
        let drain = self.call(|done| Command::Drain { leaves, done });
        let drained = tokio::time::timeout(CLOSE, drain).await;
        drained.unwrap_or(Err(Error::Unsent(CLOSE)))
    }

    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (done, answer) = oneshot::channel();
        self.tell(Command::Look(Box::new(|session| {
            let _ = done.send(session.map(look));
        })))?;
        answer.await.unwrap_or_else(|_| Err(Error::ended()))
    }

    pub(crate) async fn registry(&self) -> Result<Arc<Registry>, Error> {
        self.look(|session| Arc::clone(&session.options().registry))
            .await
    }

    pub(crate) async fn expand(&self, reference: &str) -> Result<Value<'static>, Error> {
        let key = reference.strip_prefix('$').unwrap_or(reference).to_owned();
        let reads = self.call(|done| Command::Read {
            key: key.clone(),
            done,
        });
        // The agent that announced the value may never send it, so the wait has a limit.
        let read = tokio::time::timeout(SUPPLY, reads).await;
        read.unwrap_or(Err(Error::Reference(key, ReadError::Unavailable)))
    }

    pub(crate) async fn search(&self, words: &str, limit: usize) -> Result<Vec<Match>, Error> {
        let words = words.to_owned();
        self.call(|done| Command::Search { words, limit, done })
            .await
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.number != SIDE {
            // `tell` fails only if the host has ended. Then its agents have ended, too.
            let _ = self.tell(Command::Close);
        }
    }
}
