//! What all requests have in common.

use std::sync::{Arc, OnceLock};

use axum::http::HeaderMap;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::access::Access;
use crate::answer::Refused;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::peers::Forward;
use crate::rates::{Open, Rate};
use crate::sessions::Sessions;

/// What all requests share.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) sessions: Sessions,
    pub(crate) access: Box<dyn Access>,
    pub(crate) metrics: Metrics,
    /// Frames and bytes of agents, by their sessions.
    pub(crate) frames: Rate,
    pub(crate) bytes: Rate,
    /// Requests and sockets that are open, by their tokens.
    pub(crate) requests: Arc<Open>,
    /// Bytes of bodies on their way, by their tokens.
    pub(crate) bodies: Arc<Open>,
    /// Goes up when tokens or keys have changed.
    pub(crate) revision: watch::Receiver<u64>,
    /// Why the store is not able to keep anything, as the last probe says.
    pub(crate) unable: watch::Receiver<Option<String>>,
    /// The way to other hubs, if there are any.
    pub(crate) forward: Option<Forward>,
    pub(crate) told: OnceLock<Told>,
    /// True once the hub is to end.
    pub(crate) ends: watch::Receiver<bool>,
}

/// Is told of the headers of a request and of its span, before the span begins.
pub(crate) type Told = Box<dyn Fn(&HeaderMap, &tracing::Span) + Send + Sync>;

pub(crate) type Shared = Arc<App>;

/// The room of a connection among those that are open. A socket keeps it after its request.
pub(crate) type Room = Arc<OwnedSemaphorePermit>;

/// Returns when the hub is to end.
pub(crate) async fn over(ends: &mut watch::Receiver<bool>) {
    // What is awaited here can leave no lock behind.
    let _ = async { ends.wait_for(|ends| *ends).await.is_ok() }.await;
}

impl App {
    /// Refuses what would be written to a store that cannot keep it.
    pub(crate) fn check_able(&self) -> Result<(), Refused> {
        match &*self.unable.borrow() {
            None => Ok(()),
            Some(_) => Err(Refused::busy(
                "a store that can be written; the hub's log says why it cannot",
            )),
        }
    }
}
