//! The agents of many sessions, for servers of other protocols.

use std::future::Future;
use std::sync::Arc;

use accp_runtime::Registry;

use crate::agent::Agent;
use crate::error::Error;

/// Opens the agents for which clients of another protocol speak. A closure
/// `|session: String, agent: String| async { .. }` is one.
///
/// A server asks when a client comes to an agent that is not open, because nobody has used the agent yet, it
/// was idle, or it has ended. Who may speak as which agent is decided before: this trait only opens.
pub trait Agents: Send + Sync + 'static {
    /// Opens an agent of a session.
    ///
    /// # Errors
    /// [`Error::Denied`] and [`Error::Name`] say that there is no such agent or session for the client; all
    /// others, that the agent cannot be reached now.
    fn agent(
        &self,
        session: &str,
        agent: &str,
    ) -> impl Future<Output = Result<Agent, Error>> + Send;

    /// Returns the registry of a session, for who only looks. This opens the agent unless you say how to do
    /// without.
    ///
    /// # Errors
    /// As [`agent`](Self::agent).
    fn registry(
        &self,
        session: &str,
        agent: &str,
    ) -> impl Future<Output = Result<Arc<Registry>, Error>> + Send {
        async { self.agent(session, agent).await?.registry().await }
    }
}

impl<F, R> Agents for F
where
    F: Fn(String, String) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Agent, Error>> + Send,
{
    async fn agent(&self, session: &str, agent: &str) -> Result<Agent, Error> {
        self(session.to_owned(), agent.to_owned()).await
    }
}
