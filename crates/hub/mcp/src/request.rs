//! Serves a request until its client gives it up, or until the right of the caller is over.

use std::future::Future;

use accp_client::Principal;
use http::request::Parts;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

/// A request of MCP. Its context holds the principal. So the principal counts as in use until the request
/// has been served, even if the client has left.
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
    context: &'r RequestContext<RoleServer>,
}

impl<'r> Request<'r> {
    pub(crate) fn of(context: &'r RequestContext<RoleServer>) -> Self {
        Self { context }
    }

    /// Returns the caller. A request over a pipe has no caller, and so no right that could end.
    pub(crate) fn who(self) -> Option<&'r Principal> {
        self.context.extensions.get::<Parts>()?.extensions.get()
    }

    /// Waits until the right of the caller is over, and returns the reason.
    pub(crate) async fn over(self) -> String {
        tokio::select! {
            biased;
            why = over(self.who()) => return why,
            () = self.given_up() => {}
        }
        // The HTTP service may have noticed the end of the right first, and have cancelled the
        // request. Then `over` returns the reason.
        over(self.who()).await
    }

    /// Waits until the server ends. A server over a pipe ends with its client.
    pub(crate) async fn ends(self) {
        match self.who() {
            Some(who) => who.ends().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until the client has given the request up.
    pub(crate) async fn given_up(self) {
        self.context.ct.cancelled().await;
    }

    /// Serves the request as long as its client waits and has the right.
    pub(crate) async fn serve<T>(
        self,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        tokio::select! {
            biased;
            why = self.over() => Err(ErrorData::internal_error(why, None)),
            () = self.given_up() => Err(given_up()),
            served = work => served,
        }
    }
}

/// Waits until the right of a principal is over, and returns the reason.
pub(crate) async fn over(who: Option<&Principal>) -> String {
    match who {
        Some(who) => who.over().await,
        None => std::future::pending().await,
    }
}

/// The error of a call that its client has given up.
pub(crate) fn given_up() -> ErrorData {
    ErrorData::internal_error("the call was cancelled", None)
}
