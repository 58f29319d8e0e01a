//! The host of a session in this process.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use accp_runtime::session::{MemberId, Options, Posted, Rules, Scope, Session, Transmit};
use accp_runtime::{AgentId, Registry, Value};
use accp_session::Supplied;
use accp_store::{AsyncDriver, Committer, Match, SideId, Store};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::oneshot;

use crate::agent::Agent;
use crate::clock::now;
use crate::command::Command;
use crate::error::Error;
use crate::frames::Frames;
use crate::handle::{End, Handle};
use crate::link::Link;
use crate::side::{self, Side};
use crate::wire::{Frame, Wire, wire};

/// A hub that hosts one session in this process. Clones are the same hub.
///
/// The hub relays and judges, and handles no frames of its own. It stops when the last clone and the
/// last of its agents and links are dropped.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    committer: Committer,
    host: Arc<Handle>,
    wire: Wire,
    /// Opens agents one after the other, so that the last of one name stays.
    opener: UnboundedSender<Opening>,
}

/// An agent that is to be opened.
struct Opening {
    own: Weak<Handle>,
    agent: AgentId<'static>,
    end: End,
    frames: mpsc::Receiver<Frame>,
    /// The number that the host gives the agent.
    joined: oneshot::Receiver<Result<MemberId, Error>>,
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
        let options = Options::new(session, agent_id("hub")?, Arc::new(Registry::standard()));
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
        options: Options,
        store: impl Store + Send + 'static,
    ) -> Result<Self, Error> {
        let committer = Committer::new(store).map_err(|error| Error::Ended(error.to_string()))?;
        let rules = Rules {
            scope: Scope::Sender,
            ..Rules::default()
        };
        Self::open_on(&committer, options, rules).await
    }

    /// Opens a session on a store that several sessions share. Its hub is [`Options::agent`].
    ///
    /// # Errors
    /// [`Error::Ended`] when the store fails.
    ///
    /// # Panics
    /// Outside of a runtime of tokio, or in one without its timer.
    pub async fn open_on(
        committer: &Committer,
        mut options: Options,
        rules: Rules,
    ) -> Result<Self, Error> {
        tokio::time::sleep(Duration::ZERO).await;
        options.handles = false;
        let driver =
            AsyncDriver::open_host(committer, Vec::new(), options.clone(), rules, now()).await?;
        let (host, end) = Handle::new(committer, driver.side().clone(), None);
        let (wire, frames) = wire();
        tokio::spawn(Side::new(driver, MemberId::HOST, end, frames).run());
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
                committer: committer.clone(),
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
        let agent = agent_id(name)?;
        let side = SideId::new(&self.shared.options.session, name);
        let keeps: Arc<dyn Any + Send + Sync> = self.shared.clone();
        let (handle, end) = Handle::new(&self.shared.committer, side, Some(keeps));
        // The agent is in the session before anybody sends the next frame.
        let ((wire, frames), (number, joined)) = (wire(), oneshot::channel());
        self.shared.host.tell(Command::Join {
            agent: agent.clone(),
            wire,
            number,
        })?;
        let opening = Opening {
            own: Arc::downgrade(&handle),
            agent,
            end,
            frames,
            joined,
            shared: Arc::clone(&self.shared),
        };
        let sent = self.shared.opener.send(opening);
        sent.map_err(|_| Error::ended())?;
        Ok(Agent::of(handle))
    }

    /// Lets an agent into the session that is elsewhere, and returns the link on which its frames come
    /// and go.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Input`] when the agent cannot join, [`Error::Ended`].
    pub async fn link(&self, name: &str) -> Result<Link, Error> {
        let (wire, down) = wire();
        let own = wire.number;
        let agent = agent_id(name)?;
        let join = |number| Command::Join {
            agent,
            wire,
            number,
        };
        let member = self.shared.host.call(join).await?;
        Ok(Link {
            member,
            up: self.shared.wire.clone(),
            down,
            own,
            host: Arc::clone(&self.shared.host),
            _hub: self.shared.clone(),
        })
    }

    /// Takes one frame that an agent has sent without a link, and returns what is to be said about it,
    /// once it is durable. See [`Session::post`].
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Input`] when the agent cannot join, [`Error::Ended`].
    pub async fn post(&self, name: &str, frame: Vec<u8>) -> Result<Posted, Error> {
        let agent = agent_id(name)?;
        let post = |done| Command::Post {
            agent,
            text: frame,
            done,
        };
        self.shared.host.call(post).await
    }

    /// Takes the bytes of a value that an agent has announced by `sync:put`, without a link, and returns
    /// what became of them once that is durable. See [`Session::supply`].
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Ended`].
    pub async fn supply(&self, name: &str, key: &str, bytes: Vec<u8>) -> Result<Supplied, Error> {
        let (agent, key) = (agent_id(name)?, key.to_owned());
        let supply = |done| Command::Supply {
            agent,
            key,
            bytes,
            done,
        };
        self.shared.host.call(supply).await
    }

    /// Returns the name of the session.
    pub fn session(&self) -> &str {
        &self.shared.options.session
    }

    /// Returns the log of the session from a position on, the first being 1, and then what comes.
    pub fn frames(&self, from: u64) -> Frames {
        self.shared.host.log.from(from)
    }

    /// Returns the registry of the session: the schemas by which its frames are read now.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn registry(&self) -> Result<Arc<Registry>, Error> {
        self.shared.host.registry().await
    }

    /// Calls `look` with the session, and returns its answer.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.shared.host.look(look).await
    }

    /// Reads what a reference names: see [`Agent::expand`].
    ///
    /// # Errors
    /// See [`Agent::expand`].
    pub async fn expand(&self, reference: &str) -> Result<Value<'static>, Error> {
        self.shared.host.expand(reference).await
    }

    /// Looks for words in the frames that have left the context: see [`Agent::search`].
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn search(&self, words: &str, limit: usize) -> Result<Vec<Match>, Error> {
        self.shared.host.search(words, limit).await
    }

    /// Returns whether the hub has ended, because its store failed or another program has opened the
    /// session. Everything asked of it is [`Error::Ended`]; open it anew.
    pub fn has_ended(&self) -> bool {
        self.shared.host.has_ended()
    }

    /// Ends the hub for this reason, with its agents and links: another process hosts the session from now
    /// on, say.
    pub fn end(&self, why: impl Into<String>) {
        let _ = self.shared.host.tell(Command::End(why.into()));
    }

    /// Returns how many handles the hub has: this one, its clones, its agents and its links.
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.shared)
    }
}

