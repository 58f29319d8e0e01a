//! The way of a request: through the gateway, to the provider, and its answer back.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, BodyDataStream};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use ring::digest;
use time::OffsetDateTime;

use crate::bill::Bill;
use crate::config::Policy;
use crate::headers::{self, first_half};
use crate::ledger::Entry;
use crate::plan::{Asked, Plan};
use crate::prices::Prices;
use crate::route::Route;
use crate::state::{App, now};
use crate::usage::Watch;
use crate::{answer, body, tunnel};

/// The header that names the session of an answer.
const SESSION: HeaderName = HeaderName::from_static("x-accp-session");

/// A body that was read whole, or what was read of it and what is left.
enum Taken {
    Whole(Bytes),
    Long(Bytes, BodyDataStream),
}

/// Passes a request on, and its answer back.
pub(crate) async fn pass(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let route = Route::of(&parts.method, parts.uri.path(), &parts.headers);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = format!("{}{path}", app.config.upstream(route.provider));
    if parts.headers.contains_key(header::UPGRADE) {
        return tunnel::open(&app, route.provider, &url, parts).await;
    }
    let at = now();
    if route.form.is_none() || app.config.policy == Policy::Off || headers::is_off(&parts.headers) {
        let sent = send(&app, &parts, &url, to_send(body)).await;
        let record = route.form.map(|_| Record::unread(&app, route, at));
        return answered(&app, route, sent, record);
    }
    match take(body, &parts.headers, app.config.body_bytes).await {
        Err(error) => {
            let message = format!("the request did not come whole: {error}");
            answer::error(route.provider, StatusCode::BAD_REQUEST, &message)
        }
        Ok(Taken::Long(first, rest)) => {
            let body = stream::once(async { Ok(first) }).chain(rest);
            let sent = send(&app, &parts, &url, reqwest::Body::wrap_stream(body)).await;
            let mut record = Record::unread(&app, route, at);
            let most = app.config.body_bytes;
            record.entry.fault = Some(format!("the body has more than {most} bytes"));
            answered(&app, route, sent, Some(record))
        }
        Ok(Taken::Whole(bytes)) => planned(&app, route, &parts, &url, bytes, at).await,
    }
}

/// Passes on a request with a list that was read.
async fn planned(
    app: &Arc<App>,
    route: Route,
    parts: &Parts,
    url: &str,
    bytes: Bytes,
    at: i64,
) -> Response {
    let started = Instant::now();
    let plan = {
        let (app, headers, bytes) = (Arc::clone(app), parts.headers.clone(), bytes.clone());
        let work = tokio::task::spawn_blocking(move || plan(&app, route, &headers, &bytes));
        work.await
            .unwrap_or_else(|error| Err(format!("the gateway failed: {error}")))
    };
    let mut record = Record::unread(app, route, at);
    app.config
        .policy
        .name()
        .clone_into(&mut record.entry.policy);
    record.entry.given_digest = digest_of(&bytes);
    record
        .entry
        .sent_digest
        .clone_from(&record.entry.given_digest);
    let changed = match plan {
        Ok(plan) => record.planned(plan),
        Err(fault) => {
            tracing::warn!(fault, "a request goes out as it is");
            record.entry.fault = Some(fault);
            None
        }
    };
    let Some(changed) = changed else {
        record.entry.added_us = micros(started);
        let sent = send(app, parts, url, bytes.into()).await;
        return answered(app, route, sent, Some(record));
    };
    let mut headers = parts.headers.clone();
    headers.remove(header::CONTENT_ENCODING);
    headers.remove(header::CONTENT_LENGTH);
    record.entry.sent_digest = digest_of(changed.as_bytes());
    record.entry.added_us = micros(started);
    let mut changed_parts = parts.clone();
    changed_parts.headers = headers;
    let mut sent = send(app, &changed_parts, url, changed.into()).await;
    let is_refused = |sent: &Result<reqwest::Response, reqwest::Error>| {
        let sent = sent.as_ref();
        sent.is_ok_and(|sent| sent.status() == StatusCode::BAD_REQUEST)
    };
    if is_refused(&sent) {
        sent = send(app, parts, url, bytes.into()).await;
        let was_ours = !is_refused(&sent);
        record.refused(app, was_ours);
    }
    answered(app, route, sent, Some(record))
}

/// Reads a request, and returns what to send in its place. A panic is a fault like others.
fn plan(app: &App, route: Route, headers: &HeaderMap, bytes: &[u8]) -> Result<Plan, String> {
    let form = route.form.ok_or("a request without a list")?;
    let work = || {
        let text = body::text(headers, bytes, app.config.body_bytes)?;
        let asked = Asked {
            provider: route.provider,
            form,
            headers,
            text: &text,
            now: OffsetDateTime::now_utc(),
        };
        app.branches.plan(app.config.policy, &asked)
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("the gateway failed: {}", text.unwrap_or_default()))
    })
}

/// Reads a body, unless it has more bytes than these.
async fn take(body: Body, headers: &HeaderMap, most: usize) -> Result<Taken, axum::Error> {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let mut rest = body.into_data_stream();
    if length.is_some_and(|length| length > most) {
        return Ok(Taken::Long(Bytes::new(), rest));
    }
    let mut taken = Vec::with_capacity(length.unwrap_or(0));
    while let Some(piece) = rest.next().await {
        taken.extend_from_slice(&piece?);
        if taken.len() > most {
            return Ok(Taken::Long(taken.into(), rest));
        }
    }
    Ok(Taken::Whole(taken.into()))
}

fn to_send(body: Body) -> reqwest::Body {
    reqwest::Body::wrap_stream(body.into_data_stream())
}

