//! Agents over streamable HTTP, as a service that a server of HTTP mounts.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use accp_client::{Agents, Principal};
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;

use crate::desks::Desks;

/// The header that names a session of MCP.
const SESSION: &str = "mcp-session-id";

/// Settings of a [`Service`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The hosts that clients may name, as `example.com` or `example.com:8080`: those of this machine by
    /// default, against DNS rebinding. A server that is reached under another name adds it. An empty
    /// list allows all.
    pub hosts: Vec<String>,
    /// The origins of web pages that may call, as `https://app.example.com:443`: pages of this machine by
    /// default, as the conformance suite of MCP asks. An empty list allows no page. A client that is not
    /// a web page names no origin.
    pub origins: Vec<String>,
    /// The most bytes of a request: 1 MiB by default.
    pub request_bytes: usize,
    /// The time after which an agent is closed that no client uses: 30 minutes by default. What was sent
    /// to it waits in its store.
    pub idle: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let hosts = ["localhost", "127.0.0.1", "::1"];
        let origins = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
        Self {
            hosts: hosts.map(String::from).to_vec(),
            origins: origins.map(String::from).to_vec(),
            request_bytes: 1 << 20,
            idle: Duration::from_secs(30 * 60),
        }
    }
}

/// The MCP servers of all agents, over streamable HTTP: a service of tower, for axum's
/// `Router::nest_service`.
///
/// It serves the revisions of MCP with sessions, up to 2025-11-25, and 2026-07-28 without. A request is for
/// the agent of the [`Principal`] in its extensions, which a gate puts there that has checked who asks; a
/// session of MCP is known to the principal alone for which it was begun. [`TrustPath`](crate::TrustPath)
/// reads the principal from the path, for servers where everybody may be anybody. An agent is opened when
/// a client begins to use it: a request that is refused opens none.
pub struct Service<A> {
    desks: Arc<Desks<A>>,
}

impl<A> Clone for Service<A> {
    fn clone(&self) -> Self {
        Self {
            desks: Arc::clone(&self.desks),
        }
    }
}

impl<A: Agents> Service<A> {
    /// Makes a service for these agents.
    pub fn new(agents: A, settings: Settings) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(settings.hosts)
            .with_allowed_origins(settings.origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(settings.request_bytes);
        Self {
            desks: Arc::new(Desks::new(agents, config, settings.idle)),
        }
    }

    async fn answer<B>(&self, request: Request<B>) -> Response<BoxBody<bytes::Bytes, Infallible>>
    where
        B: Body + Send + 'static,
        B::Error: fmt::Display,
        B::Data: Send,
    {
        let Some(who) = request.extensions().get::<Principal>().cloned() else {
            return refused("the session and the agent in the path: /mcp/lunch/dev");
        };
        if !matches!(request.uri().path(), "" | "/") {
            return refused("a path that ends with the session and the agent: /mcp/lunch/dev");
        }
        let place = self.desks.place(&who);
        // The client names the session that it has; another name in the answer is that of a new one.
        let named = request.headers().get(SESSION).cloned();
        let response = place.endpoint().handle(request).await;
        let begun = response.headers().get(SESSION);
        if let Some(begun) = begun.filter(|begun| named.as_ref() != Some(*begun))
            && let Ok(begun) = begun.to_str()
        {
            place.begins(begun).await;
        }
        self.desks.leave(&who, place);
        response
    }
}

fn refused(expected: &'static str) -> Response<BoxBody<bytes::Bytes, Infallible>> {
    let text = format!("expected {expected}\n");
    let mut response = Response::new(Full::from(text).boxed());
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

impl<A, B> tower_service::Service<Request<B>> for Service<A>
where
    A: Agents,
    B: Body + Send + 'static,
    B::Error: fmt::Display,
    B::Data: Send,
{
    type Response = Response<BoxBody<bytes::Bytes, Infallible>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl<A> fmt::Debug for Service<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}
