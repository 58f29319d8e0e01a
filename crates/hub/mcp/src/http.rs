//! Agents over streamable HTTP, as a service that a server of HTTP mounts.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use accp_client::{Agents, Principal};
use accp_frame::exact_numbers;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::model::JsonRpcError;
use rmcp::transport::streamable_http_server::{SessionId, StreamableHttpServerConfig};
use tokio::time::sleep;

use crate::endpoints::{Endpoints, McpService};
use crate::initialize::{self, Kind};
use crate::request::McpSession;

/// The header that names a session of MCP.
const SESSION: &str = "mcp-session-id";
/// The header that names the version of MCP on which client and server have agreed.
const VERSION: &str = "mcp-protocol-version";

/// Settings of a [`Service`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The hosts that clients may name, as `example.com` or `example.com:8080`, against DNS rebinding: by default
    /// those of this machine. If clients reach the server under another name, add that name. An empty list allows
    /// all.
    pub hosts: Vec<String>,
    /// The origins of web pages that may call, as `https://app.example.com:443`: pages of this machine by default, as
    /// the conformance suite of MCP asks. An empty list allows no page, and `None` allows all pages. A client that is
    /// not a web page names no origin.
    pub origins: Option<Vec<String>>,
    /// The most bytes of a request: 1 MiB by default.
    pub request_bytes: usize,
    /// An agent that no client uses for this time is closed: 30 minutes by default. Its frames wait until it is
    /// opened again. An MCP session that is silent for this time ends, or after six minutes if this time is shorter.
    pub idle: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let hosts = ["localhost", "127.0.0.1", "::1"];
        let origins = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
        Self {
            hosts: hosts.map(String::from).to_vec(),
            origins: Some(origins.map(String::from).to_vec()),
            request_bytes: 1 << 20,
            idle: Duration::from_secs(30 * 60),
        }
    }
}

impl Settings {
    /// Returns the settings of a service behind a layer that has checked the host and the origin of each request.
    /// The service itself checks neither.
    pub fn behind_a_gate() -> Self {
        Self {
            hosts: Vec::new(),
            origins: None,
            ..Self::default()
        }
    }
}

/// The MCP servers of all agents, over streamable HTTP: a service of tower, for axum's
/// `Router::nest_service`.
///
/// It serves the revisions of MCP with sessions, up to 2025-11-25, and the revision 2026-07-28 without sessions.
/// A layer before the service checks who asks, and puts the [`Principal`] into the extensions of the request. The
/// request is then for the agent of that principal. An MCP session is known only to the principal that began it.
/// A server that trusts everybody uses [`TrustPath`](crate::TrustPath), which reads the principal from the path.
/// An agent is opened when a client begins to use it: a request that is refused opens none.
pub struct Service<A> {
    endpoints: Arc<Endpoints<A>>,
    /// The most bytes of a request.
    most: usize,
}

impl<A> Clone for Service<A> {
    fn clone(&self) -> Self {
        Self {
            endpoints: Arc::clone(&self.endpoints),
            most: self.most,
        }
    }
}

impl<A: Agents> Service<A> {
    /// Makes a service for these agents.
    pub fn new(agents: A, settings: Settings) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(settings.hosts)
            .with_max_request_body_bytes(settings.request_bytes);
        let config = match settings.origins {
            None => config.disable_allowed_origins(),
            Some(origins) => config
                .with_allowed_origins(origins)
                .enforce_origin_validation(),
        };
        Self {
            endpoints: Arc::new(Endpoints::new(agents, config, settings.idle)),
            most: settings.request_bytes,
        }
    }

    /// Answers a POST. A request without a session of MCP may begin one.
    async fn post<B>(
        &self,
        service: &McpService,
        request: Request<B>,
        session: Option<McpSession>,
    ) -> Response<BoxBody<bytes::Bytes, Infallible>>
    where
        B: Body + Send + 'static,
        B::Error: fmt::Display,
        B::Data: Send,
    {
        let (mut head, body) = request.into_parts();
        let Some(body) = initialize::read(body, self.most).await else {
            let text = format!("expected a whole body of at most {} bytes\n", self.most);
            let mut response = Response::new(Full::from(text).boxed());
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            return response;
        };
        if let Some(session) = session {
            head.extensions.insert(session);
        } else {
            match initialize::kind(&body) {
                Kind::Wrong(error) => return wrong(&error),
                // The version header counts only after the answer to `initialize`, so it is removed
                // here. The body of `initialize` has the version that the client asks for.
                Kind::Begins => drop(head.headers.remove(VERSION)),
                Kind::Other => {}
            }
        }
        let given = body.clone();
        let exact = match std::str::from_utf8(&body).map(exact_numbers) {
            Ok(Cow::Owned(exact)) => Some(Bytes::from(exact)),
            // The body needs no change, or it is invalid. The parser of rmcp reports an invalid
            // body.
            _ => None,
        };
        let body = exact.unwrap_or(body);
        // The new body may have another length than the header says.
        head.headers.remove(CONTENT_LENGTH);
        let is_json = is_json(&head.headers);
        let request = Request::from_parts(head, Full::new(body));
        let answer = service.handle(request).await;
        // rmcp gives this status to a body that it cannot read, too, and says little about the body.
        if is_json && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return wrong(&initialize::unreadable(&given));
        }
        answer
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
        let (endpoint, is_over) = self.endpoints.acquire(&who);
        let named = session(request.headers());
        let deletes = request.method() == Method::DELETE;
        let listens = request.method() == Method::GET;
        let response = match &named {
            // If a client ends an unknown session, rmcp answers as if the session had ended. So such a request is
            // refused here.
            Some(named) if deletes && !endpoint.has(named).await => refused("a session of MCP"),
            named if request.method() == Method::POST => {
                let session = match named {
                    Some(named) => Some(endpoint.session(named).await),
                    None => None,
                };
                self.post(endpoint.service(), request, session).await
            }
            Some(named) if deletes => {
                endpoint.give_up(named);
                ended(endpoint.service().handle(request).await)
            }
            _ => endpoint.service().handle(request).await,
        };
        // If a session has just begun, the answer names it.
        let used = session(response.headers()).or(named);
        self.endpoints.release(&who, endpoint, used).await;
        // A client that only listens has no answer to wait for when the server ends.
        let listener = who.clone();
        let ends: Option<Over> =
            listens.then(|| -> Over { Box::pin(async move { listener.ends().await }) });
        let over = Box::pin(async move { drop(who.over().await) });
        response.map(|body| WhileRight::new(body, over, is_over, ends).boxed())
    }
}

