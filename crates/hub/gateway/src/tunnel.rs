//! WebSocket connections between clients and providers. Their bytes pass unread.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::Response;
use hyper_util::rt::TokioIo;

use crate::route::Provider;
use crate::state::App;
use crate::{answer, headers, send};

/// Opens a WebSocket at the provider, and joins it with the WebSocket of the client.
pub(crate) async fn open(
    app: &Arc<App>,
    provider: Provider,
    url: &str,
    mut parts: Parts,
) -> Response {
    let client = parts.extensions.remove::<hyper::upgrade::OnUpgrade>();
    let Some(client) = client else {
        let message = "the connection cannot become a socket";
        return answer::error(provider, StatusCode::BAD_REQUEST, message);
    };
    let mut sent = parts.headers.clone();
    headers::prepare(&mut sent, false);
    for name in [header::CONNECTION, header::UPGRADE] {
        if let Some(value) = parts.headers.get(&name) {
            sent.insert(name, value.clone());
        }
    }
    let request = app.sockets.request(parts.method, url).headers(sent);
    let upstream = match request.send().await {
        Ok(upstream) => upstream,
        Err(error) => {
            let message = send::told(&app.config.shown(provider), &error);
            return answer::error(provider, StatusCode::BAD_GATEWAY, &message);
        }
    };
    let status = upstream.status();
    let headers = upstream.headers().clone();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if status != StatusCode::SWITCHING_PROTOCOLS {
        headers::remove_of_connection(response.headers_mut());
        *response.body_mut() = Body::from_stream(upstream.bytes_stream());
        return response;
    }
    tokio::spawn(async move {
        let ends = tokio::join!(client, upstream.upgrade());
        let (Ok(client), Ok(mut upstream)) = ends else {
            tracing::warn!("a socket did not open at both ends");
            return;
        };
        let mut client = TokioIo::new(client);
        // If one end breaks off, both ends are closed.
        let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
    });
    response
}
