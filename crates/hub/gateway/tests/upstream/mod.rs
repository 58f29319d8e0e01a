//! A test provider on loopback, as strict as the real ones. It answers in the forms of the three APIs, bills by the
//! published rules of caches (`cache`), refuses what the providers refuse, with their words (`refusals`), and signs
//! its thoughts over the list before them (`seal`). A script says what it answers (`script`). The tests, the examples
//! and scripts in other languages share it.

#![allow(dead_code, reason = "each program that shares this uses a part of it")]

mod cache;
mod chat;
mod claude;
mod control;
mod list;
mod read;
mod refusal;
mod refusals;
mod responses;
mod script;
mod seal;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;

pub(crate) use cache::Billed;
pub(crate) use script::Block;

use cache::Cache;
use refusal::Refusal;
use script::Script;

/// How the provider answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mood {
    #[default]
    Well,
    /// It refuses every request whose body does not have this number of bytes.
    Refuses(usize),
    /// It answers 429, with the time after which to try again.
    Busy,
    /// It answers 401, and its error repeats the key of the client in a member of its own.
    Repeats,
    /// Its answer breaks off after the first event.
    Breaks,
    /// Its answer waits after the first event, until [`Upstream::goes_on`] is notified.
    Waits,
    /// Its answer is not JSON.
    Garbage,
}

/// A request as it came, and its outcome.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Why it was refused, if it was.
    pub(crate) refused: Option<String>,
    /// What was billed for it, if a model answered.
    pub(crate) billed: Option<Billed>,
}

impl Got {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap()
    }
}

#[derive(Default)]
pub(crate) struct Upstream {
    got: Mutex<Vec<Got>>,
    mood: Mutex<Mood>,
    /// The moods of the next requests.
    moods: Mutex<VecDeque<Mood>>,
    state: Mutex<Told>,
    pub(crate) goes_on: Notify,
}

/// The state of the provider.
#[derive(Default)]
struct Told {
    cache: Cache,
    script: Script,
    /// The time of the provider's own clock, in seconds.
    clock: u64,
    /// The number of answers so far, from which their ids are made.
    answers: u64,
    /// The lists of answers that Responses stored.
    stored: responses::Stored,
    /// Whether only the last request is recorded.
    forgets: bool,
    refusals: u64,
}

