//! The layers of the hub. They authenticate and authorise each request before its route.

mod pages;
mod unread;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use accp_client::Principal;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Extensions, Method, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::any_service;
use tokio::sync::watch::Sender;
use tokio::time::sleep;

use crate::abort::{Abort, CallId};
use crate::access::Denied;
use crate::answer::Refused;
use crate::app::{App, Shared};
use crate::auth::{Authenticated, Authorized, Named};
use crate::body::BodyFrames;
use crate::metrics::add;
use crate::{abort, forward, query, spans};
use unread::BodyRead;

/// Authenticates a request, and refuses pages of other sites. When the right of the requester ends, everything that
/// the request has opened ends, too.
pub(crate) async fn guard(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let body = BodyRead::watch(&mut request);
    body.tell(guarded(&app, request, next).await)
}

async fn guarded(app: &Shared, mut request: Request, next: Next) -> Response {
    let refused = |refused: Refused| {
        add(&app.metrics.denied);
        spans::record_outcome("denied");
        refused.response(&app.config.agent)
    };
    if let Err(page) = pages::check(app, request.headers()) {
        return refused(page);
    }
    let requester = match Authenticated::of(app, request.headers()).await {
        Ok(requester) => requester,
        Err(denied) => return refused(denied),
    };
    request.extensions_mut().insert(requester.clone());
    let connection = request.extensions().get::<Abort>().cloned();
    let response = tokio::select! {
        biased;
        denied = requester.clone().over() => return refused(denied.into()),
        response = next.run(request) => response,
    };
    abort::abort_when_over(requester, app, &connection.unwrap_or_default(), response)
}

/// Authorises a request for the session of the path, and forwards it if another hub runs the session.
pub(crate) async fn enter(
    State(app): State<Shared>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    requester: Authenticated,
    mut request: Request,
    next: Next,
) -> Response {
    let Ok(path) = path else {
        return denied(&app, &no_path());
    };
    let entered = match path.iter().find(|(name, _)| *name == "session") {
        None => return next.run(request).await,
        Some((_, session)) => named(&requester, request.uri()).and_then(|agent| {
            let agent = agent.as_deref().or(requester.name());
            requester.enter(session, agent)
        }),
    };
    match entered {
        Ok(caller) => {
            request.extensions_mut().insert(caller.clone());
            follow(&app, &caller, request, next).await
        }
        Err(refused) => denied(&app, &refused),
    }
}

/// Reads the agent that a query names.
fn named(requester: &Authenticated, uri: &Uri) -> Result<Option<String>, Refused> {
    if requester.name().is_some() && uri.query().is_none() {
        return Ok(None);
    }
    let named: Named = query::read(uri)?;
    Ok(named.agent)
}

/// The refusal of a path whose `%` escapes are not the bytes of a text in UTF-8.
fn no_path() -> Refused {
    Refused::invalid("a path whose `%` escapes are UTF-8")
}

fn denied(app: &App, refused: &Refused) -> Response {
    spans::record_refusal(app, refused);
    refused.response(&app.config.agent)
}

/// Forwards a request if another hub runs its session.
async fn follow(app: &Shared, caller: &Authorized, request: Request, next: Next) -> Response {
    match app.sessions.elsewhere(caller.session()).await {
        Ok(None) => next.run(request).await,
        Ok(Some(there)) => hand_on(app, caller, &there, request).await,
        Err(refused) => refused.response(&app.config.agent),
    }
}

/// Forwards a request to the hub that runs its session.
async fn hand_on(app: &Shared, caller: &Authorized, there: &str, request: Request) -> Response {
    spans::record_outcome("handed on");
    let answer = forward::request(app, caller.session(), there, request).await;
    answer.unwrap_or_else(|refused| refused.response(&app.config.agent))
}

/// Makes the routes of a mounted service. Each request to such a service is for one agent of one session.
pub(crate) fn mount<S>(app: &Shared, path: &str, service: S) -> Router<Shared>
where
    S: tower_service::Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Response: IntoResponse,
    S::Future: Send + 'static,
{
    let agent = format!("{path}/{{session}}/{{agent}}");
    let below = format!("{agent}/{{*below}}");
    let state = (Arc::clone(app), Arc::<str>::from(path));
    Router::new()
        .route(&agent, any_service(service.clone()))
        .route(&below, any_service(service))
        .route_layer(middleware::from_fn_with_state(state, admit))
}