impl Opening {
    async fn open(self) {
        let Self {
            own,
            agent,
            end,
            frames,
            joined,
            shared,
        } = self;
        match shared.open(agent, joined).await {
            Ok((driver, me)) => {
                let side = Side::new(driver, me, end, frames).of(own, shared.wire.clone());
                tokio::spawn(side.run());
            }
            Err(error) => drop(tokio::spawn(side::ends(end, error))),
        }
    }
}

impl Shared {
    /// Opens the side of an agent.
    async fn open(
        &self,
        agent: AgentId<'static>,
        joined: oneshot::Receiver<Result<MemberId, Error>>,
    ) -> Result<(AsyncDriver<Vec<Transmit>>, MemberId), Error> {
        let me = joined.await.unwrap_or_else(|_| Err(Error::ended()))?;
        let options = side::member(self.options.clone(), agent);
        let driver = AsyncDriver::open_member(&self.committer, Vec::new(), options, now()).await?;
        Ok((driver, me))
    }
}

/// Reads the name of an agent.
pub(crate) fn agent_id(name: &str) -> Result<AgentId<'static>, Error> {
    let agent = AgentId::new(name.to_owned());
    agent.map_err(|error| Error::Name(name.to_owned(), error))
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("session", &self.shared.options.session)
            .finish_non_exhaustive()
    }
}