impl Upstream {
    /// Starts a provider on a free port.
    pub(crate) async fn start() -> (Arc<Self>, String) {
        Self::start_on(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Starts a provider.
    pub(crate) async fn start_on(address: SocketAddr) -> (Arc<Self>, String) {
        let upstream = Arc::new(Self::default());
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let routes = control::routes()
            .fallback(answer)
            .layer(DefaultBodyLimit::max(64 << 20))
            .with_state(Arc::clone(&upstream));
        let routes: Router = routes;
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (upstream, url)
    }

    pub(crate) fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// Answers the next requests in these moods, one after the other.
    pub(crate) fn is_first(&self, moods: impl IntoIterator<Item = Mood>) {
        self.moods.lock().unwrap().extend(moods);
    }

    pub(crate) fn got(&self) -> MutexGuard<'_, Vec<Got>> {
        self.got.lock().unwrap()
    }

    pub(crate) fn last(&self) -> Got {
        self.got().last().unwrap().clone()
    }

    /// Returns how many requests the provider has refused since the last call of this function.
    pub(crate) fn refusals(&self) -> u64 {
        std::mem::take(&mut self.state.lock().unwrap().refusals)
    }

    /// Moves the clock of the caches on.
    pub(crate) fn wait(&self, seconds: u64) {
        self.state.lock().unwrap().clock += seconds;
    }

    /// Answers the next requests with these blocks, one list for each.
    pub(crate) fn says(&self, turns: impl IntoIterator<Item = Vec<Block>>) {
        self.state.lock().unwrap().script.queue.extend(turns);
    }

    /// Adds a rule: the provider calls this tool while a request offers it and its list has fewer than `times`
    /// results.
    pub(crate) fn calls(&self, tool: &str, input: Json, times: usize) {
        let rule = script::Rule::new(tool, input, times);
        self.state.lock().unwrap().script.rules.push(rule);
    }

    /// Takes the rules of a script: a list as JSON.
    pub(crate) fn set_rules(&self, text: &str) {
        self.state.lock().unwrap().script.rules = serde_json::from_str(text).unwrap();
    }

    /// Records only the last request, because the requests of a long run do not fit into memory.
    pub(crate) fn forget(&self) {
        self.state.lock().unwrap().forgets = true;
    }

    /// Resets the provider, but keeps the rules of the script.
    pub(crate) fn clear(&self) {
        self.got().clear();
        let mut state = self.state.lock().unwrap();
        let (rules, forgets) = (std::mem::take(&mut state.script.rules), state.forgets);
        *state = Told::default();
        state.script.rules = rules;
        state.forgets = forgets;
    }
}

/// Returns the answer for a refusal, in the form of the provider's errors.
fn refused(path: &str, refusal: &Refusal) -> Response {
    let error = if path.starts_with("/v1/messages") || path.starts_with("/v1/complete") {
        json!({"type": "error", "error": {"type": refusal.kind, "message": refusal.message}, "request_id": "req_0"})
    } else {
        json!({"error": {"message": refusal.message, "type": refusal.kind, "param": refusal.param, "code": null}})
    };
    let status = StatusCode::from_u16(refusal.status).unwrap();
    (status, axum::Json(error)).into_response()
}

async fn answer(
    State(upstream): State<Arc<Upstream>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path_and_query().unwrap().to_string();
    let key = headers
        .get("x-api-key")
        .or(headers.get(header::AUTHORIZATION));
    let key = key.map_or("", |key| key.to_str().unwrap()).to_owned();
    let place = {
        let forgets = upstream.state.lock().unwrap().forgets;
        let mut got = upstream.got();
        if forgets {
            got.clear();
        }
        got.push(Got {
            method: method.clone(),
            path: path.clone(),
            headers: headers.clone(),
            body: body.clone(),
            refused: None,
            billed: None,
        });
        got.len() - 1
    };
    let refuse = |refusal: &Refusal| {
        if let Some(got) = upstream.got().get_mut(place) {
            got.refused = Some(refusal.message.clone());
        }
        upstream.state.lock().unwrap().refusals += 1;
        refused(&path, refusal)
    };
    let first = upstream.moods.lock().unwrap().pop_front();
    let mood = first.unwrap_or(*upstream.mood.lock().unwrap());
    match mood {
        Mood::Refuses(length) if body.len() != length => {
            return refuse(&Refusal::invalid("thinking blocks cannot be modified"));
        }
        Mood::Busy => {
            let error = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
            let after = [
                (header::RETRY_AFTER, "7"),
                (header::HeaderName::from_static("request-id"), "r1"),
            ];
            return (StatusCode::TOO_MANY_REQUESTS, after, axum::Json(error)).into_response();
        }
        Mood::Repeats => {
            let error = json!({"detail": format!("nobody knows the key {key}")});
            return (StatusCode::UNAUTHORIZED, axum::Json(error)).into_response();
        }
        Mood::Garbage => return "<html>".into_response(),
        _ => {}
    }
    if key.ends_with("wrong") {
        return refuse(&Refusal::key());
    }
    let bare = uri.path();
    if body.is_empty() {
        return control::without_body(&method, bare, &headers);
    }
    let Ok(json) = serde_json::from_slice::<Json>(&body) else {
        return refuse(&Refusal::invalid("The request body is not valid JSON"));
    };
    let mut state = upstream.state.lock().unwrap();
    let asked = match read::read(bare, json, &headers, &state.stored) {
        Ok(asked) => asked,
        Err(refusal) => {
            drop(state);
            return refuse(&refusal);
        }
    };
    let Some(asked) = asked else {
        return axum::Json(json!({})).into_response();
    };
    if bare == "/v1/messages/count_tokens" {
        let count = json!({"input_tokens": state.cache.count(&asked)});
        return axum::Json(count).into_response();
    }
    let clock = state.clock;
    let mut billed = state.cache.bill(&key, &asked, clock);
    let blocks = state.script.turn(&asked);
    billed.output = Cache::count_output(&blocks);
    state.answers += 1;
    let number = state.answers;
    let pieces = match asked.api {
        list::Api::Messages => claude::answer(&asked, number, &blocks, billed),
        list::Api::Chat => chat::answer(&asked, number, &blocks, billed),
        list::Api::Responses => {
            responses::answer(&asked, number, &blocks, billed, &mut state.stored)
        }
    };
    drop(state);
    if let Some(got) = upstream.got().get_mut(place) {
        got.billed = Some(billed);
    }
    let id = [
        ("request-id", format!("req_{number}")),
        ("x-request-id", format!("req_{number}")),
    ];
    if asked.is_stream() {
        return (id, streamed(&upstream, mood, pieces)).into_response();
    }
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, id, pieces.concat()).into_response()
}

/// Answers in events. In the moods `Breaks` and `Waits`, the answer stops after its first event until `goes_on` is
/// notified.
fn streamed(upstream: &Arc<Upstream>, mood: Mood, mut events: Vec<String>) -> Response {
    let rest = events.split_off(1);
    let upstream = Arc::clone(upstream);
    let after = stream::once(async move {
        if matches!(mood, Mood::Breaks | Mood::Waits) {
            upstream.goes_on.notified().await;
        }
        if mood == Mood::Breaks {
            return stream::iter(vec![Err(std::io::Error::other("broken"))]);
        }
        stream::iter(
            rest.into_iter()
                .map(|event| Ok(Bytes::from(event)))
                .collect::<Vec<_>>(),
        )
    });
    let first = stream::iter(events.into_iter().map(|event| Ok(Bytes::from(event))));
    let events = first.chain(after.flatten());
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, Body::from_stream(events)).into_response()
}