/// Authorises a request as the agent of the path. The service gets the principal, the rest of the path and the body,
/// and nothing else about the caller.
async fn admit(
    State((app, mounted)): State<(Shared, Arc<str>)>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let Ok(path) = path else {
        return denied(&app, &no_path());
    };
    let part = |name: &str| {
        path.iter()
            .find(|(key, _)| *key == name)
            .map(|(_, part)| part)
    };
    let requester = request.extensions().get::<Authenticated>().cloned();
    let (Some(session), Some(agent), Some(requester)) = (part("session"), part("agent"), requester)
    else {
        return denied(&app, &Denied::Token.into());
    };
    let entered = match requester.enter(session, Some(agent)) {
        Ok(caller) => {
            let checked = app.sessions.check_names(session, agent).await;
            checked.map(|()| caller)
        }
        Err(refused) => Err(refused),
    };
    let answer = match entered {
        Ok(caller) => admitted(&app, &caller, &mounted, request, next).await,
        Err(refused) => Err(refused),
    };
    answer.unwrap_or_else(|refused| denied(&app, &refused))
}

/// Hands a request to a service, or to the hub that runs its session.
async fn admitted(
    app: &Shared,
    caller: &Authorized,
    mounted: &str,
    mut request: Request,
    next: Next,
) -> Result<Response, Refused> {
    // The hub that has the session counts the forwarded request, so this hub does not.
    if app.sessions.elsewhere(caller.session()).await?.is_some() {
        request = with_call(app, caller, request).await?;
        // While the body came, this hub may have taken the session over.
        if let Some(there) = app.sessions.elsewhere(caller.session()).await? {
            return Ok(hand_on(app, caller, &there, request).await);
        }
    }
    let request = taken(app, caller, mounted, request).await?;
    let call = request.extensions().get::<CallId>().cloned();
    let mut response = next.run(request).await;
    if let Some(call) = call {
        response.extensions_mut().insert(call);
    }
    Ok(response)
}

/// Counts a request for a service, and reads its whole body.
async fn taken(
    app: &App,
    caller: &Authorized,
    mounted: &str,
    request: Request,
) -> Result<Request, Refused> {
    let (parts, body) = request.into_parts();
    let mut call = None;
    let mut caller = caller.clone();
    let body = if is_safe(&parts.method) {
        Body::empty()
    } else {
        app.check_able()?;
        let body = whole(app, &caller, body).await?;
        // A request counts as a frame, whatever the service does with it.
        caller.takes(1, body.len())?;
        call = CallId::read(&body);
        // A service keeps the request until it has answered it.
        caller = caller.with_body(body.len())?;
        Body::from(body)
    };
    let mut request = Request::new(body);
    *request.method_mut() = parts.method;
    *request.uri_mut() = rest(&parts.uri, mounted)?;
    *request.headers_mut() = parts.headers;
    let principal = Principal::new(caller.session(), caller.speaker()?);
    let mut extensions = Extensions::new();
    extensions.insert(principal.metered(Arc::new(caller)));
    if let Some(call) = call {
        extensions.insert(call);
    }
    *request.extensions_mut() = extensions;
    Ok(request)
}

/// Reads the whole body of a request that another hub answers. If this hub ends first, it answers the call in the body.
async fn with_call(app: &App, caller: &Authorized, request: Request) -> Result<Request, Refused> {
    if is_safe(request.method()) {
        return Ok(request);
    }
    let (mut parts, body) = request.into_parts();
    let body = whole(app, caller, body).await?;
    if let Some(call) = CallId::read(&body) {
        parts.extensions.insert(call);
    }
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Reads the whole body of a request for a service.
async fn whole(app: &App, caller: &Authorized, body: Body) -> Result<Vec<u8>, Refused> {
    let limits = &app.config.limits;
    let frames = BodyFrames::value(body, limits.request, limits, caller.body_quota());
    frames.whole(Vec::new()).await
}

/// Returns whether a method changes nothing (RFC 9110, section 9.2.1).
fn is_safe(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE
    )
}

/// Returns the part of a path after the session and the agent.
fn rest(uri: &Uri, mounted: &str) -> Result<Uri, Refused> {
    let path = uri.path().strip_prefix(mounted).unwrap_or_default();
    let rest = path.splitn(4, '/').nth(3).unwrap_or_default();
    let query = uri.query().map(|query| format!("?{query}"));
    let rest = format!("/{rest}{}", query.unwrap_or_default());
    rest.parse().map_err(|_| Refused::invalid("an address"))
}

/// Notifies all open requests when tokens or keys change. If the access has no revision, the requests check once
/// a second.
pub(crate) async fn watch(app: Shared, revision: Sender<u64>) {
    if app.access.is_open() {
        return;
    }
    let mut turns: u64 = 0;
    while !revision.is_closed() {
        sleep(LOOKS).await;
        turns += 1;
        let now = app.access.revision().unwrap_or(turns / 4);
        revision.send_if_modified(|seen| {
            let has_changed = *seen != now;
            *seen = now;
            has_changed
        });
    }
}

/// How often the hub checks whether tokens or keys have changed.
const LOOKS: Duration = Duration::from_millis(250);
