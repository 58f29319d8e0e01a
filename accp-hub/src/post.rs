//! `POST /accp/v1/frames` (draft section 11.1).

use std::sync::Arc;
use std::time::Duration;

use accp_client::{Frames, Hub};
use accp_runtime::session::{CancelToken, Inbound, Mid, Posted};
use accp_runtime::{Envelope, Frame, Intent};
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

use crate::answer::{self, ACCP, Refused};
use crate::app::{App, Caller, Shared};
use crate::forward;
use crate::metrics::add;
use crate::pieces::Pieces;
use crate::spans;

/// The query of a POST.
#[derive(Debug, Deserialize)]
pub(crate) struct In {
    /// The session, for frames without `sid`.
    session: Option<String>,
}

pub(crate) async fn post(
    State(app): State<Shared>,
    Query(within): Query<In>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match take(&app, within, caller, &uri, &headers, body).await {
        Ok(response) => response,
        Err(refused) => {
            add(&app.metrics.denied);
            spans::ends("denied");
            refused.response(&app.config.agent)
        }
    }
}

async fn take(
    app: &Shared,
    within: In,
    caller: Caller,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    check_type(headers)?;
    let limit = app.config.limits.frame;
    let mut pieces = Pieces::new(body, &app.config.limits);
    let first = pieces.next().await?.unwrap_or_default();
    // Only a stream has more than one frame.
    if first.len() <= limit && is_stream(&first) {
        if app.forward.is_some()
            && let Ok(target) = Target::of(app, &within, &caller, first.trim_ascii_end())
            && let Some(there) = app.sessions.elsewhere(&target.session).await?
        {
            let body = pieces.restore(first);
            return hand_on(app, &target.session, &there, uri, headers, body).await;
        }
        spans::ends("stream");
        return Ok(stream(app, within, caller, pieces, first));
    }
    let whole = pieces.whole(first).await?;
    let frame = whole.trim_ascii_end();
    let target = Target::of(app, &within, &caller, frame)?;
    let hub = match target.open(app).await {
        Err(Refused {
            there: Some(there), ..
        }) => {
            let body = Body::from(whole);
            return hand_on(app, &target.session, &there, uri, headers, body).await;
        }
        opened => opened?,
    };
    let wait = prefer_wait(headers).map(|wait| wait.min(app.config.limits.wait));
    // The answer may be in the log before this request goes on, so the place is noted before.
    let after = match wait {
        Some(_) => Some(position(&hub).await? + 1),
        None => None,
    };
    let posted = send(app, &hub, &target.agent, frame).await?;
    let response = match (posted, wait, after) {
        (Posted::Accepted { mid, answer }, Some(wait), Some(after)) => {
            let asked = Asked {
                chain: target.chain.unwrap_or_else(|| mid.clone()),
                mid,
                until: Instant::now() + Duration::from_secs(wait),
            };
            let mut response = asked.answer(hub.frames(after), answer).await;
            if let Ok(applied) = HeaderValue::from_str(&format!("wait={wait}")) {
                response.headers_mut().insert("preference-applied", applied);
            }
            response
        }
        (posted, ..) => said(posted)?,
    };
    Ok(response)
}

/// Hands a POST on to the hub that runs its session.
async fn hand_on(
    app: &App,
    session: &str,
    there: &str,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let request = (Method::POST, uri, headers.clone());
    forward::send(app, session, there, request, body).await
}

/// A frame must say that it is one (draft section 12).
fn check_type(headers: &HeaderMap) -> Result<(), Refused> {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    if kind.trim().eq_ignore_ascii_case(ACCP) {
        Ok(())
    } else {
        Err(Refused::media_type())
    }
}

/// Reads `Prefer: wait=N` (RFC 7240).
fn prefer_wait(headers: &HeaderMap) -> Option<u64> {
    let values = headers.get_all("prefer").iter();
    let mut preferences = values.filter_map(|value| value.to_str().ok());
    preferences.find_map(|value| {
        value.split([',', ';']).find_map(|preference| {
            let (name, value) = preference.split_once('=')?;
            let is_wait = name.trim().eq_ignore_ascii_case("wait");
            is_wait.then(|| value.trim().trim_matches('"').parse().ok())?
        })
    })
}

fn is_stream(frame: &[u8]) -> bool {
    let frame = Frame::parse_bytes(frame);
    frame.is_ok_and(|frame| frame.intent == Intent::STREAM.as_str())
}

/// To which session a frame goes, and from which agent it comes.
struct Target {
    session: String,
    agent: String,
    chain: Option<Mid>,
}

impl Target {
    fn of(app: &App, within: &In, caller: &Caller, frame: &[u8]) -> Result<Self, Refused> {
        let limit = app.config.limits.frame;
        if frame.len() > limit {
            return Err(Refused::too_long(limit));
        }
        let frame = Frame::parse_bytes(frame)?;
        let envelope: Envelope<'_> = frame.envelope()?;
        let named = envelope.session_id.as_deref();
        let session = within.session.as_deref().or(named).ok_or_else(|| {
            Refused::invalid("the session: `sid` in the metadata, or `?session=` in the URL")
        })?;
        let agent = frame.agent;
        caller.check(session, Some(&agent))?;
        spans::goes_to(session, Some(&agent));
        Ok(Self {
            session: session.to_owned(),
            agent: agent.into_owned(),
            chain: envelope.correlation_id.as_deref().map(Mid::parse),
        })
    }

    async fn open(&self, app: &App) -> Result<Hub, Refused> {
        app.sessions.get(&self.session, false).await
    }
}

