//! Passes a request through the gateway to the provider, and its answer back to the client.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use futures_util::{Stream, StreamExt as _};

use crate::arriving::{Arriving, Cut, arriving};
use crate::config::Policy;
use crate::expand::{self, Expanding, Kind, Whole};
use crate::headers;
use crate::record::Record;
use crate::route::{self, Route};
use crate::send::{self, Sent, send};
use crate::state::{App, now};
use crate::unpack::Pieces;
use crate::usage::Watch;
use crate::{answer, origin, tunnel};

/// The header that names the session of an answer.
const SESSION: HeaderName = HeaderName::from_static("x-accp-session");

/// The most bytes that are reserved for a body before it comes.
const FIRST: usize = 1 << 20;

/// A body that was read whole, or one that is too long: the part that was read, and the rest.
enum Taken {
    Whole(Bytes),
    Long(Bytes, Arriving),
}

/// Passes a request on, and its answer back.
pub(crate) async fn pass(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let route = Route::of(&parts.method, parts.uri.path(), &parts.headers);
    let refusal = if body.is_end_stream() {
        answer::error
    } else {
        answer::closing
    };
    if let Some((status, message)) = route::misled(parts.uri.path()) {
        return refusal(route.provider, status, &message);
    }
    let is_loopback = app.config.listen.ip().is_loopback();
    if let Some(message) = origin::refused(&parts.headers, &parts.uri, is_loopback) {
        return refusal(route.provider, StatusCode::FORBIDDEN, &message);
    }
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = format!("{}{path}", app.config.upstream(route.provider));
    if headers::asks_for_socket(&parts) {
        return tunnel::open(&app, route.provider, &url, parts).await;
    }
    let at = now();
    if route.form.is_none() || app.config.policy == Policy::Off || headers::is_off(&parts.headers) {
        let body = (!body.is_end_stream()).then(|| reqwest::Body::wrap_stream(arriving(body)));
        // The client may leave before there is an answer. Then the row is written when `record` is dropped.
        let record = route.form.map(|_| Record::unread(&app, route, at));
        let sent = send(&app, route, (&parts, &url), body).await;
        return answered(&app, route, sent, record);
    }
    match take(arriving(body), &parts.headers, app.config.body_bytes).await {
        Err(cut) => answer::closing(route.provider, cut.status(), &cut.to_string()),
        Ok(Taken::Long(first, rest)) => {
            let body = stream::once(async { Ok(first) }).chain(rest);
            let body = reqwest::Body::wrap_stream(body);
            let mut record = Record::unread(&app, route, at);
            let most = app.config.body_bytes;
            record.entry.fault = Some(format!("the body has more than {most} bytes"));
            let sent = send(&app, route, (&parts, &url), Some(body)).await;
            answered(&app, route, sent, Some(record))
        }
        Ok(Taken::Whole(bytes)) => planned(&app, route, &parts, &url, bytes, at).await,
    }
}

/// Plans a request whose body was read whole, sends the changed or the original body, and passes the answer back.
async fn planned(
    app: &Arc<App>,
    route: Route,
    parts: &Parts,
    url: &str,
    bytes: Bytes,
    at: i64,
) -> Response {
    let started = Instant::now();
    let planned = expand::plan(app, route, &parts.headers, &bytes).await;
    let mut record = Record::unread(app, route, at);
    app.config
        .policy
        .name()
        .clone_into(&mut record.entry.policy);
    let (given, sent) = planned.digests;
    record.entry.sent_digest = sent.unwrap_or_else(|| given.clone());
    record.entry.given_digest = given;
    let (changed, mut plan, text) = match planned.plan {
        Ok((mut plan, text)) => (record.planned(&mut plan), plan, text),
        Err(fault) => {
            tracing::warn!(fault, "a request goes out as it is");
            record.entry.fault = Some(fault);
            Default::default()
        }
    };
    let Some(changed) = changed else {
        record.entry.added_us = micros(started);
        let sent = send(app, route, (parts, url), whole(bytes)).await;
        return answered(app, route, sent, Some(record));
    };
    record.entry.added_us = micros(started);
    let unpacked = send::unpacked(parts, plan.reading.is_some());
    let sent = send(app, route, (&unpacked, url), Some(changed.into())).await;
    if send::is_refused(&sent) {
        return again(app, route, (parts, url, bytes), sent, record).await;
    }
    let is_stream = plan
        .reading
        .as_ref()
        .is_some_and(|reading| reading.is_stream);
    let kind = sent.as_ref().ok();
    let kind = kind.and_then(|answer| Kind::of(answer, is_stream));
    let (reading, kind, upstream) = match (plan.reading.take(), kind, sent) {
        (Some(reading), Some(kind), Ok(upstream)) => (reading, kind, upstream),
        (reading, _, sent) => {
            let answer = sent.as_ref().ok().filter(|_| reading.is_some());
            if let Some(fault) = answer.and_then(expand::unread) {
                tracing::warn!(fault, "an answer passes unread");
                record.entry.fault = Some(fault);
            }
            return answered(app, route, sent, Some(record));
        }
    };
    let (status, mut headers) = head(&upstream, Some(&mut record));
    // The client gets an answer that the gateway may change and does not pack, so these headers of the provider are
    // wrong.
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::CONTENT_ENCODING);
    let expanding = Expanding {
        app: Arc::clone(app),
        route,
        parts: unpacked,
        url: url.to_owned(),
        text: text.into(),
        reading,
        session: plan.session,
        branch: plan.branch.0,
        record,
    };
    let body = match kind {
        Kind::Stream => expanding.stream(upstream).map(answer::body),
        Kind::Whole => match expanding.whole(upstream).await {
            (Whole::Answer(seen), record) => {
                drop(record.ended());
                Some(Body::from(seen))
            }
            (Whole::Broken(seen, error), _) => {
                let pieces = stream::iter([Ok(seen), Err(error)]);
                Some(answer::body(pieces))
            }
            (Whole::Long(seen, rest), record) => {
                let first = stream::once(async { Ok(seen) });
                Some(answer::body(Passing {
                    left: None,
                    answer: first.chain(rest).boxed(),
                    record: Some(record),
                }))
            }
            (Whole::Failed(sent), record) if send::is_refused(&sent) => {
                return again(app, route, (parts, url, bytes), sent, record).await;
            }
            (Whole::Failed(sent), record) => return answered(app, route, sent, Some(record)),
        },
    };
    let mut response = Response::new(body.unwrap_or_default());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Sends the original request after the provider has refused the changed one. If the provider cannot be reached any
