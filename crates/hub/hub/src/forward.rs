//! Forwarding to another hub, which runs a session on the shared store.
//!
//! A request is forwarded as it is, with the token of the caller: the other hub decides about it as if it had come
//! there. It is forwarded once. If the other hub does not run the session either, the caller is asked to try again.
//!
//! When this hub ends, a forwarded answer of unknown length stops, like an answer of this hub's own sessions. Events in
//! answer to a call of JSON-RPC then end with an error for this call.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream};

use crate::abort::{self, CallId};
use crate::answer::Refused;
use crate::app::{App, Shared, over};
use crate::hubs::{CONNECT, Forward};
use crate::metrics::add;

/// The header of a request that comes from another hub.
const FORWARDED: HeaderName = HeaderName::from_static("accp-forwarded");
/// Headers that are about a connection, and not about a request (RFC 9110, section 7.6.1).
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// A WebSocket to another hub.
pub(crate) type There = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Forwards a request to the hub at this address, and returns its answer.
pub(crate) async fn request(
    app: &Shared,
    session: &str,
    there: &str,
    request: Request,
) -> Result<Response, Refused> {
    let (mut parts, body) = request.into_parts();
    let call = parts.extensions.remove::<CallId>();
    send(
        app,
        session,
        there,
        (parts.method, &parts.uri, parts.headers),
        (body, call),
    )
    .await
}

/// Forwards a request whose body has been read in part, or has been read to find the call in it.
pub(crate) async fn send(
    app: &Shared,
    session: &str,
    there: &str,
    (method, uri, mut headers): (Method, &Uri, HeaderMap),
    (body, call): (Body, Option<CallId>),
) -> Result<Response, Refused> {
    let forward = way(app, &headers)?;
    for name in OF_CONNECTION {
        headers.remove(name);
    }
    // This hub has already checked the origin of the page, so the other hub gets no `Origin`. The
    // length is removed because the body may be sent in other chunks.
    headers.remove(header::ORIGIN);
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(FORWARDED, HeaderValue::from_static("1"));
    let has_body = method != Method::GET;
    let mut sent = forward.client.request(method, url(there, uri));
    if has_body {
        sent = sent.body(reqwest::Body::wrap_stream(body.into_data_stream()));
    }
    let answer = sent.headers(headers).send().await;
    let answer = answer.map_err(|error| lost(app, session, there, &error))?;
    add(&app.metrics.forwarded);
    let mut response = Response::builder().status(answer.status());
    if let Some(headers) = response.headers_mut() {
        headers.extend(answer.headers().clone());
        for name in OF_CONNECTION {
            headers.remove(name);
        }
    }
    let body = body_of(app, answer, call.clone());
    let response = response.body(body);
    let mut response = response.map_err(|error| lost(app, session, there, &error))?;
    if let Some(call) = call {
        response.extensions_mut().insert(call);
    }
    Ok(response)
}

/// Returns the body of an answer of another hub. A body whose length is not known may go on for ever, so it stops with
/// the reason when this hub ends.
fn body_of(app: &Shared, answer: reqwest::Response, call: Option<CallId>) -> Body {
    let kind = abort::kind(answer.headers());
    let is_sized = answer.content_length().is_some();
    let state = (Box::pin(answer.bytes_stream()), app.ends.clone());
    let app = Arc::clone(app);
    let pieces = stream::unfold(state, move |(mut pieces, mut ends)| {
        let (app, call) = (Arc::clone(&app), call.clone());
        async move {
            let piece = tokio::select! {
                biased;
                () = over(&mut ends), if !is_sized => {
                    add(&app.metrics.cut);
                    let why = match call {
                        Some(_) => Refused::ending_in_a_call(),
                        None => Refused::ending(),
                    };
                    Err(abort::last_words(kind, call.as_ref(), &why, &app.config.agent))
                }
                // The other hub has said why if it breaks off its answer.
                piece = pieces.next() => piece?.map_err(|_| Bytes::new()),
            };
            Some((piece, (pieces, ends)))
        }
    });
    Body::from_stream(abort::stopping(pieces))
}

/// Opens a WebSocket to the hub at this address.
pub(crate) async fn socket(
    app: &App,
    session: &str,
    there: &str,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<There, Refused> {
    let forward = way(app, headers)?;
    let url = url(there, uri).replacen("http", "ws", 1);
    let request = url.into_client_request();
    let mut request = request.map_err(|error| lost(app, session, there, &error))?;
    if let Some(token) = headers.get(header::AUTHORIZATION) {
        request
            .headers_mut()
            .insert(header::AUTHORIZATION, token.clone());
    }
    let own = request.headers_mut();
    own.insert(FORWARDED, HeaderValue::from_static("1"));
    let connector = Connector::Rustls(Arc::clone(&forward.tls));
    let connecting =
        tokio_tungstenite::connect_async_tls_with_config(request, None, true, Some(connector));
    // The future that connects is large. The box frees it once the socket is open.
    match timeout(CONNECT, Box::pin(connecting)).await {
        Ok(Ok((socket, _))) => {
            add(&app.metrics.forwarded);
            Ok(socket)
        }
        Ok(Err(error)) => Err(lost(app, session, there, &error)),
        Err(late) => Err(lost(app, session, there, &late)),
    }
}

/// Returns what this hub needs to call other hubs. Refuses a request that another hub has forwarded, because a
/// request is forwarded only once.
fn way<'a>(app: &'a App, headers: &HeaderMap) -> Result<&'a Forward, Refused> {
    let is_first = !headers.contains_key(FORWARDED);
    let forward = app.forward.as_ref().filter(|_| is_first);
    forward.ok_or_else(|| Refused::busy("the hub that runs the session"))
}

fn url(there: &str, uri: &Uri) -> String {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    format!("{}{path}", there.trim_end_matches('/'))
}

/// Returns the refusal when the other hub does not answer. It may be gone, and another hub may take the session
/// soon.
fn lost(app: &App, session: &str, there: &str, why: &dyn std::fmt::Display) -> Refused {
    tracing::warn!(session, there, %why, "another hub cannot be reached");
    app.sessions.forget(session);
    Refused::busy("an answer of the hub that runs the session")
}