async fn send(
    app: &App,
    parts: &Parts,
    url: &str,
    body: reqwest::Body,
) -> Result<reqwest::Response, reqwest::Error> {
    let mut headers = parts.headers.clone();
    headers::prepare(&mut headers);
    let has_body = headers.contains_key(header::CONTENT_LENGTH)
        || headers.contains_key(header::TRANSFER_ENCODING)
        || body.as_bytes().is_some_and(|bytes| !bytes.is_empty())
        || parts.headers.contains_key(header::TRANSFER_ENCODING);
    let request = app
        .client
        .request(parts.method.clone(), url)
        .headers(headers);
    let request = if has_body {
        request.body(body)
    } else {
        request
    };
    request.send().await
}

/// Returns the answer of the provider as it comes.
fn answered(
    app: &App,
    route: Route,
    sent: Result<reqwest::Response, reqwest::Error>,
    record: Option<Record>,
) -> Response {
    let upstream = match sent {
        Ok(upstream) => upstream,
        Err(error) => {
            let url = app.config.upstream(route.provider);
            let message = format!("{url} cannot be reached: {}", innermost(&error));
            tracing::warn!(message);
            if let Some(mut record) = record {
                record.entry.fault.get_or_insert_with(|| message.clone());
            }
            return answer::error(route.provider, StatusCode::BAD_GATEWAY, &message);
        }
    };
    let mut headers = upstream.headers().clone();
    let watch = record.as_ref().map(|_| Watch::new(&headers));
    headers::remove_of_connection(&mut headers);
    let status = upstream.status();
    let mut record = record;
    if let Some(record) = &mut record {
        record.watch = watch;
        record.entry.status = status.as_u16();
        if let Ok(session) = HeaderValue::from_str(&record.entry.session)
            && !session.is_empty()
        {
            headers.insert(SESSION, session);
        }
    }
    let left = upstream.content_length();
    if left == Some(0) {
        record = record.map(Record::ended);
    }
    let passing = Passing {
        left,
        answer: upstream.bytes_stream().boxed(),
        record,
    };
    let mut response = Response::new(Body::from_stream(passing));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Returns the words of the cause of an error: those of the error itself name the URL alone.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn digest_of(bytes: &[u8]) -> Vec<u8> {
    first_half(digest::digest(&digest::SHA256, bytes).as_ref()).to_vec()
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// The answer on its way. It breaks where the provider's breaks, and is never longer than that.
struct Passing {
    /// The bytes that are still to come, if the provider said so. Nobody asks for more once they have passed.
    left: Option<u64>,
    answer: BoxStream<'static, Result<Bytes, reqwest::Error>>,
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
        next.map(|next| next.map(|piece| piece.map_err(io::Error::other)))
    }
}

/// The row of a request, which is written when its answer has ended, or the client has left.
struct Record {
    app: Arc<App>,
    route: Route,
    entry: Entry,
    removed: crate::bill::Removed,
    /// See [`Plan::branch`].
    branch: (i64, usize, bool),
    watch: Option<Watch>,
}

impl Record {
    fn unread(app: &Arc<App>, route: Route, at: i64) -> Self {
        Self {
            app: Arc::clone(app),
            route,
            entry: Entry {
                at,
                session: String::new(),
                provider: route.provider.name().to_owned(),
                model: String::new(),
                policy: Policy::Off.name().to_owned(),
                status: 0,
                given: 0,
                sent: 0,
                usage: None,
                bill: None,
                added_us: 0,
                repeated: false,
                whole: false,
                fault: None,
                given_digest: Vec::new(),
                sent_digest: Vec::new(),
            },
            removed: crate::bill::Removed::default(),
            branch: (0, 0, false),
            watch: None,
        }
    }

    /// Takes that the whole answer has passed.
    fn ended(mut self) -> Self {
        self.entry.whole = true;
        self
    }

    /// Takes what was planned, and returns the body to send, if it differs.
    fn planned(&mut self, plan: Plan) -> Option<String> {
        self.entry.session = plan.session;
        self.entry.model = plan.model;
        plan.policy.clone_into(&mut self.entry.policy);
        self.entry.given = plan.given;
        self.entry.sent = plan.sent;
        self.removed = plan.removed;
        self.branch = plan.branch;
        plan.changed
    }

    /// Takes that the provider refused the changed request, and whether it took the original.
    fn refused(&mut self, app: &App, was_ours: bool) {
        self.entry.repeated = true;
        self.entry.fault = Some("the provider refused the changed request with 400".to_owned());
        self.entry.sent_digest.clone_from(&self.entry.given_digest);
        self.removed = crate::bill::Removed::default();
        let session = &self.entry.session;
        let told = if was_ours {
            tracing::warn!(
                session,
                "the provider refused a changed request; the session stays plain"
            );
            app.branches.make_plain(session, self.entry.at)
        } else {
            tracing::warn!(
                session,
                "the provider refused a request, changed and as it came"
            );
            let (branch, had, is_bound) = self.branch;
            let branches = &app.branches;
            branches.take_back(session, branch, had, is_bound, self.entry.at)
        };
        if let Err(error) = told {
            tracing::error!(%error, "the session may be changed again after a restart");
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let told = self.watch.take().map(Watch::told).unwrap_or_default();
        let entry = &mut self.entry;
        entry.model = told
            .model
            .unwrap_or_else(|| std::mem::take(&mut entry.model));
        entry.usage = told.usage;
        let prices = Prices::of(self.route.provider, &entry.model);
        entry.bill = told
            .usage
            .map(|usage| Bill::of(&usage, prices, self.removed));
        self.app.writer.write(entry.clone());
    }
}
