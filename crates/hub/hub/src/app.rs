//! The state that all requests share.

use std::sync::{Arc, OnceLock};

use axum::http::HeaderMap;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::access::Access;
use crate::answer::Refused;
use crate::config::Config;
use crate::hubs::Forward;
use crate::metrics::Metrics;
use crate::rates::{Quota, Rate};
use crate::sessions::Sessions;

/// The state that all requests share.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) sessions: Sessions,
    pub(crate) access: Box<dyn Access>,
    pub(crate) metrics: Metrics,
    /// The rates of frames and bytes, by session and agent.
    pub(crate) frames: Rate,
    pub(crate) bytes: Rate,
    /// Open requests and sockets, by token.
    pub(crate) requests: Arc<Quota>,
    /// Bytes of bodies in transit, by token.
    pub(crate) bodies: Arc<Quota>,
    /// Increases when tokens or keys have changed.
    pub(crate) revision: watch::Receiver<u64>,
    /// The result of the last probe: why the store cannot keep data, or `None` if it can.
    pub(crate) unable: watch::Receiver<Option<String>>,
    /// What this hub needs to call other hubs, if there are any.
    pub(crate) forward: Option<Forward>,
    pub(crate) on_request: OnceLock<OnRequest>,
    /// True once the hub has to end. Then each request that waits is answered at once, with what there is.
    pub(crate) ends: watch::Receiver<bool>,
    /// True once the requests have ended, so that the sockets close, too.
    pub(crate) closes: watch::Receiver<bool>,
}

/// A hook that gets the headers of a request and its span, before the span begins.
pub(crate) type OnRequest = Box<dyn Fn(&HeaderMap, &tracing::Span) + Send + Sync>;

pub(crate) type Shared = Arc<App>;

/// The permit of an open connection. A socket keeps it after its request.
pub(crate) type Room = Arc<OwnedSemaphorePermit>;

/// Waits until [`App::ends`] or [`App::closes`] is true.
pub(crate) async fn over(ends: &mut watch::Receiver<bool>) {
    // The block drops the lock that `wait_for` returns.
    let _ = async { ends.wait_for(|ends| *ends).await.is_ok() }.await;
}

impl App {
    /// Refuses a request that writes while the store cannot keep data.
    pub(crate) fn check_able(&self) -> Result<(), Refused> {
        match &*self.unable.borrow() {
            None => Ok(()),
            Some(_) => Err(Refused::busy(
                "a store that can be written; the hub's log says why it cannot",
            )),
        }
    }
}
