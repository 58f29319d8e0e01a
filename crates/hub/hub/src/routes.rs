//! The routes of a hub. All routes of sessions are behind authentication.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};

use crate::answer::Refused;
use crate::app::Shared;
use crate::auth::Authenticated;
use crate::{erase, harness, layers, post as posts, puts, reads, socket, spans, ui};

/// The description of the routes.
const OPENAPI: &str = include_str!("openapi.json");

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
        .route(
            &of("registry"),
            get(reads::registry).post(harness::register),
        )
        .route(&of("phase"), post(harness::phase))
        .route(&of("recover"), post(harness::recover))
        .route(&of("fork"), post(harness::fork))
        .route(&of("agents/{name}"), delete(harness::remove))
        .route(&of("values/{key}"), get(reads::value).put(puts::put))
        .route(&of("erase"), post(erase::erase))
        .route("/metrics", get(count))
        .method_not_allowed_fallback(other_method)
        .route_layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            layers::enter,
        ));
    mounts
        .into_iter()
        .fold(open, Router::merge)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            layers::guard,
        ))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            spans::request,
        ))
        .route("/", get(ui::page))
        .route("/ui", get(ui::page))
        .route("/openapi.json", get(describe))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .method_not_allowed_fallback(other_method)
        .fallback(nowhere)
        .with_state(app)
}

async fn describe() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

async fn count(State(app): State<Shared>, _: Authenticated) -> impl IntoResponse {
    let text = app.metrics.text(app.sessions.len());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

async fn ready(State(app): State<Shared>) -> Response {
    if *app.ends.borrow() {
        return Refused::busy("a hub that goes on: this one ends").response(&app.config.agent);
    }
    match app.check_able() {
        Ok(()) => "ok\n".into_response(),
        Err(refused) => refused.response(&app.config.agent),
    }
}

async fn other_method(State(app): State<Shared>) -> Response {
    Refused::method().response(&app.config.agent)
}

async fn nowhere(State(app): State<Shared>) -> Response {
    let expected = "a route of /openapi.json";
    let code = accp_frame::ErrorCode::REF_NOT_FOUND;
    Refused::not_found(code, expected).response(&app.config.agent)
}
