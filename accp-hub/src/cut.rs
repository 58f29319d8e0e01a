//! Bodies that may have to stop before their end. Who reads one hears why, and never takes it for whole: it
//! lacks the last chunk.

use std::io;
use std::pin::Pin;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::json;

use crate::access::Denied;
use crate::answer::{ACCP, Refused};
use crate::app::Shared;
use crate::gate::Asker;
use crate::metrics::add;

/// The media type of lines of JSON.
pub(crate) const LINES: &str = "application/x-ndjson";
const EVENTS: &str = "text/event-stream";

/// Returns a response of this media type with these pieces. After an error it stops, and the log of the hub
/// says where: `what` and its session.
pub(crate) fn response(
    app: &Shared,
    kind: &'static str,
    (what, session): (&'static str, &str),
    pieces: impl Stream<Item = Result<Bytes, Refused>> + Send + 'static,
) -> Response {
    let (hub, session) = (std::sync::Arc::clone(app), session.to_owned());
    let pieces = pieces.map(move |piece| {
        piece.map_err(|why| {
            add(&hub.metrics.cut);
            tracing::error!(what, session, why = why.expected, "an answer was cut off");
            reason(kind, &why, &hub.config.agent)
        })
    });
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(kind))];
    (kind, Body::from_stream(stopping(pieces))).into_response()
}

/// Lets a response stop when the right of the asker is over.
pub(crate) fn at_the_end_of(asker: Asker, app: &Shared, response: Response) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let kind = kind(&parts.headers);
    let app = std::sync::Arc::clone(app);
    let over: Over = Box::pin(asker.over());
    let pieces = stream::unfold(
        (body.into_data_stream(), over),
        move |(mut body, mut over)| {
            let app = std::sync::Arc::clone(&app);
            async move {
                let piece = tokio::select! {
                    biased;
                    denied = &mut over => {
                        add(&app.metrics.cut);
                        Err(reason(kind, &denied.into(), &app.config.agent))
                    }
                    piece = body.next() => piece?.map_err(|_| Bytes::new()),
                };
                Some((piece, (body, over)))
            }
        },
    );
    Response::from_parts(parts, Body::from_stream(stopping(pieces)))
}

type Over = Pin<Box<dyn Future<Output = Denied> + Send>>;

/// Ends a body after an error, with the bytes that say why.
fn stopping(
    pieces: impl Stream<Item = Result<Bytes, Bytes>> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let pieces = Box::pin(pieces);
    stream::unfold(State::Goes(pieces), |state| async {
        match state {
            State::Goes(mut pieces) => match pieces.next().await? {
                Ok(piece) => Some((Ok(piece), State::Goes(pieces))),
                Err(reason) => Some((Ok(reason), State::Stops)),
            },
            State::Stops => {
                // What was said leaves before the connection breaks.
                tokio::task::yield_now().await;
                let error = io::Error::other("the answer was cut off");
                Some((Err(error), State::Ended))
            }
            State::Ended => None,
        }
    })
}

enum State<S> {
    Goes(Pin<Box<S>>),
    Stops,
    Ended,
}

/// Says why a body stops, in its own form.
fn reason(kind: &str, why: &Refused, hub: &str) -> Bytes {
    let frame = why.frame(hub);
    let text = match kind {
        ACCP => frame + "\n",
        LINES => {
            json!({ "error": { "code": why.code.to_string(), "expected": why.expected } })
                .to_string()
                + "\n"
        }
        EVENTS => format!("event: error\ndata: {frame}\n\n"),
        _ => String::new(),
    };
    text.into()
}

/// Returns the media type of a response, if its form can say why it stops.
fn kind(headers: &HeaderMap) -> &'static str {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let known = [ACCP, LINES, EVENTS].into_iter();
    known
        .into_iter()
        .find(|known| *known == kind)
        .unwrap_or_default()
}
