//! The host of a session in this process.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use accp_context::Checkpoint;
use accp_frame::{AgentId, Registry, Value};
use accp_session::{MemberId, Options, Outbound, Posted, Rules, Scope, Session, Supplied};
use accp_store::{AsyncDriver, Committer, Match, Store};

use crate::agent::Agent;
use crate::clock::now;
use crate::command::Command;
use crate::error::Error;
use crate::frames::Frames;
use crate::handle::Handle;
use crate::link::Link;
use crate::outside::as_outside;
use crate::side::Side;
use crate::wire::{Wire, wire};

/// A hub that hosts one session in this process. Clones are the same hub.
///
/// The hub checks and relays frames, and has no handlers itself. It stops when the last clone, the last of its
/// agents and the last of its links are dropped.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    session: String,
    host: Arc<Handle>,
    wire: Wire,
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
        let committer = Committer::new(store)?;
        let rules = Rules {
            scope: Scope::Sender,
            ..Rules::default()
        };
        Self::open_on(&committer, options, rules).await
    }

    /// Opens a session on a store that several sessions share. [`Options::agent`] names the hub.
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
        let session = options.session.clone();
        let driver = AsyncDriver::open_host(committer, Vec::new(), options, rules, now()).await?;
        let (host, end) = Handle::new(committer, driver.side().clone());
        let (wire, frames) = wire();
        let side = Side::new(driver, MemberId::HOST, end, frames);
        tokio::spawn(side.hosting(committer.clone()).run());
        Ok(Self {
            shared: Arc::new(Shared {
                session,
                host,
                wire,
            }),
        })
    }

    /// Lets an agent into the session, or back into it. An earlier agent of this name ends.
    ///
    /// The agent lives in the task of the hub and shares its log. The store has one line for the agent, which
    /// says how far the agent has handled the log. This line and the reply of a handler are written in one
    /// commit. The closure of a handler runs in the task of the hub up to its first `await`, so it must not
    /// block.
    ///
    /// # Errors
    /// [`Error::Name`]. If the agent cannot open for another reason, its first call returns the error.
    pub fn agent(&self, name: &str) -> Result<Agent, Error> {
        // The agent opens at once, so it is in the session before the next frame is sent.
        let opened = self.shared.host.open(agent_id(name)?, self.shared.clone());
        Ok(Agent::of(opened?))
    }

    /// Lets an agent of another process into the session, and returns the link that carries its frames both ways.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Input`] when the agent cannot join, [`Error::Ended`].
    pub async fn link(&self, name: &str) -> Result<Link, Error> {
        let (wire, down) = wire();
        let (own, removed) = (wire.number, wire.removed());
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
            removed,
            host: Arc::clone(&self.shared.host),
            _hub: self.shared.clone(),
        })
    }

    /// Judges the first frame of an agent on a link, which has to be a hello, before the agent joins by
    /// [`link`](Self::link). See [`Session::refusal_of_hello`].
    ///
    /// # Errors
    /// [`Error::Refused`] if the session would refuse the hello, [`Error::Ended`].
    pub async fn check_hello(&self, hello: &str) -> Result<(), Error> {
        let hello = hello.to_owned();
        let refusal = self.look(move |session| session.refusal_of_hello(&hello));
        refusal
            .await?
            .map_or(Ok(()), |why| Err(Error::Refused(why)))
    }

    /// Judges the hello with which an agent would begin a session on a link, without beginning the session. See
    /// [`Session::refusal_of_hello`].
    ///
    /// # Errors
    /// [`Error::Refused`] if the session would refuse the hello.
    pub fn check_first_hello(mut options: Options, rules: Rules, hello: &str) -> Result<(), Error> {
        options.handles = false;
        let refusal = Session::host(options, rules, now()).refusal_of_hello(hello);
        refusal.map_or(Ok(()), |why| Err(Error::Refused(why)))
    }

    /// Takes one frame that an agent has sent without a link, and returns the answer to it,
    /// once it is durable. The agent joins with its first frame, unless the session refuses that frame. See
    /// [`Session::post_by`].
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

    /// Judges the frame with which an agent would begin a session by [`post`](Self::post), without beginning the
    /// session. If the session would refuse the frame, returns the refusal, in an envelope that belongs to no session
    /// ([`outside`](crate::outside)). So a caller need not begin a session for a frame that is refused.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Input`] when the agent cannot join.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use accp_client::Hub;
    /// use accp_runtime::session::{Options, Rules};
    /// use accp_runtime::{AgentId, Registry};
    ///
    /// let options = Options::new("lunch", AgentId::new("hub")?, Arc::new(Registry::standard()));
    /// let frame = b"@cook>req:plan{goal:soup}[mid:abc101000001,seq:1,to:waiter]";
    /// let refusal = Hub::refusal_of_first(options, Rules::default(), "cook", frame)?;
    /// assert!(refusal.is_some(), "no waiter has joined");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refusal_of_first(
        mut options: Options,
        rules: Rules,
        name: &str,
        frame: &[u8],
    ) -> Result<Option<Posted>, Error> {
        let agent = agent_id(name)?;
        options.handles = false;
        let posted = Session::host(options, rules, now()).post_by(&agent, frame, now())?;
        let Posted::Refused(text) = posted else {
            return Ok(None);
        };
        let text = as_outside(&text).unwrap_or(text);
        Ok(Some(Posted::Refused(text)))
    }

    /// Judges the frame with which an agent would join by [`agent`](Self::agent), before it joins. See
    /// [`Session::check_first_as`].
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Input`], [`Error::Refused`] and [`Error::Expired`] if the session would refuse the agent
    /// or the frame, [`Error::Ended`].
    pub async fn check_frame(&self, name: &str, first: Outbound<'static>) -> Result<(), Error> {
        let agent = agent_id(name)?;
        let check = |done| Command::Check { agent, first, done };
        self.shared.host.call(check).await
    }

    /// Judges the frame with which an agent would begin a session by [`agent`](Self::agent), without beginning the
    /// session. See [`Session::check_first_as`].
    ///
    /// # Errors
    /// As [`check_frame`](Self::check_frame).
    pub fn check_first_frame(
        mut options: Options,
        rules: Rules,
        name: &str,
        first: &Outbound<'_>,
    ) -> Result<(), Error> {
        let agent = agent_id(name)?;
        options.handles = false;
        let mut session = Session::host(options, rules, now());
        let checked = session.check_first_as(&agent, first, now());
        checked.map_err(Error::of_input)
    }

    /// Takes the bytes of a value that an agent has announced by `sync:put`, without a link. Returns the result
    /// once it is durable. See [`Session::supply`].
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

    /// Says that a phase of the work is over, so a checkpoint is due (draft section 5.2, item 4). Returns the
    /// checkpoint once it is durable, and `None` where the session counts no tokens or a hook objects.
    ///
    /// # Errors
    /// [`Error::Input`] while the session cannot go on, [`Error::Ended`].
    ///
    /// ```
    /// # use accp_client::Hub;
    /// # use accp_store::MemoryStore;
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// assert!(hub.phase().await?.is_none(), "this session counts no tokens");
    /// # Ok::<(), accp_client::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn phase(&self) -> Result<Option<Box<Checkpoint>>, Error> {
        self.shared.host.call(Command::Phase).await
    }

    /// Removes an agent from the session, because the agent will not come back. Returns whether the agent was in the
    /// session. The hub gives the requests that the agent has not answered to other agents that take such requests,
    /// marked as redelivered. If the agent does come back, its next [`Agent::connect`] or [`Hub::agent`] lets it in
    /// again.
    ///
    /// # Errors
    /// [`Error::Name`] for a name that no agent can have, [`Error::Ended`].
    ///
    /// ```
    /// # use accp_client::Hub;
    /// # use accp_store::MemoryStore;
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let cook = hub.agent("cook")?;
    /// cook.joined().await?;
    /// assert!(hub.remove("cook").await?);
    /// assert!(!hub.remove("cook").await?);
    /// # Ok::<(), accp_client::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn remove(&self, agent: &str) -> Result<bool, Error> {
        let agent = agent_id(agent)?;
        self.shared
            .host
            .call(|done| Command::Remove { agent, done })
            .await
    }

    /// Gets lost entries back from the member that has them, if the store of the hub is an older copy
    /// ([`Event::RolledBack`](accp_session::Event::RolledBack)). Such a session has stopped, and goes on once the
    /// entries are back. Returns their positions.
    ///
    /// # Errors
    /// [`Error::Input`] if the store lacks nothing, if no such member is here, or if only a [fork](Self::fork) helps;
    /// [`Error::Ended`].
    ///
    /// ```
    /// # use accp_client::Hub;
    /// # use accp_store::MemoryStore;
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let error = hub.recover().await.unwrap_err();
    /// assert!(error.to_string().contains("this host has lost no entries"));
    /// # Ok::<(), accp_client::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn recover(&self) -> Result<RangeInclusive<u64>, Error> {
        self.shared.host.call(Command::Recover).await
    }

    /// Gives the log a new identity. If the store is an older copy, the session goes on without the entries that the
    /// copy lacks. The hub removes the members that have these entries; their sides have to be opened anew.
    ///
    /// # Errors
    /// [`Error::Input`], [`Error::Ended`].
    ///
    /// ```
    /// # use accp_client::Hub;
    /// # use accp_store::MemoryStore;
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// hub.fork().await?;
    /// # Ok::<(), accp_client::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn fork(&self) -> Result<(), Error> {
        self.shared.host.call(Command::Fork).await
    }

    /// Registers the schemas of a registry while the session runs, all of them or none (`RegisterSchema`, draft
    /// section 7.1). Members learn the new schemas, and the hash of the registry changes. Schemas that are in
    /// force already stay as they are.
    ///
    /// # Errors
    /// [`Error::Input`] with the problems when one of them clashes with a schema in force, or when all schemas together
    /// take so many bytes that no member could fetch them; [`Error::Ended`].
    ///
    /// ```
    /// # use accp_client::Hub;
    /// # use accp_runtime::Registry;
    /// # use accp_store::MemoryStore;
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let more = r#"{ "schemas": { "soup": { "code": "SOUP", "fields": ["name"] } } }"#;
    /// hub.register(Registry::from_json(more)?).await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn register(&self, schemas: Registry) -> Result<(), Error> {
        let schemas = Box::new(schemas);
        let register = |done| Command::Register { schemas, done };
        self.shared.host.call(register).await
    }

    /// Returns the name of the session.
    pub fn session(&self) -> &str {
        &self.shared.session
    }

    /// Returns the log of the session from a position on, and then each new entry. The first position is 1.
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

    /// Returns whether the hub has ended, because its store failed or another program has opened the session. All
    /// calls then return [`Error::Ended`]: open the hub again.
    pub fn has_ended(&self) -> bool {
        self.shared.host.has_ended()
    }

    /// Closes the hub: the handlers of its agents get no more frames, running handlers end with their replies,
    /// and then the hub ends with all of its agents and links. Agents of other processes come back when the hub
    /// is opened again.
    ///
    /// # Errors
    /// [`Error::Unsent`] when a handler runs for more than 60 seconds. [`Error::Ended`].
    pub async fn close(&self) -> Result<(), Error> {
        self.shared.host.close().await
    }

    /// Ends the hub with its agents and links, for this reason: for example, another process hosts the session
    /// from now on.
    pub fn end(&self, why: impl Into<String>) {
        let _ = self.shared.host.tell(Command::End(why.into()));
    }

    /// Returns how many handles the hub has: this one, its clones, its agents and its links.
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.shared)
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
            .field("session", &self.shared.session)
            .finish_non_exhaustive()
    }
}
