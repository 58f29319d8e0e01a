//! What all requests have in common.

use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::access::{Access, Identity};
use crate::answer::Refused;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::peers::Forward;
use crate::rates::Rates;
use crate::sessions::Sessions;

/// What all requests share.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) sessions: Sessions,
    pub(crate) access: Box<dyn Access>,
    pub(crate) metrics: Metrics,
    pub(crate) rates: Rates,
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

/// Who makes a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) identity: Identity,
    pub(crate) token: Option<String>,
}

impl Caller {
    /// Checks that the caller may enter a session, and speak as this agent there.
    pub(crate) fn check(&self, session: &str, agent: Option<&str>) -> Result<(), Refused> {
        self.identity.check(session, agent).map_err(Refused::from)
    }
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Response> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Refused::from(crate::Denied::Token).response(&app.config.agent))
    }
}
