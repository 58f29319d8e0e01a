//! The host of a session in this process.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use accp_runtime::session::{MemberId, Options, Rules, Scope};
use accp_runtime::{AgentId, Registry};
use accp_store::{AsyncDriver, Committer, Store};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender, WeakUnboundedSender};
use tokio::sync::oneshot;

use crate::clock::now;
use crate::command::{Command, Wire};
use crate::side::{self, Side};
use crate::{Agent, Error};

/// Frames between two sides that may be under way. What finds no room is sent again.
const UNDER_WAY: usize = 1024;

/// A hub that hosts one session in this process. Clones are the same hub.
///
/// The hub relays and judges, and handles no frames of its own. It stops when the last clone and the
/// last of its agents are dropped.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    committer: Committer,
    host: UnboundedSender<Command>,
    wire: Wire,
    /// Opens agents one after the other, so that the last of one name stays.
    opener: UnboundedSender<Opening>,
}

/// An agent that is to be opened.
struct Opening {
    agent: AgentId<'static>,
    commands: UnboundedReceiver<Command>,
    own: WeakUnboundedSender<Command>,
    shared: Arc<Shared>,
}

impl Hub {
    /// Opens a session with the standard profiles: loads it from the store, or begins it.
    ///
    /// # Errors
    /// [`Error::Ended`] when the store fails.
    ///
    /// # Panics
    /// Outside of a runtime of tokio, or in one without its timer.
    pub async fn open(
        session: impl Into<String>,
        store: impl Store + Send + 'static,
    ) -> Result<Self, Error> {
        let name = AgentId::new("hub").map_err(|error| Error::Name("hub".to_owned(), error))?;
        let options = Options::new(session, name, Arc::new(Registry::standard()));
        Self::open_with(options, store).await
    }

    /// Opens a session with these options: a registry of your own, say, or a token counter.
    ///
    /// # Errors
    /// [`Error::Ended`] when the store fails.
    ///
    /// # Panics
    /// Outside of a runtime of tokio, or in one without its timer.
    pub async fn open_with(
        mut options: Options,
        store: impl Store + Send + 'static,
    ) -> Result<Self, Error> {
        tokio::time::sleep(Duration::ZERO).await;
        let committer = Committer::new(store).map_err(|error| Error::Ended(error.to_string()))?;
        options.handles = false;
        let rules = Rules {
            scope: Scope::Sender,
            ..Rules::default()
        };
        let driver =
            AsyncDriver::open_host(&committer, Vec::new(), options.clone(), rules, now()).await?;
        let (host, commands) = mpsc::unbounded_channel();
        let (wire, frames) = mpsc::channel(UNDER_WAY);
        let side = Side::new(driver, MemberId::HOST, commands, host.downgrade(), frames);
        tokio::spawn(side.run());
        let (opener, mut openings) = mpsc::unbounded_channel::<Opening>();
        tokio::spawn(async move {
            while let Some(opening) = openings.recv().await {
                opening.open().await;
            }
        });
        options.handles = true;
        Ok(Self {
            shared: Arc::new(Shared {
                options,
                committer,
                host,
                wire,
                opener,
            }),
        })
    }

    /// Lets an agent into the session, or back into it. An agent that was opened before under this
    /// name ends.
    ///
    /// The agent opens in the background: a store that fails shows in its first call.
    ///
    /// # Errors
    /// [`Error::Name`].
    pub fn agent(&self, name: &str) -> Result<Agent, Error> {
        let id = AgentId::new(name.to_owned());
        let id = id.map_err(|error| Error::Name(name.to_owned(), error))?;
        let (handle, commands) = mpsc::unbounded_channel();
        let own = handle.downgrade();
        let opening = Opening {
            agent: id.clone(),
            commands,
            own,
            shared: Arc::clone(&self.shared),
        };
        self.shared
            .opener
            .send(opening)
            .map_err(|_| Error::ended())?;
        Ok(Agent::new(id, handle, self.shared.host.clone()))
    }
}

impl Opening {
    async fn open(self) {
        let Self {
            agent,
            commands,
            own,
            shared,
        } = self;
        let (wire, frames) = mpsc::channel(UNDER_WAY);
        match shared.open(agent, wire).await {
            Ok((driver, me)) => {
                let side = Side::new(driver, me, commands, own, frames);
                let side = side.with_peer(MemberId::HOST, shared.wire.clone());
                tokio::spawn(side.run());
            }
            Err(error) => drop(tokio::spawn(side::ends(commands, error))),
        }
    }
}

impl Shared {
    /// Opens the side of an agent.
    async fn open(
        &self,
        agent: AgentId<'static>,
        wire: Wire,
    ) -> Result<(AsyncDriver<Vec<accp_runtime::session::Transmit>>, MemberId), Error> {
        let (number, joined) = oneshot::channel();
        let join = Command::Join {
            agent: agent.clone(),
            wire,
            number,
        };
        self.host.send(join).map_err(|_| Error::ended())?;
        let me = joined.await.unwrap_or_else(|_| Err(Error::ended()))?;
        let mut options = self.options.clone();
        options.agent = agent;
        // The host keeps the context of the session.
        options.counter = None;
        // Frames that no handler takes must not keep answers away.
        options.backlog = usize::MAX;
        let driver = AsyncDriver::open_member(&self.committer, Vec::new(), options, now()).await?;
        Ok((driver, me))
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("session", &self.shared.options.session)
            .finish_non_exhaustive()
    }
}
