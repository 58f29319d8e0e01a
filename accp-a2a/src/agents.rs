//! The agents for which clients speak.

use std::future::Future;

use accp_client::{Agent, Error};

/// Gives the agents of sessions on whose behalf clients of A2A speak.
///
/// Who may speak as which agent is decided before: put the [`router`](crate::router) behind a layer that
/// knows the caller.
pub trait Agents: Send + Sync + 'static {
    /// Opens the agent of a session with this name. The router keeps it until nobody has asked for it for
    /// [`Config::idle`](crate::Config::idle), or it has ended.
    ///
    /// The agent is for clients of A2A alone: the router takes every frame that no other handler of it
    /// takes.
    ///
    /// # Errors
    /// [`Error::Denied`] and [`Error::Name`] tell the client that there is no such agent for it; all
    /// others, that the agent cannot be reached now.
    fn agent(
        &self,
        session: &str,
        agent: &str,
    ) -> impl Future<Output = Result<Agent, Error>> + Send;
}

/// A closure `|session: String, agent: String| async { .. }` gives agents, too.
impl<F, R> Agents for F
where
    F: Fn(String, String) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Agent, Error>> + Send,
{
    async fn agent(&self, session: &str, agent: &str) -> Result<Agent, Error> {
        self(session.to_owned(), agent.to_owned()).await
    }
}
