//! Response bodies that may be aborted. An aborted body says why, and lacks its last chunk, so that no client takes it
//! for complete.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, StreamExt as _, stream};
use hyper::body::{Frame, SizeHint};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::access::Denied;
use crate::answer::{ACCP, Refused};
use crate::app::Shared;
use crate::auth::Authenticated;
use crate::metrics::add;

/// The media type of lines of JSON.
pub(crate) const LINES: &str = "application/x-ndjson";
const EVENTS: &str = "text/event-stream";
/// The code of JSON-RPC for a call that its client may not make.
const INVALID: i32 = -32600;
/// The code of JSON-RPC for a call that the server cannot finish.
const UNFINISHED: i32 = -32603;

/// Returns a response of this media type with these pieces. After an error the response stops, and the hub logs
/// `what` and the session. A hub that ends also stops the responses to clients that follow a log. The hub does not
/// log this as an error.
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
            let expected = &why.expected;
            if *hub.ends.borrow() {
                tracing::debug!(
                    what,
                    session,
                    why = expected,
                    "an answer was cut off, because the hub ends"
                );
            } else {
                tracing::error!(what, session, why = expected, "an answer was cut off");
            }
            reason(kind, &why, &hub.config.agent)
        })
    });
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(kind))];
    (kind, Body::from_stream(stopping(pieces))).into_response()
}

/// The id of a call of JSON-RPC, in the extensions of the response to this call.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CallId {
    id: Value,
}

impl CallId {
    /// Reads the id from the body of the request. `None` if the body is not a call.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let call: Self = serde_json::from_slice(body).ok()?;
        (call.id.is_string() || call.id.is_number()).then_some(call)
    }

    /// Returns the answer to the call as an event. Clients of MCP read no event with a name, so they would not learn
    /// from the event `error` why their call has ended.
    fn fails(&self, why: &Refused) -> String {
        let code = why.code.to_string();
        let message = format!("{code}: expected {}", why.expected);
        // The hub is at fault where the same call may work later.
        let number = if why.again.is_some() {
            UNFINISHED
        } else {
            INVALID
        };
        let error = json!({ "code": number, "message": message, "data": { "code": code } });
        let answer = json!({ "jsonrpc": "2.0", "id": self.id, "error": error });
        format!("data: {answer}\n\n")
    }
}

/// Aborts a response when the right of the requester is over. The request counts as open until its whole response is
/// sent.
pub(crate) fn abort_when_over(
    requester: Authenticated,
    app: &Shared,
    abort: &Abort,
    response: Response,
) -> Response {
    let (parts, body) = response.into_parts();
    let body = if body.size_hint().exact().is_some() {
        Body::new(SizedBody {
            body,
            rest: Bytes::new(),
            over: Some(Box::pin(requester.clone().over())),
            watched: None,
            requester,
            abort: abort.clone(),
        })
    } else {
        let kind = kind(&parts.headers);
        let call = parts.extensions.get::<CallId>().cloned();
        let app = std::sync::Arc::clone(app);
        let watched = Watched::start(requester.clone(), abort);
        let over: Over = Box::pin(requester.over());
        let state = (body.into_data_stream(), over, watched);
        let pieces = stream::unfold(state, move |(mut body, mut over, watched)| {
            let (app, call) = (std::sync::Arc::clone(&app), call.clone());
            async move {
                let piece = tokio::select! {
                    biased;
                    denied = &mut over => {
                        add(&app.metrics.cut);
                        Err(last_words(kind, call.as_ref(), &denied.into(), &app.config.agent))
                    }
                    piece = body.next() => piece?.map_err(|_| Bytes::new()),
                };
                Some((piece, (body, over, watched)))
            }
        });
        Body::from_stream(stopping(pieces))
    };
    Response::from_parts(parts, body)
}

type Over = Pin<Box<dyn Future<Output = Denied> + Send>>;

/// Ends a connection, whatever its peer does.
pub(crate) type Abort = std::sync::Arc<Notify>;

/// Ends the connection of a body when the right of the requester is over, even if the body is not polled because
/// the peer reads nothing. The watch ends with the body.
struct Watched(AbortHandle);

/// How long a peer may take to read why its response stops.
const GOODBYE: Duration = Duration::from_millis(700);

impl Watched {
    fn start(requester: Authenticated, abort: &Abort) -> Self {
        let abort = Abort::clone(abort);
        let watch = tokio::spawn(async move {
            requester.clone().over().await;
            tokio::time::sleep(GOODBYE).await;
            requester.count_aborted();
            abort.notify_one();
        });
        Self(watch.abort_handle())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How many bytes of a body of known length are sent at a time.
const PIECE: usize = 64 * 1024;

/// A body of known length. A large body is sent in pieces, so that this value lives until most of the body is
/// sent.
struct SizedBody {
    body: Body,
    rest: Bytes,
    /// `None` once the right is over.
    over: Option<Over>,
    /// Set if the body is longer than a piece.
    watched: Option<Watched>,
    requester: Authenticated,
    abort: Abort,
}

impl HttpBody for SizedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let over = self.over.as_mut().map(|over| over.as_mut().poll(context));
        if over.is_none_or(|over| over.is_ready()) {
            self.over = None;
            self.requester.count_aborted();
            let error = io::Error::other("the answer was cut off");
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        }
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        if !self.rest.is_empty() && self.watched.is_none() {
            self.watched = Some(Watched::start(self.requester.clone(), &self.abort));
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        match self.body.size_hint().exact() {
            Some(body) => SizeHint::with_exact(rest + body),
            None => SizeHint::default(),
        }
    }
}

/// Ends a body after an error. The error is the bytes that tell the client why.
pub(crate) fn stopping(
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
                // The task yields, so that the client receives the earlier bytes before the
                // connection breaks.
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

/// Says why a body stops, in the format of the body.
pub(crate) fn reason(kind: &str, why: &Refused, hub: &str) -> Bytes {
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

/// Does the same as [`reason`]. In events, the answer to a call of JSON-RPC comes first.
pub(crate) fn last_words(kind: &str, call: Option<&CallId>, why: &Refused, hub: &str) -> Bytes {
    let reason = reason(kind, why, hub);
    match call {
        Some(call) if kind == EVENTS => [call.fails(why).as_bytes(), &*reason].concat().into(),
        _ => reason,
    }
}

/// Returns the media type of a response, if a body of this type can say why it stops.
pub(crate) fn kind(headers: &HeaderMap) -> &'static str {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let known = [ACCP, LINES, EVENTS].into_iter();
    known
        .into_iter()
        .find(|known| *known == kind)
        .unwrap_or_default()
}