/// more, the client gets the refusal.
async fn again(
    app: &Arc<App>,
    route: Route,
    (parts, url, bytes): (&Parts, &str, Bytes),
    refusal: Sent,
    mut record: Record,
) -> Response {
    let sent = send(app, route, (parts, url), whole(bytes)).await;
    record.refused(sent.as_ref().ok().map(reqwest::Response::status));
    let sent = sent.or(refusal);
    answered(app, route, sent, Some(record))
}

/// Returns a body that was read whole, to send it; `None` for an empty one.
fn whole(bytes: Bytes) -> Option<reqwest::Body> {
    (!bytes.is_empty()).then(|| bytes.into())
}

/// Reads a body, unless it has more than `most` bytes.
async fn take(mut rest: Arriving, headers: &HeaderMap, most: usize) -> Result<Taken, Cut> {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > most) {
        return Ok(Taken::Long(Bytes::new(), rest));
    }
    // A client may announce more bytes than it sends, so at most `FIRST` bytes are reserved.
    let mut taken = Vec::with_capacity(length.unwrap_or(0).min(FIRST));
    while let Some(piece) = rest.next().await {
        taken.extend_from_slice(&piece?);
        if taken.len() > most {
            return Ok(Taken::Long(taken.into(), rest));
        }
    }
    Ok(Taken::Whole(taken.into()))
}

/// Returns the answer of the provider as it comes.
fn answered(app: &App, route: Route, sent: Sent, record: Option<Record>) -> Response {
    let upstream = match sent {
        Ok(upstream) => upstream,
        Err(error) => {
            let url = app.config.shown(route.provider);
            let (status, message) = send::failed(&url, &error);
            tracing::warn!(message);
            if let Some(mut record) = record {
                record.entry.fault.get_or_insert_with(|| message.clone());
            }
            // If the body was to pass unread, nobody has read it.
            return answer::closing(route.provider, status, &message);
        }
    };
    let mut record = record;
    let (status, headers) = head(&upstream, record.as_mut());
    let left = upstream.content_length();
    if left == Some(0) {
        record = record.map(Record::ended);
    }
    let pieces = upstream.bytes_stream();
    let passing = Passing {
        left,
        answer: pieces.map(|piece| piece.map_err(io::Error::other)).boxed(),
        record,
    };
    let mut response = Response::new(answer::body(passing));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Returns the head of an answer as the client sees it.
fn head(upstream: &reqwest::Response, record: Option<&mut Record>) -> (StatusCode, HeaderMap) {
    let mut headers = upstream.headers().clone();
    let watch = Watch::new(&headers);
    headers::remove_of_connection(&mut headers);
    if let Some(record) = record {
        record.watch = Some(watch);
        record.entry.status = upstream.status().as_u16();
        if let Ok(session) = HeaderValue::from_str(&record.entry.session)
            && !session.is_empty()
        {
            headers.insert(SESSION, session);
        }
    }
    (upstream.status(), headers)
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// An answer on its way to the client. It breaks off where the provider's answer breaks off.
struct Passing {
    /// The bytes that are still to come, if the provider has said how many. At 0 the gateway writes the row: the
    /// server may stop to poll an answer whose bytes are complete.
    left: Option<u64>,
    answer: Pieces,
    record: Option<Record>,
}

impl Stream for Passing {
    type Item = Result<Bytes, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.answer.as_mut().poll_next(cx);
        match &next {
            Poll::Ready(Some(Ok(bytes))) => {
                let watch = self
                    .record
                    .as_mut()
                    .and_then(|record| record.watch.as_mut());
                if let Some(watch) = watch {
                    watch.feed(bytes);
                }
                self.left = self
                    .left
                    .map(|left| left.saturating_sub(bytes.len() as u64));
                if self.left == Some(0) {
                    drop(self.record.take().map(Record::ended));
                }
            }
            Poll::Ready(None) => drop(self.record.take().map(Record::ended)),
            Poll::Ready(Some(Err(_))) => self.record = None,
            Poll::Pending => {}
        }
        next
    }
}
