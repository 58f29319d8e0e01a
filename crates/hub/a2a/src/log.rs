//! The log of a session, for reading.

use std::sync::Arc;

use accp_client::{Agent, Error, Frames, Hub};
use accp_frame::{Registry, Value};
use accp_session::Session;

/// The source from which the log of a session is read.
#[derive(Clone)]
pub(crate) enum Log {
    /// The hub of the session. Reading from the hub neither opens nor ends an agent.
    Hub(Hub),
    /// The agent itself, because the session is in another process.
    Agent(Agent),
}

impl Log {
    /// Returns the log from a position on, and then each new entry.
    pub(crate) fn frames(&self, from: u64) -> Frames {
        match self {
            Self::Hub(hub) => hub.frames(from),
            Self::Agent(agent) => agent.frames(from),
        }
    }

    /// Returns the last position of the log.
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

    /// Reads the value of a reference.
    pub(crate) async fn expand(&self, reference: &str) -> Result<Value<'static>, Error> {
        match self {
            Self::Hub(hub) => hub.expand(reference).await,
            Self::Agent(agent) => agent.expand(reference).await,
        }
    }
}
