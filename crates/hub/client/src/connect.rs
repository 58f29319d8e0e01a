//! An agent whose host is elsewhere, reached over WebSocket (draft section 11.2).

mod socket;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use accp_frame::Registry;
use accp_session::{MemberId, Options};
use accp_store::{AsyncDriver, Committer, MemoryStore, Store};
use tokio::time::timeout;

use crate::agent::Agent;
use crate::clock::now;
use crate::command::Command;
use crate::error::Error;
use crate::handle::Handle;
use crate::hub::agent_id;
use crate::side::{self, Side};
use crate::wire::wire;
use socket::{Carrier, Target};
pub use socket::{REMOVED, REPLACED};

/// An agent that joins gives up if no frame of the log comes for this time. The whole log may take longer.
const JOIN: Duration = Duration::from_secs(60);

/// A connection that is about to be made. See [`Agent::connect`].
#[must_use = "a connection is made when it is awaited"]
pub struct Connect {
    hub: String,
    session: String,
    agent: String,
    token: Option<String>,
    authority: Option<PathBuf>,
    options: Option<Options>,
    store: Box<dyn FnOnce() -> Result<Committer, accp_store::StoreError> + Send>,
}

impl Agent {
    /// Connects to a hub as an agent of a session: `ws://127.0.0.1:7337`, or `wss://` over TLS. When
    /// the link breaks, the agent connects again, at first after a tenth of a second and later after
    /// 15 seconds at most, and goes on where it was. It ends when another program connects as the same
    /// agent of the session, and with [`Error::Removed`] when the hub has another log than the agent.
    ///
    /// ```no_run
    /// # use accp_client::{Agent, Error};
    /// # async fn connect() -> Result<(), Error> {
    /// let dev = Agent::connect("ws://127.0.0.1:7337", "lunch", "dev").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The frames of the agent wait in memory until the hub has them; [`store`](Connect::store) keeps them in a
    /// store that outlives the process. If the agent was in the session before with that store, its hub may be
    /// away now: the agent works with the entries in its store, and connects when the hub is back.
    ///
    /// # Errors
    /// [`Error::Address`] when this is not the address of a hub, [`Error::Unreachable`] when there is no hub,
    /// [`Error::Denied`] when the hub does not let the agent in, [`Error::Name`], and [`Error::Ended`] when the
    /// store fails.
    pub fn connect(
        hub: impl Into<String>,
        session: impl Into<String>,
        agent: impl Into<String>,
    ) -> Connect {
        Connect {
            hub: hub.into(),
            session: session.into(),
            agent: agent.into(),
            token: None,
            authority: None,
            options: None,
            store: Box::new(|| Ok(Committer::inline(MemoryStore::new()))),
        }
    }
}

impl Connect {
    /// Shows this token to the hub (`Authorization: Bearer`).
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Trusts the certificates in this file (PEM) instead of the usual authorities.
    pub fn authority(mut self, file: impl Into<PathBuf>) -> Self {
        self.authority = Some(file.into());
        self
    }

    /// Keeps the frames that the agent sends in this store until the hub has them, and the frames that the agent
    /// gets until they are handled.
    pub fn store(mut self, store: impl Store + Send + 'static) -> Self {
        self.store = Box::new(|| Committer::new(store));
        self
    }

    /// Sets the options of the session: a registry of your own, say. The connection sets their session and agent.
    /// With a token counter ([`Options::counting`]), the frames of the agent stay within the token limits of the
    /// draft (section 3.4): values that are too long go by reference.
    pub fn options(mut self, options: Options) -> Self {
        self.options = Some(options);
        self
    }

    async fn open(self) -> Result<Agent, Error> {
        let id = agent_id(&self.agent)?;
        let target = Target::new(
            &self.hub,
            &self.session,
            &self.agent,
            self.token,
            self.authority.as_deref(),
        )?;
        let committer = (self.store)()?;
        let options = self.options.unwrap_or_else(|| {
            Options::new(String::new(), id.clone(), Arc::new(Registry::standard()))
        });
        let mut options = side::member(options, id);
        options.session = self.session;
        let driver = AsyncDriver::open_member(&committer, Vec::new(), options, now()).await?;
        let socket = match target.connect().await {
            Ok(socket) => Some(socket),
            // The hub cannot be reached. Until it is back, the agent works with what its store has,
            // and the store keeps what the agent sends.
            Err(Error::Unreachable(..)) if driver.session().has_joined() => None,
            Err(error) => return Err(error),
        };
        let (handle, end) = Handle::new(&committer, driver.side().clone());
        let ((own, frames), (host, down)) = (wire(), wire());
        // The number of a side names the sender of its frames. This wire has only one sender, so
        // the number does not matter.
        let side = Side::new(driver, MemberId::HOST, end, frames);
        let side = side.of(Arc::downgrade(&handle) as _, host);
        tokio::spawn(side.run());
        let carrier = Carrier::new(target, Arc::downgrade(&handle), own, down);
        let refusal = carrier.refusal();
        tokio::spawn(carrier.run(socket));
        // This returns only after the agent has joined. From then on the agent gets the frames of the others.
        match has_joined(&handle).await {
            Ok(true) => Ok(Agent::of(handle)),
            Ok(false) => {
                let why = format!("nothing has come from the session for {JOIN:?}");
                Err(Error::Unreachable(self.hub, why))
            }
            Err(Error::Refused(error)) => {
                let why = format!("{}: expected {}", error.code, error.message);
                Err(Error::Denied(self.hub, why))
            }
            // The hub may take the socket, and say only at the hello that it does not let the agent in.
            Err(error @ Error::Ended(_)) => match refusal.get() {
                Some(why) => Err(Error::Denied(self.hub, why.clone())),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }
}

/// Waits until a side is in its session. Returns false if no entry of the log came for [`JOIN`].
async fn has_joined(handle: &Handle) -> Result<bool, Error> {
    let mut last = handle.log.last.clone();
    let mut joined = pin!(handle.call(Command::Joined));
    loop {
        tokio::select! {
            joined = &mut joined => return joined.map(|()| true),
            // A side that has ended no longer changes `last`. It answers `joined` with the reason
            // for its end.
            more = timeout(JOIN, last.changed()), if !handle.has_ended() => {
                if more.is_err() {
                    return Ok(false);
                }
            }
        }
    }
}

impl IntoFuture for Connect {
    type Output = Result<Agent, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.open())
    }
}

impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connect")
            .field("hub", &self.hub)
            .field("session", &self.session)
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}