async fn position(hub: &Hub) -> Result<u64, Refused> {
    let position = hub.look(accp_runtime::session::Session::position).await;
    position.map_err(|error| Refused::store(&error))
}

async fn send(app: &App, hub: &Hub, agent: &str, frame: &[u8]) -> Result<Posted, Refused> {
    if !app.rates.allows(agent) {
        return Err(Refused::too_many());
    }
    let posted = hub.post(agent, frame.to_vec()).await;
    let posted = posted.map_err(|error| Refused::client(&error))?;
    let (count, outcome) = match &posted {
        Posted::Accepted { .. } | Posted::Link(_) => (&app.metrics.accepted, "accepted"),
        Posted::Refused(_) => (&app.metrics.refused, "refused"),
        Posted::Later => (&app.metrics.later, "later"),
        _ => (&app.metrics.silent, "silent"),
    };
    add(count);
    spans::ends(outcome);
    Ok(posted)
}

/// Returns the answer to a frame (draft sections 3.7 and 11.1).
fn said(posted: Posted) -> Result<Response, Refused> {
    Ok(match posted {
        Posted::Accepted { answer, .. } | Posted::Link(answer) => {
            answer::frame(StatusCode::OK, answer)
        }
        Posted::Refused(answer) => answer::frame(StatusCode::BAD_REQUEST, answer),
        Posted::Later => return Err(Refused::busy("a host that takes frames now")),
        // All cases in which nobody is told look the same.
        _ => StatusCode::ACCEPTED.into_response(),
    })
}

/// A frame whose answer somebody waits for.
struct Asked {
    mid: Mid,
    chain: Mid,
    until: Instant,
}

impl Asked {
    /// Waits for the first frame that answers. An answer in pieces goes out as it comes.
    async fn answer(self, mut log: Frames, acknowledged: String) -> Response {
        match timeout_at(self.until, self.next(&mut log)).await {
            Ok(Some((text, true))) => answer::frame(StatusCode::OK, &*text),
            Ok(Some((text, false))) => chunks(
                ACCP,
                stream::unfold(
                    (self, log, Some((text, false))),
                    |(asked, mut log, next)| async move {
                        let (text, is_last) = next?;
                        let after = if is_last {
                            None
                        } else {
                            timeout_at(asked.until, asked.next(&mut log))
                                .await
                                .ok()
                                .flatten()
                        };
                        Some((line(&text), (asked, log, after)))
                    },
                ),
            ),
            Ok(None) | Err(_) => answer::frame(StatusCode::OK, acknowledged),
        }
    }

    /// Returns the next frame in the chain that answers, and whether it is the last. Pieces of a stream
    /// come before it.
    async fn next(&self, log: &mut Frames) -> Option<(Arc<str>, bool)> {
        while let Ok(Some(entry)) = log.next().await {
            let inbound = Inbound::new(
                entry.position,
                entry.sender,
                entry.text.clone(),
                CancelToken::new(),
            );
            if inbound.answers(&self.mid, &self.chain).is_some() {
                return Some((entry.text, true));
            }
            if entry.mid != self.mid && inbound.is_piece(&self.chain) {
                return Some((entry.text, false));
            }
        }
        None
    }
}

/// Takes a stream of ST frames, and answers each with a frame.
fn stream(app: &Shared, within: In, caller: Caller, pieces: Pieces, first: Vec<u8>) -> Response {
    let app = Arc::clone(app);
    let state = (app, within, caller, pieces, Some(first));
    chunks(
        ACCP,
        stream::unfold(
            state,
            |(app, within, caller, mut pieces, first)| async move {
                let next = match first {
                    Some(first) => Ok(Some(first)),
                    None => pieces.next().await,
                };
                let (text, goes_on) = match next {
                    Ok(None) => return None,
                    Ok(Some(frame)) if frame.is_empty() => return None,
                    Ok(Some(frame)) => match one_of_stream(&app, &within, &caller, &frame).await {
                        Ok(text) => (text, true),
                        Err(refused) => (refused.frame(&app.config.agent), refused.again.is_some()),
                    },
                    Err(refused) => (refused.frame(&app.config.agent), false),
                };
                if !goes_on {
                    pieces.end();
                }
                let line = if text.is_empty() {
                    Bytes::new()
                } else {
                    line(&text)
                };
                Some((line, (app, within, caller, pieces, None)))
            },
        ),
    )
}

async fn one_of_stream(
    app: &App,
    within: &In,
    caller: &Caller,
    frame: &[u8],
) -> Result<String, Refused> {
    let target = Target::of(app, within, caller, frame)?;
    let hub = target.open(app).await?;
    Ok(match send(app, &hub, &target.agent, frame).await? {
        Posted::Accepted { answer, .. } | Posted::Link(answer) | Posted::Refused(answer) => answer,
        Posted::Later => return Err(Refused::busy("a host that takes frames now")),
        _ => String::new(),
    })
}

/// Returns a frame as a chunk. The end of the line is for clients that read lines.
pub(crate) fn line(text: &str) -> Bytes {
    let mut line = String::with_capacity(text.len() + 1);
    line.push_str(text);
    line.push('\n');
    line.into()
}

/// Returns a response of this media type, with one frame a chunk.
pub(crate) fn chunks(
    kind: &'static str,
    frames: impl stream::Stream<Item = Bytes> + Send + 'static,
) -> Response {
    use futures_util::StreamExt as _;
    let body = Body::from_stream(frames.map(Ok::<_, std::convert::Infallible>));
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(kind))];
    (kind, body).into_response()
}