/// Answers that a session of MCP has ended: 204, because nothing is left to be done. rmcp says 202, which clients such as
/// the official Python package report as a failure.
fn ended(
    mut response: Response<BoxBody<bytes::Bytes, Infallible>>,
) -> Response<BoxBody<bytes::Bytes, Infallible>> {
    if response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// Returns whether headers say that the body is JSON.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// Answers a request whose body is wrong.
fn wrong(error: &JsonRpcError) -> Response<BoxBody<bytes::Bytes, Infallible>> {
    let text = serde_json::to_string(error).unwrap_or_default();
    let mut response = Response::new(Full::from(text).boxed());
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// The body of an answer. When the right of the caller is over, this body yields nothing more and does not end,
/// because a body that ends looks complete. The layer that admitted the request then breaks the body off and says
/// why. A body with `ends` is complete when the server ends.
struct WhileRight {
    body: BoxBody<bytes::Bytes, Infallible>,
    over: Mutex<Option<Over>>,
    /// True once the body is about to end because the right is over, perhaps before `over` is ready.
    is_over: Arc<AtomicBool>,
    /// True once the inner body has ended because the right is over.
    has_ended: bool,
    ends: Mutex<Option<Over>>,
}

/// How long this body waits for the layer to break it off, after the inner body has ended because a right is over. If
/// the right has come back at once, the layer does not break the body off, so the body ends after this time.
const RETURNED: Duration = Duration::from_secs(5);

type Over = Pin<Box<dyn Future<Output = ()> + Send>>;

impl WhileRight {
    fn new(
        body: BoxBody<bytes::Bytes, Infallible>,
        over: Over,
        is_over: Arc<AtomicBool>,
        ends: Option<Over>,
    ) -> Self {
        let (over, ends) = (Mutex::new(Some(over)), Mutex::new(ends));
        Self {
            body,
            over,
            is_over,
            has_ended: false,
            ends,
        }
    }
}

impl Body for WhileRight {
    type Data = bytes::Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<bytes::Bytes>, Infallible>>> {
        let over = self.over.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(waits) = over else {
            return Poll::Pending;
        };
        if waits.as_mut().poll(cx).is_ready() {
            *over = None;
            return Poll::Pending;
        }
        let ends = self.ends.get_mut().unwrap_or_else(PoisonError::into_inner);
        let has_ended = |ends: &mut Over| ends.as_mut().poll(cx).is_ready();
        if ends.as_mut().is_some_and(has_ended) {
            *ends = None;
            return Poll::Ready(None);
        }
        if self.has_ended {
            return Poll::Pending;
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(None) if self.is_over.load(Ordering::Acquire) => {
                self.has_ended = true;
                *self.ends.get_mut().unwrap_or_else(PoisonError::into_inner) =
                    Some(Box::pin(sleep(RETURNED)));
                // The next poll waits for `ends`.
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        !self.is_over.load(Ordering::Acquire) && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Returns the MCP session that headers name.
fn session(headers: &HeaderMap) -> Option<SessionId> {
    let name = headers.get(SESSION)?.to_str().ok()?;
    Some(name.into())
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
