//! The agents of many sessions, for servers of other protocols.

mod trust;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use accp_frame::Registry;

use crate::agent::Agent;
use crate::error::Error;
use crate::hub::Hub;

pub use trust::{TrustPath, address_part};

/// An agent of a session, for whom somebody was let in to speak.
///
/// The gate of a server makes it once it has checked who asks, and puts it into the extensions of the
/// request. A service reads nothing else for who asks: no path, no header, no id of a session. A server
/// that lets everybody be anybody makes it from the path: [`TrustPath`].
///
/// The request counts as open as long as its principal lives. So work that goes on when its client has gone keeps
/// the principal until its end, and ends when the right is [over](Self::over); what serves many requests keeps
/// the principal [beyond its request](Self::beyond_its_request).
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

/// Counts what a principal sends, however it comes.
pub trait Meter: Send + Sync {
    /// Takes so many frames. Returns false if they are too many for now.
    fn takes(&self, frames: u32) -> bool;

    /// Returns the name under which is counted what the principal begins: sessions, say. A caller who may
    /// be many agents has one name.
    fn name(&self) -> &str;

    /// Returns once the right of the principal is over, with the reason. By default it never is.
    fn over(&self) -> Pin<Box<dyn Future<Output = String> + Send>> {
        Box::pin(std::future::pending())
    }

    /// Returns the same without what it holds for one request, such as a place among those that are open.
    /// `None`, the default: it holds nothing.
    fn beyond_its_request(&self) -> Option<Arc<dyn Meter>> {
        None
    }
}

impl Principal {
    /// Names an agent of a session. Whoever calls this has made sure that the caller may speak for it.
    pub fn new(session: impl AsRef<str>, agent: impl AsRef<str>) -> Self {
        Self {
            session: Arc::from(session.as_ref()),
            agent: Arc::from(agent.as_ref()),
            meter: None,
        }
    }

    /// Lets a meter count what the principal sends. Without one nothing is counted.
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

    /// Returns the name under which is counted what the principal begins. Without a meter it is that of the
    /// agent.
    pub fn counted_as(&self) -> &str {
        match &self.meter {
            Some(meter) => meter.name(),
            None => &self.agent,
        }
    }

    /// Takes so many frames beside the one that the gate has counted for the request. Returns false if
    /// they are too many for now; none of them may be sent then.
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

    /// Returns the principal for what outlives the request. The request does not count as open by it.
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

/// Opens the agents for which clients of another protocol speak. A closure
/// `|principal: Principal| async { .. }` is one.
///
/// A server asks when a client comes to an agent that is not open, because nobody has used the agent yet, it
/// was idle, or it has ended. Who may speak as which agent is decided before: this trait only opens.
pub trait Agents: Send + Sync + 'static {
    /// Opens an agent of a session.
    ///
    /// # Errors
    /// [`Error::Denied`] and [`Error::Name`] say that there is no such agent or session for the client; all
    /// others, that the agent cannot be reached now.
    fn agent(&self, who: &Principal) -> impl Future<Output = Result<Agent, Error>> + Send;

    /// Returns the registry of a session, for who only looks. This opens the agent unless you say how to do
    /// without.
    ///
    /// # Errors
    /// As [`agent`](Self::agent).
    fn registry(
        &self,
        who: &Principal,
    ) -> impl Future<Output = Result<Arc<Registry>, Error>> + Send {
        async { self.agent(who).await?.registry().await }
    }

    /// Returns whether the session has begun, so that looking at it does not begin it. A server of which
    /// all sessions have begun need not say.
    ///
    /// # Errors
    /// As [`agent`](Self::agent).
    fn has_begun(&self, _who: &Principal) -> impl Future<Output = Result<bool, Error>> + Send {
        async { Ok(true) }
    }

    /// Returns the hub of a session that has begun, for who only looks: nothing of it opens the agent. `None`, the
    /// default: the session is elsewhere, and the agent itself has to look.
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
