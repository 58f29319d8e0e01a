//! The routes of A2A: JSON-RPC over HTTP, and the cards of agents.

use std::sync::Arc;
use std::time::Duration;

use a2a::{A2AError, JsonRpcId, JsonRpcRequest, JsonRpcResponse, StreamResponse};
use accp_client::{Agents, Busy, Error, Principal};
use accp_frame::ErrorCode;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream;
use serde_json::Value;

use crate::call::{Answer, Call, to_value};
use crate::card::card;
use crate::config::Config;
use crate::fault::{self, Failure};
use crate::pool::AgentPool;
use crate::updates::TaskUpdates;

struct App<A> {
    config: Config,
    pool: AgentPool<A>,
}

/// Makes the routes of an agent for clients of A2A:
///
/// | Route | |
/// |---|---|
/// | `POST /` | a call of JSON-RPC: `SendMessage`, `GetTask` and so on |
/// | `GET /.well-known/agent-card.json` | the card of the agent |
///
/// A layer before the router checks who asks, and puts the [`Principal`] into the extensions of the request. The
/// request is then for the agent of that principal. A server that trusts everybody uses
/// [`TrustPath`](crate::TrustPath), which reads the principal from the path: the routes are then
/// `/{session}/{agent}` below [`Config::url`]. Only clients of A2A should use these agents, because the router
/// registers no handlers for them.
pub fn router<A: Agents>(config: Config, agents: A) -> Router {
    let limit = DefaultBodyLimit::max(config.body);
    let app = App {
        pool: AgentPool::new(agents, &config),
        config,
    };
    Router::new()
        .route("/", post(call::<A>))
        .route("/.well-known/agent-card.json", get(show::<A>))
        .method_not_allowed_fallback(|| async { (StatusCode::METHOD_NOT_ALLOWED, EXPECTED) })
        .fallback(|| async { (StatusCode::NOT_FOUND, EXPECTED) })
        .layer(limit)
        .with_state(Arc::new(app))
}

/// The answer to a request for another address, or by another method.
const EXPECTED: &str = "expected a call of JSON-RPC by POST to the address of the agent, or GET of \
                        .well-known/agent-card.json below it\n";

/// The principal for whom a request is made.
struct For(Principal);

impl<S: Sync> FromRequestParts<S> for For {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let principal = parts.extensions.get::<Principal>().cloned();
        let expected = "expected the session and the agent in the path: /a2a/lunch/dev\n";
        principal.map(Self).ok_or((StatusCode::NOT_FOUND, expected))
    }
}

async fn show<A: Agents>(State(app): State<Arc<App<A>>>, For(who): For) -> Response {
    let url = app.config.of(&who);
    match app.pool.slot(&who).registry().await {
        Ok(registry) => Json(card(&url, &who, &registry)).into_response(),
        Err(error) => Refused(error).response(JsonRpcId::Null),
    }
}

async fn call<A: Agents>(
    State(app): State<Arc<App<A>>>,
    For(who): For,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = match read(&headers, &uri, &body) {
        Ok(request) => request,
        Err((id, error)) => return failed(id, &error),
    };
    let id = request.id.clone();
    let call = match Call::read(request, who.session()) {
        Ok(call) => call,
        Err(error) => return failed(id, &error),
    };
    let frames = call.frames().saturating_sub(1);
    if !who.takes(u32::try_from(frames).unwrap_or(u32::MAX)) {
        return Refused(too_many_frames()).response(id);
    }
    let slot = app.pool.slot(&who);
    match call.answer(&slot, app.config.wait).await {
        Ok(Answer::One(result)) => Json(JsonRpcResponse::success(id, result)).into_response(),
        Ok(Answer::Stream(streamed)) => {
            let (task, updates) = *streamed;
            event_stream(id, StreamResponse::Task(task), updates, who.clone())
        }
        Err(Failure::Call(error)) => failed(id, &error),
        Err(Failure::Agent(error)) => Refused(error).response(id),
    }
}

/// Reads a call.
fn read(
    headers: &HeaderMap,
    uri: &Uri,
    body: &[u8],
) -> Result<JsonRpcRequest, (JsonRpcId, A2AError)> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| (JsonRpcId::Null, A2AError::parse_error(error.to_string())))?;
    if !value.is_object() {
        let text =
            "expected one call, as an object; a list of calls is not taken: send each by itself";
        return Err((JsonRpcId::Null, A2AError::invalid_request(text)));
    }
    let id = value.get("id").cloned().map(serde_json::from_value);
    let id: JsonRpcId = id.and_then(Result::ok).unwrap_or(JsonRpcId::Null);
    if let Err(error) = check_version(headers, uri) {
        return Err((id, error));
    }
    let call: Result<JsonRpcRequest, _> = serde_json::from_value(value);
    match call {
        Ok(call) if call.jsonrpc == "2.0" => Ok(call),
        Ok(_) => {
            let text = "expected \"jsonrpc\": \"2.0\"";
            Err((id, A2AError::invalid_request(text)))
        }
        Err(error) => Err((id, A2AError::invalid_request(error.to_string()))),
    }
}

