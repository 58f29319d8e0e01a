//! Serves a request until its client gives it up, or until the right of the caller is over.

use std::future::Future;

use accp_client::Principal;
use http::request::Parts;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::watch;

use crate::fault;

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

    /// Waits until the client has given the request up: it has cancelled the request, or ended its MCP session.
    pub(crate) async fn given_up(self) {
        let parts = self.context.extensions.get::<Parts>();
        let session = parts.and_then(|parts| parts.extensions.get::<McpSession>());
        let ended = async {
            if let Some(McpSession(ended)) = session {
                let mut ended = ended.clone();
                // The block drops the lock that `wait_for` returns.
                let is_over = async { ended.wait_for(|ended| *ended).await.is_ok() }.await;
                if is_over {
                    return;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = self.context.ct.cancelled() => {}
            () = ended => {}
        }
    }

    /// Serves the request as long as its client waits and has the right.
    pub(crate) async fn serve<T>(
        self,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        tokio::select! {
            biased;
            why = self.over() => Err(fault::over(why)),
            () = self.given_up() => Err(given_up()),
            served = work => served,
        }
    }
}

/// The MCP session of a request: true once its client has ended it. The HTTP service puts this into the extensions of
/// the request.
#[derive(Clone)]
pub(crate) struct McpSession(pub(crate) watch::Receiver<bool>);

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
