//! Spans of `tracing`: one for each request, and one for each frame that comes over a socket.
//!
//! A span says which agent did what in which session, and how it ended. It holds no payload, and no name that the
//! caller may not use.

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::answer::Refused;
use crate::app::{App, Shared};
use crate::metrics::add;

/// Counts a request that is refused before a session sees it, and records its outcome: it may be taken later, or it is
/// denied.
pub(crate) fn record_refusal(app: &App, refused: &Refused) {
    let (count, outcome) = if refused.is_later() {
        (&app.metrics.later, "later")
    } else {
        (&app.metrics.denied, "denied")
    };
    add(count);
    record_outcome(outcome);
}

/// Runs a request in its span.
pub(crate) async fn request(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("", MatchedPath::as_str);
    let method = method(request.method());
    // The names of the fields are those of OpenTelemetry.
    let span = tracing::info_span!(
        target: "accp::spans",
        "request",
        otel.name = %format_args!("{method} {route}"),
        otel.kind = "server",
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        accp.session = Empty,
        accp.agent = Empty,
        accp.outcome = Empty,
    );
    if let Some(hook) = app.on_request.get().filter(|_| !span.is_disabled()) {
        hook(request.headers(), &span);
    }
    let response = next.run(request).instrument(span.clone()).await;
    span.record("http.response.status_code", response.status().as_u16());
    response
}

/// Returns the span of a frame that has come over a socket.
pub(crate) fn frame(session: &str, agent: &str) -> Span {
    tracing::debug_span!(
        target: "accp::spans",
        parent: None,
        "frame",
        otel.name = "frame of a WebSocket",
        otel.kind = "server",
        http.route = "/accp/v1/ws",
        accp.session = session,
        accp.agent = agent,
    )
}

/// Records the session and the agent of a request.
pub(crate) fn record_target(session: &str, agent: Option<&str>) {
    let span = Span::current();
    span.record("accp.session", session);
    if let Some(agent) = agent {
        span.record("accp.agent", agent);
    }
}

/// Records the outcome of a request.
pub(crate) fn record_outcome(outcome: &str) {
    Span::current().record("accp.outcome", outcome);
}

/// Returns the name of a method. A caller may invent methods, and all of these get one name.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "_OTHER",
    }
}
