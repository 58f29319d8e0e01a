//! The routes by which scripts control the provider, under a path that no client uses; and the answers to requests
//! without a body.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json as Body, Router};
use serde_json::{Value as Json, json};

use super::Upstream;
use super::script::Rule;

/// The paths of the provider itself: what it got, its rules, its clock, and a reset.
pub(super) fn routes() -> Router<Arc<Upstream>> {
    Router::new()
        .route("/_upstream/got", get(got))
        .route("/_upstream/rules", post(rules))
        .route("/_upstream/wait", post(wait))
        .route("/_upstream/clear", post(clear))
}

async fn got(State(upstream): State<Arc<Upstream>>) -> Body<Json> {
    let got = upstream.got();
    let rows = got.iter().map(|got| {
        let headers = got.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_string(), json!(String::from_utf8_lossy(value.as_bytes()))));
        let billed = got.billed.map(|billed| {
            json!({"input": billed.input, "written": billed.written, "read": billed.read, "output": billed.output})
        });
        json!({"method": got.method.as_str(), "path": got.path, "refused": got.refused, "billed": billed,
            "headers": headers.collect::<serde_json::Map<_, _>>(), "body": String::from_utf8_lossy(&got.body)})
    });
    Body(rows.collect())
}

async fn rules(State(upstream): State<Arc<Upstream>>, Body(rules): Body<Vec<Rule>>) {
    upstream.state.lock().unwrap().script.rules = rules;
}

async fn wait(State(upstream): State<Arc<Upstream>>, Body(told): Body<Json>) {
    upstream.wait(told["seconds"].as_u64().unwrap());
}

async fn clear(State(upstream): State<Arc<Upstream>>) {
    upstream.clear();
}

/// Answers a request without a body.
pub(super) fn without_body(method: &Method, path: &str, headers: &HeaderMap) -> Response {
    let models = ["claude-m", "gpt-m"];
    let is_anthropic = headers.contains_key("anthropic-version");
    let of = |name: &str| {
        if is_anthropic {
            json!({"type": "model", "id": name, "display_name": name, "created_at": "2026-02-19T00:00:00Z"})
        } else {
            json!({"id": name, "object": "model", "created": super::chat::MADE, "owned_by": "system"})
        }
    };
    if method == Method::HEAD {
        return StatusCode::OK.into_response();
    }
    if path == "/v1/models" {
        let data: Vec<Json> = models.into_iter().map(of).collect();
        let list = if is_anthropic {
            json!({"data": data, "has_more": false, "first_id": models[0], "last_id": models[1]})
        } else {
            json!({"object": "list", "data": data})
        };
        return Body(list).into_response();
    }
    match path.strip_prefix("/v1/models/") {
        Some(name) if models.contains(&name) => Body(of(name)).into_response(),
        _ => "{}".into_response(),
    }
}
