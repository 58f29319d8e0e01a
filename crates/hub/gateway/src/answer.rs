//! The answers that the gateway itself gives, in the form that clients of the asked provider expect.

use std::io;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use serde_json::json;

use crate::route::Provider;

/// Returns an error as a client of this provider reads it.
pub(crate) fn error(provider: Provider, status: StatusCode, message: &str) -> Response {
    let kind = if status == StatusCode::PAYLOAD_TOO_LARGE {
        "request_too_large"
    } else if status.is_client_error() {
        "invalid_request_error"
    } else {
        "api_error"
    };
    let message = format!("accp gateway: {message}");
    let json = match provider {
        Provider::Anthropic => json!({
            "type": "error",
            "error": { "type": kind, "message": message },
        }),
        Provider::OpenAi => json!({
            "error": { "message": message, "type": kind, "param": null, "code": null },
        }),
    };
    of_json(status, json.to_string())
}

/// Does the same as [`error`], for a request whose body may not have come whole. After such an answer the server closes
/// the connection. The answer says so: the client would otherwise send its next request there, and lose it.
pub(crate) fn closing(provider: Provider, status: StatusCode, message: &str) -> Response {
    let mut response = error(provider, status, message);
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

/// Returns a body of these pieces. The client gets all pieces that come before an error. (A server that meets an
/// error drops the bytes that it has not sent yet, so the body waits before it reports the error.)
pub(crate) fn body<S>(pieces: S) -> Body
where
    S: Stream<Item = io::Result<Bytes>> + Send + 'static,
{
    Body::from_stream(pieces.then(async |piece| {
        if piece.is_err() {
            // While this waits, the server sends what it has.
            tokio::task::yield_now().await;
        }
        piece
    }))
}

/// Returns an answer of JSON.
pub(crate) fn of_json(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