/// Checks the version of A2A that a request names in a header, or in its query. A request that names no version, or
/// an empty one, speaks 0.3 (A2A 1.0, section 3.6.2).
fn check_version(headers: &HeaderMap, uri: &Uri) -> Result<(), A2AError> {
    let header = headers.get(a2a::SVC_PARAM_VERSION);
    let header = header.map(|version| version.to_str().unwrap_or("?").trim());
    let mut pairs = uri.query().unwrap_or_default().split('&');
    let in_query = || {
        pairs.find_map(|pair| {
            let (name, version) = pair.split_once('=')?;
            let is_version = name.eq_ignore_ascii_case(a2a::SVC_PARAM_VERSION);
            is_version.then_some(version)
        })
    };
    let named = header.filter(|version| !version.is_empty());
    let named = named.or_else(in_query);
    let named = named.filter(|version| !version.is_empty());
    let expected = match named {
        Some(version) if is_known(version) => return Ok(()),
        Some(_) => format!("expected A2A-Version: {}", a2a::VERSION),
        None => format!(
            "a request without a version speaks {UNNAMED}: send the header A2A-Version: {}",
            a2a::VERSION
        ),
    };
    let error = A2AError::version_not_supported(named.unwrap_or(UNNAMED));
    let message = format!("{error}; {expected}");
    Err(A2AError { message, ..error })
}

/// The version of A2A that a request without a version speaks.
const UNNAMED: &str = "0.3";

/// Returns whether a version is 1.0, with or without a patch number.
fn is_known(version: &str) -> bool {
    let rest = version.strip_prefix(a2a::VERSION);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn failed(id: JsonRpcId, error: &A2AError) -> Response {
    Json(JsonRpcResponse::error(id, fault::to_json_rpc(error))).into_response()
}

/// Returns the updates of a task as events. They end with an error when the server ends before the task.
fn event_stream(
    id: JsonRpcId,
    task: StreamResponse,
    updates: TaskUpdates,
    who: Principal,
) -> Response {
    let state = (id, Some(task), Some(updates), who);
    let events = stream::unfold(state, |(id, task, updates, who)| async move {
        let mut updates = updates?;
        let next = if let Some(task) = task {
            Ok(Some(task))
        } else {
            tokio::select! {
                biased;
                next = updates.next() => next,
                () = who.ends() => Err(updates.log_ended()),
            }
        };
        let (next, updates) = match next {
            Ok(Some(update)) => (Ok(update), Some(updates)),
            Ok(None) => return None,
            Err(error) => (Err(fault::of_agent(&error)), None),
        };
        let answer = match next.and_then(|update| to_value(&update)) {
            Ok(result) => JsonRpcResponse::success(id.clone(), result),
            Err(error) => JsonRpcResponse::error(id.clone(), fault::to_json_rpc(&error)),
        };
        let event = Event::default().json_data(&answer);
        Some((event, (id, None, updates, who)))
    });
    let events = Sse::new(events).keep_alive(KeepAlive::default());
    events.into_response()
}

/// Makes the error for a message with more frames than its agent may send now.
fn too_many_frames() -> Error {
    Error::Busy(Box::new(Busy {
        code: ErrorCode::TIMEOUT,
        expected: "fewer frames a second, or a message in parts".to_owned(),
        again: Duration::from_secs(1),
        is_limit: true,
    }))
}

/// The reason why a caller gets no agent.
struct Refused(Error);

impl Refused {
    fn response(&self, id: JsonRpcId) -> Response {
        let (status, error) = match &self.0 {
            Error::Denied(..) => (StatusCode::FORBIDDEN, fault::of_caller(&self.0)),
            Error::Name(..) | Error::NoSession(_) => {
                (StatusCode::NOT_FOUND, fault::of_caller(&self.0))
            }
            // The session refuses to let the agent join.
            Error::Input(_) => (StatusCode::BAD_REQUEST, fault::of_caller(&self.0)),
            Error::Damaged(_) => (StatusCode::INTERNAL_SERVER_ERROR, fault::of_agent(&self.0)),
            Error::Busy(busy) if busy.is_limit => {
                (StatusCode::TOO_MANY_REQUESTS, fault::of_agent(&self.0))
            }
            _ => (StatusCode::SERVICE_UNAVAILABLE, fault::of_agent(&self.0)),
        };
        let mut response = (status, failed(id, &error)).into_response();
        if let Error::Busy(busy) = &self.0 {
            let seconds = HeaderValue::from(busy.seconds());
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}
