//! The handle of a side: what agents and hubs ask of its task.

use std::any::Any;
use std::sync::Arc;

use accp_runtime::session::Session;
use accp_runtime::{Registry, Value};
use accp_store::{Committer, Match, SideId};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, watch};

use crate::command::Command;
use crate::error::{Done, Error};
use crate::frames::Log;

pub(crate) struct Handle {
    side: UnboundedSender<Command>,
    pub(crate) log: Log,
    /// What lives at least as long as this handle: the host of this process, for its agents.
    _keeps: Option<Arc<dyn Any + Send + Sync>>,
}

/// The other end of a handle, for the task of the side.
pub(crate) struct End {
    pub(crate) commands: UnboundedReceiver<Command>,
    pub(crate) last: watch::Sender<u64>,
}

impl Handle {
    pub(crate) fn new(
        committer: &Committer,
        side: SideId,
        keeps: Option<Arc<dyn Any + Send + Sync>>,
    ) -> (Arc<Self>, End) {
        let (sender, commands) = mpsc::unbounded_channel();
        let (last, watched) = watch::channel(0);
        let log = Log {
            committer: committer.clone(),
            side: Arc::new(side),
            last: watched,
        };
        let handle = Arc::new(Self {
            side: sender,
            log,
            _keeps: keeps,
        });
        (handle, End { commands, last })
    }

    /// Returns the way to the side, for what outlives the last handle.
    pub(crate) fn side(&self) -> &UnboundedSender<Command> {
        &self.side
    }

    pub(crate) fn tell(&self, command: Command) -> Result<(), Error> {
        self.side.send(command).map_err(|_| Error::ended())
    }

    /// Returns whether the side has ended.
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

    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (done, answer) = oneshot::channel();
        self.tell(Command::Look(Box::new(|session| {
            let _ = done.send(look(session));
        })))?;
        answer.await.map_err(|_| Error::ended())
    }

    pub(crate) async fn registry(&self) -> Result<Arc<Registry>, Error> {
        self.look(|session| Arc::clone(&session.options().registry))
            .await
    }

    pub(crate) async fn expand(&self, reference: &str) -> Result<Value<'static>, Error> {
        let key = reference.strip_prefix('$').unwrap_or(reference).to_owned();
        self.call(|done| Command::Read { key, done }).await
    }

    pub(crate) async fn search(&self, words: &str, limit: usize) -> Result<Vec<Match>, Error> {
        let words = words.to_owned();
        self.call(|done| Command::Search { words, limit, done })
            .await
    }
}
