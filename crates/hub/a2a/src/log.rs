//! The log of a session, for those who only look.

use std::sync::Arc;

use accp_client::{Agent, Error, Frames, Hub};
use accp_frame::{Registry, Value};
use accp_session::Session;

/// Where the log of a session is read.
#[derive(Clone)]
pub(crate) enum Log {
    /// At the hub of the session: nobody's agent opens or ends by that.
    Hub(Hub),
    /// By the agent itself, because the session is elsewhere.
    Agent(Agent),
}

impl Log {
    /// Returns the log from a position on, and then what comes.
    pub(crate) fn frames(&self, from: u64) -> Frames {
        match self {
            Self::Hub(hub) => hub.frames(from),
            Self::Agent(agent) => agent.frames(from),
        }
    }

    /// Returns how far the log has come.
    pub(crate) async fn position(&self) -> Result<u64, Error> {
        match self {
            Self::Hub(hub) => hub.look(Session::position).await,
            Self::Agent(agent) => agent.look(Session::position).await,
        }
    }

    pub(crate) async fn registry(&self) -> Result<Arc<Registry>, Error> {
        match self {
            Self::Hub(hub) => hub.registry().await,
            Self::Agent(agent) => agent.registry().await,
        }
    }

    /// Reads what a reference names.
    pub(crate) async fn expand(&self, reference: &str) -> Result<Value<'static>, Error> {
        match self {
            Self::Hub(hub) => hub.expand(reference).await,
            Self::Agent(agent) => agent.expand(reference).await,
        }
    }
}
