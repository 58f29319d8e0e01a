//! A provider on loopback. It refuses lists as providers do, keeps beginnings in a cache, and bills by the rules that are
//! published: a mark stores the beginning up to it, and a read finds the longest stored one, up to 20 blocks back.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use accp_frame::TokenCounter as _;
use accp_tokens::Bpe;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;

/// How the provider answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mood {
    #[default]
    Well,
    /// It refuses every list that is not one of these bytes.
    Refuses(usize),
    /// It asks for patience.
    Busy,
    /// Its answer breaks off after the first event.
    Breaks,
    /// Its answer waits after the first event.
    Waits,
    /// Its answer is no JSON.
    Garbage,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
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
    cache: Mutex<HashMap<String, HashSet<String>>>,
    pub(crate) goes_on: Notify,
}

impl Upstream {
    /// Starts a provider.
    pub(crate) async fn start() -> (Arc<Self>, String) {
        let upstream = Arc::new(Self::default());
        let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)));
        let listener = listener.await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let routes = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&upstream));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (upstream, url)
    }

    pub(crate) fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    pub(crate) fn got(&self) -> MutexGuard<'_, Vec<Got>> {
        self.got.lock().unwrap()
    }

    pub(crate) fn last(&self) -> Got {
        self.got().last().unwrap().clone()
    }

    /// Returns what a list costs, and stores it: plain input, written, read.
    fn bill(&self, key: &str, body: &Json) -> [u64; 3] {
        let mut cache = self.cache.lock().unwrap();
        let stored = cache.entry(key.to_owned()).or_default();
        let mut blocks = Vec::new();
        for member in ["tools", "system", "messages", "input"] {
            let items = body[member].as_array().into_iter().flatten();
            for item in items {
                match item["content"].as_array() {
                    Some(parts) => blocks.extend(parts.iter().cloned()),
                    None => blocks.push(item.clone()),
                }
            }
        }
        let mut beginning = String::new();
        let (mut all, mut read, mut until) = (0, 0, 0);
        let mut marked = Vec::new();
        let explicit = body.to_string().contains("cache_control");
        for block in &blocks {
            let mut bare = block.clone();
            let mark = bare
                .as_object_mut()
                .and_then(|map| map.remove("cache_control"));
            beginning.push_str(&bare.to_string());
            all += tokens(&bare);
            if stored.contains(&digest(&beginning)) {
                read = all;
            }
            if mark.is_some() || !explicit {
                marked.push(digest(&beginning));
                until = all;
            }
        }
        stored.extend(marked);
        [all - read.max(until), until.saturating_sub(read), read]
    }
}

fn digest(text: &str) -> String {
    let whole = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    hex::encode(whole)
}

/// Returns the tokens of the texts of a block.
fn tokens(block: &Json) -> u64 {
    match block {
        Json::String(text) => Bpe::o200k_base().count(text) as u64,
        Json::Array(items) => items.iter().map(tokens).sum(),
        Json::Object(map) => map.values().map(tokens).sum(),
        _ => 1,
    }
}

/// Returns why a list is refused.
fn refusal(body: &Json) -> Option<String> {
    let messages = body["messages"].as_array()?;
    let marks = body.to_string().matches("\"cache_control\"").count();
    if marks > 4 {
        return Some(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {marks}."
        ));
    }
    let ids = |message: &Json, kind: &str, key: &str| -> Vec<String> {
        let blocks = message["content"].as_array().into_iter().flatten();
        let blocks = blocks.filter(|block| block["type"] == kind);
        blocks
            .map(|block| block[key].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    for (at, message) in messages.iter().enumerate() {
        let called = ids(message, "tool_use", "id");
        let answered = messages
            .get(at + 1)
            .map(|next| ids(next, "tool_result", "tool_use_id"));
        if !called.is_empty() && answered.as_ref() != Some(&called) {
            return Some(format!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}.",
                called.join(", ")
            ));
        }
    }
    None
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
    upstream.got().push(Got {
        method,
        path: path.clone(),
        headers,
        body: body.clone(),
    });
    let mood = *upstream.mood.lock().unwrap();
    let invalid = |message: &str| {
        let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        (StatusCode::BAD_REQUEST, axum::Json(error)).into_response()
    };
    match mood {
        Mood::Refuses(length) if body.len() != length => {
            return invalid("thinking blocks cannot be modified");
        }
        Mood::Busy => {
            let error = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
            let after = [
                (header::RETRY_AFTER, "7"),
                (header::HeaderName::from_static("request-id"), "r1"),
            ];
            return (StatusCode::TOO_MANY_REQUESTS, after, axum::Json(error)).into_response();
        }
        Mood::Garbage => return "<html>".into_response(),
        _ => {}
    }
    let Ok(json) = serde_json::from_slice::<Json>(&body) else {
        return if body.is_empty() {
            "{}".into_response()
        } else {
            invalid("the body is not JSON")
        };
    };
    if let Some(message) = refusal(&json) {
        return invalid(&message);
    }
    let [input, written, read] = upstream.bill(&key, &json);
    let usage = if path.starts_with("/v1/messages") {
        json!({"input_tokens": input, "cache_creation_input_tokens": written, "cache_read_input_tokens": read,
            "output_tokens": 10})
    } else {
        json!({"prompt_tokens": input + written + read, "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": read}})
    };
    if json["stream"] == true {
        return streamed(&upstream, mood, &usage);
    }
    let answer = json!({"id": "a1", "type": "message", "role": "assistant", "model": json["model"],
        "content": [{"type": "text", "text": "Noted."}], "usage": usage});
    axum::Json(answer).into_response()
}

/// Answers in events.
fn streamed(upstream: &Arc<Upstream>, mood: Mood, usage: &Json) -> Response {
    let first = json!({"type": "message_start", "message": {"model": "claude-m", "usage": usage}});
    let first = format!(
        "event: message_start\ndata: {first}\n\nevent: ping\ndata: {{\"type\": \"ping\"}}\n\n"
    );
    let rest = "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":33}}\n\n\
        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let upstream = Arc::clone(upstream);
    let rest = stream::once(async move {
        match mood {
            Mood::Breaks => {
                upstream.goes_on.notified().await;
                Err(std::io::Error::other("broken"))
            }
            Mood::Waits => {
                upstream.goes_on.notified().await;
                Ok(Bytes::from_static(rest.as_bytes()))
            }
            _ => Ok(Bytes::from_static(rest.as_bytes())),
        }
    });
    let events = stream::once(async { Ok(Bytes::from(first)) }).chain(rest);
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, Body::from_stream(events)).into_response()
}
