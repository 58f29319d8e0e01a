//! The agents of many sessions, for servers of other protocols.

mod trust;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use accp_frame::Registry;
use accp_session::Outbound;

use crate::agent::Agent;
use crate::error::Error;
use crate::hub::Hub;

pub use trust::{TrustPath, address_part};

/// An agent of a session for which a client may speak.
///
/// A server makes the principal once it has checked who asks, and puts it into the extensions of the request. A
/// service learns who asks from the principal alone, and not from a path, a header or the id of a session. A
/// server that trusts everybody makes the principal from the path: [`TrustPath`].
///
/// The request counts as open as long as its principal lives. So work that goes on after its client has gone must
/// keep the principal until the work ends, and must end when the right of the principal is [over](Self::over). An
/// object that serves many requests keeps the principal [beyond its request](Self::beyond_its_request).
///
/// ```
/// use accp_client::Principal;
///
/// let dev = Principal::new("lunch", "dev");
/// assert_eq!((dev.session(), dev.agent()), ("lunch", "dev"));
/// ```
#[derive(Clone)]
pub struct Principal {
    session: Arc<str>,
    agent: Arc<str>,
    meter: Option<Arc<dyn Meter>>,
}

/// Counts the frames that a principal sends, whichever way they come.
pub trait Meter: Send + Sync {
    /// Counts this many frames. Returns false if they are too many for now.
    fn takes(&self, frames: u32) -> bool;

    /// Returns the name under which a server counts the things that the principal begins, such as sessions. A
    /// caller who may speak for many agents has one name.
    fn name(&self) -> &str;

    /// Returns once the right of the principal is over, with the reason. By default it never is.
    fn over(&self) -> Pin<Box<dyn Future<Output = String> + Send>> {
        Box::pin(std::future::pending())
    }

    /// Returns once the server ends. By default it never does.
    fn ends(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }

    /// Returns a meter of the same principal that keeps nothing occupied for the request, such as a place among the
    /// open requests. The default is `None`: this meter keeps nothing occupied.
    fn beyond_its_request(&self) -> Option<Arc<dyn Meter>> {
        None
    }
}

impl Principal {
    /// Names an agent of a session. The server that calls this has made sure that its client may speak for the agent.
    pub fn new(session: impl AsRef<str>, agent: impl AsRef<str>) -> Self {
        Self {
            session: Arc::from(session.as_ref()),
            agent: Arc::from(agent.as_ref()),
            meter: None,
        }
    }

    /// Lets a meter count the frames that the principal sends. Without a meter nothing is counted.
    pub fn metered(self, meter: Arc<dyn Meter>) -> Self {
        let meter = Some(meter);
        Self { meter, ..self }
    }

    /// Returns the name of the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Returns the name of the agent.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns the name under which a server counts the things that the principal begins. Without a meter this is
    /// the name of the agent.
    pub fn counted_as(&self) -> &str {
        match &self.meter {
            Some(meter) => meter.name(),
            None => &self.agent,
        }
    }

    /// Counts this many frames in addition to the one that the server has already counted for the request. Returns
    /// false if they are too many for now; none of them may be sent then.
    pub fn takes(&self, frames: u32) -> bool {
        let meter = self.meter.as_ref().filter(|_| frames > 0);
        meter.is_none_or(|meter| meter.takes(frames))
    }

    /// Returns once the right of the principal is over, with the reason.
    pub async fn over(&self) -> String {
        match &self.meter {
            Some(meter) => meter.over().await,
            None => std::future::pending().await,
        }
    }

    /// Returns once the server ends. A request that waits for something then answers at once with what it has,
    /// because the server cuts off the requests that go on for too long.
    pub async fn ends(&self) {
        match &self.meter {
            Some(meter) => meter.ends().await,
            None => std::future::pending().await,
        }
    }

    /// Returns the principal for an object that outlives the request. It does not keep the request open.
    #[must_use]
    pub fn beyond_its_request(&self) -> Self {
        let meter = self.meter.as_ref();
        let meter = meter.map(|meter| meter.beyond_its_request().unwrap_or(Arc::clone(meter)));
        Self {
            meter,
            ..self.clone()
        }
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("session", &self.session)
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

/// Opens the agents for which clients of another protocol speak. A closure `|principal: Principal| async { .. }`
/// implements this trait.
///
/// A server opens an agent when a client comes to an agent that is not open, because nobody has used the agent
/// yet, the agent was idle, or it has ended. The server has decided before who may speak as which agent: this
/// trait only opens agents.
pub trait Agents: Send + Sync + 'static {
    /// Opens an agent of a session.
    ///
    /// # Errors
    /// [`Error::Denied`] and [`Error::Name`] say that there is no such agent for the client, and [`Error::NoSession`]
    /// says that there is no such session.
    /// [`Error::Busy`] says when the client may try again. All other errors say that the agent cannot be reached now.
    fn agent(&self, who: &Principal) -> impl Future<Output = Result<Agent, Error>> + Send;

    /// Returns the registry of a session, for a caller who only reads. The default opens the agent. Implement
    /// this if there is a way that opens no agent.
    ///
    /// # Errors
    /// As [`agent`](Self::agent).
    fn registry(
        &self,
        who: &Principal,
    ) -> impl Future<Output = Result<Arc<Registry>, Error>> + Send {
        async { self.agent(who).await?.registry().await }
    }

    /// Returns whether the session has begun, so that a caller who only reads does not begin it. A server whose
    /// sessions have all begun need not implement this.
    ///
    /// # Errors
    /// As [`agent`](Self::agent).
    fn has_begun(&self, _who: &Principal) -> impl Future<Output = Result<bool, Error>> + Send {
        async { Ok(true) }
    }

    /// Judges the first frame of an agent before [`agent`](Self::agent) opens it, so that a frame that the session
    /// refuses lets no agent in, and begins no session. The default judges nothing.
    ///
    /// # Errors
    /// [`Error::Input`], [`Error::Refused`] and [`Error::Expired`] if the session would refuse the frame, and those of
    /// [`agent`](Self::agent).
    fn check_frame(
        &self,
        _who: &Principal,
        _first: &Outbound<'static>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// Returns the hub of a session that has begun, for a caller who only reads. This opens no agent. The default is
    /// `None`: the session is elsewhere, and the caller has to read through the agent.
    ///
    /// # Errors
    /// As [`agent`](Self::agent).
    fn hub(&self, _who: &Principal) -> impl Future<Output = Result<Option<Hub>, Error>> + Send {
        async { Ok(None) }
    }
}

impl<F, R> Agents for F
where
    F: Fn(Principal) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Agent, Error>> + Send,
{
    async fn agent(&self, who: &Principal) -> Result<Agent, Error> {
        self(who.clone()).await
    }
}
