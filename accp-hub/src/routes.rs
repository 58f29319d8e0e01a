//! The routes of a hub, and who may use them.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawPathParams, Request, State};
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any_service, get, post};
use serde::Deserialize;

use crate::answer::Refused;
use crate::app::{App, Caller, Shared};
use crate::metrics::add;
use crate::{erase, forward, post as posts, puts, reads, socket, spans, ui};

/// The description of the routes.
const OPENAPI: &str = include_str!("openapi.json");

/// Makes the routes of a service that answers for single agents.
pub(crate) fn of_agents<S>(app: &Shared, path: &str, service: S) -> Router<Shared>
where
    S: tower_service::Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Response: IntoResponse,
    S::Future: Send + 'static,
{
    let path = format!("{path}/{{session}}/{{agent}}");
    let below = format!("{path}/{{*below}}");
    let admit = middleware::from_fn_with_state(Arc::clone(app), admit);
    Router::new()
        .route(&path, any_service(service.clone()))
        .route(&below, any_service(service))
        .route_layer(admit)
}

/// Whose path a service answers.
#[derive(Deserialize)]
struct At {
    session: String,
    agent: String,
}

/// Refuses callers who may not speak as the agent of the path.
async fn admit(
    State(app): State<Shared>,
    Path(At { session, agent }): Path<At>,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    match caller.check(&session, Some(&agent)) {
        Ok(()) => {
            spans::goes_to(&session, Some(&agent));
            follow(&app, &session, plain(request), next).await
        }
        Err(refused) => {
            add(&app.metrics.denied);
            spans::ends("denied");
            refused.response(&app.config.agent)
        }
    }
}

/// Returns a request without what the routes of the hub have found in it: a router that is mounted would
/// count the parts of the path among its own.
fn plain(request: Request) -> Request {
    let (mut parts, body) = request.into_parts();
    parts.extensions = Extensions::new();
    Request::from_parts(parts, body)
}

/// Refuses callers who may not enter the session of the path, if there is one.
async fn enter(
    State(app): State<Shared>,
    path: RawPathParams,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    let session = path.iter().find(|(name, _)| *name == "session");
    let Some((_, session)) = session else {
        return next.run(request).await;
    };
    match caller.check(session, None) {
        Ok(()) => follow(&app, session, request, next).await,
        Err(refused) => refused.response(&app.config.agent),
    }
}

/// Hands a request on if another hub runs its session.
async fn follow(app: &App, session: &str, request: Request, next: Next) -> Response {
    let answer = match app.sessions.elsewhere(session).await {
        Ok(None) => return next.run(request).await,
        Ok(Some(there)) => {
            spans::goes_to(session, None);
            spans::ends("handed on");
            forward::request(app, session, &there, request).await
        }
        Err(refused) => Err(refused),
    };
    answer.unwrap_or_else(|refused| refused.response(&app.config.agent))
}

pub(crate) fn router(app: Shared, mounts: Vec<Router<Shared>>) -> Router {
    let session = "/accp/v1/sessions/{session}";
    let of = |path: &str| format!("{session}/{path}");
    let open = Router::new()
        .route("/accp/v1/frames", post(posts::post))
        .route("/accp/v1/ws", get(socket::open))
        .route("/accp/v1/sessions", get(reads::sessions))
        .route(&of("frames"), get(reads::frames))
        .route(&of("context"), get(reads::context))
        .route(&of("state"), get(reads::state))
        .route(&of("registry"), get(reads::registry))
        .route(&of("values/{key}"), get(reads::value).put(puts::put))
        .route(&of("erase"), post(erase::erase))
        .route("/metrics", get(count))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&app), enter));
    mounts
        .into_iter()
        .fold(open, Router::merge)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            spans::request,
        ))
        .route("/ui", get(ui::page))
        .route("/openapi.json", get(describe))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .fallback(nowhere)
        .with_state(app)
}

async fn describe() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

async fn count(State(app): State<Shared>) -> impl IntoResponse {
    let text = app.metrics.text(app.sessions.len());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

async fn ready(State(app): State<Shared>) -> Response {
    if *app.ends.borrow() {
        return (StatusCode::SERVICE_UNAVAILABLE, "the hub ends\n").into_response();
    }
    match app.sessions.check().await {
        Ok(()) => "ok\n".into_response(),
        Err(refused) => refused.response(&app.config.agent),
    }
}

async fn nowhere(State(app): State<Shared>) -> Response {
    let expected = "a route of /openapi.json";
    let code = accp_runtime::ErrorCode::REF_NOT_FOUND;
    Refused::not_found(code, expected).response(&app.config.agent)
}

/// Refuses pages of other origins, and callers that nobody knows.
async fn guard(State(app): State<Shared>, mut request: Request<Body>, next: Next) -> Response {
    let refused = |refused: Refused| {
        add(&app.metrics.denied);
        spans::ends("denied");
        refused.response(&app.config.agent)
    };
    if !is_origin_fine(&app, request.headers()) {
        return refused(Refused::origin());
    }
    if !is_host_fine(&app, request.headers()) {
        return refused(Refused::host());
    }
    let token = bearer(request.headers()).map(str::to_owned);
    match app.access.identify(token.as_deref()).await {
        Ok(identity) => {
            request.extensions_mut().insert(Caller { identity, token });
            next.run(request).await
        }
        Err(denied) => refused(denied.into()),
    }
}

/// A browser says which page asks. Otherwise any page that a user opens could use a hub on loopback.
fn is_origin_fine(app: &App, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let Ok(origin) = origin.to_str() else {
        return false;
    };
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let is_own = host.is_some_and(|host| {
        let scheme = if app.config.tls.is_some() {
            "https"
        } else {
            "http"
        };
        origin
            .strip_prefix(scheme)
            .and_then(|rest| rest.strip_prefix("://"))
            == Some(host)
    });
    // A page of another name that leads to loopback has its own name as `Host`, too.
    let is_own = is_own && (!app.access.is_open() || host.is_some_and(is_loopback));
    is_own || app.config.origins.iter().any(|known| known == origin)
}

/// A page whose name leads to loopback reads the hub as its own origin, and a browser sends no `Origin`
/// then. So a hub without tokens that everybody on its machine may use answers to names of loopback and of
/// `origins` alone.
fn is_host_fine(app: &App, headers: &HeaderMap) -> bool {
    if !app.access.is_open() || app.config.anybody_from_anywhere {
        return true;
    }
    let Some(host) = headers.get(header::HOST) else {
        return true;
    };
    host.to_str().is_ok_and(|host| {
        let name = |origin: &String| {
            origin
                .split_once("://")
                .is_some_and(|(_, name)| name == host)
        };
        is_loopback(host) || app.config.origins.iter().any(name)
    })
}

fn is_loopback(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) {
            name
        } else {
            host
        }
    });
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
