//! `POST /accp/v1/frames` (draft section 11.1).

mod pending;

use std::borrow::Cow;
use std::sync::Arc;

use accp_client::Hub;
use accp_frame::{Frame, Intent, Registry, Typed, profiles::ErrorFail};
use accp_session::{Mid, Posted, asking};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};

use crate::answer::{self, ACCP, Refused, line};
use crate::app::{App, Shared, over};
use crate::auth::{Authenticated, Authorized, Named};
use crate::body::BodyFrames;
use crate::metrics::add;
use crate::query::Asked;
use crate::{abort, forward, frame_log, spans};
use pending::PendingAnswer;

pub(crate) async fn post(
    State(app): State<Shared>,
    Asked(named): Asked<Named>,
    requester: Authenticated,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match take(&app, named, requester, &uri, &headers, body).await {
        Ok(response) => response,
        Err(refused) => {
            spans::record_refusal(&app, &refused);
            refused.response(&app.config.agent)
        }
    }
}

async fn take(
    app: &Shared,
    named: Named,
    requester: Authenticated,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    check_type(headers)?;
    let limit = app.config.limits.frame;
    let mut frames = BodyFrames::new(body, &app.config.limits, requester.body_quota());
    let first = frames.next().await?.unwrap_or_default();
    // Only a stream has more than one frame.
    if first.len() <= limit && is_stream(&first) {
        if app.forward.is_some()
            && let Ok((caller, _)) = requester.send(&named, first.trim_ascii_end())
            && let Some(there) = app.sessions.elsewhere(caller.session()).await?
        {
            let body = frames.restore(first);
            return forward_post(app, &caller, &there, uri, headers, body).await;
        }
        spans::record_outcome("stream");
        return Ok(stream(app, named, requester, frames, first).await);
    }
    let whole = frames.whole(first).await?;
    let frame = whole.trim_ascii_end();
    let (caller, chain) = enter(app, &requester, &named, frame)?;
    let wait = prefer_wait(headers).filter(|_| !is_answer(frame));
    let wait = wait.map(|wait| wait.min(app.config.limits.wait));
    let hub = match open(app, &caller, frame, wait.is_some()).await {
        Err(Refused {
            there: Some(there), ..
        }) => {
            let body = Body::from(whole);
            return forward_post(app, &caller, &there, uri, headers, body).await;
        }
        Ok(Opened::Refused(posted)) => return response_to(posted),
        Ok(Opened::Session(hub)) => hub,
        Err(refused) => return Err(refused),
    };
    let waiting = match wait {
        Some(seconds) => Some(Waiting {
            seconds,
            // The answer may be in the log before this request continues, so the position is read first.
            after: position(&hub).await? + 1,
            registry: hub
                .registry()
                .await
                .map_err(|error| Refused::store(&error))?,
        }),
        None => None,
    };
    let asked = waiting.as_ref().map_or(frame.into(), |waiting| {
        as_question(frame, &waiting.registry)
    });
    let posted = send(app, &hub, &caller, &asked).await?;
    let response = match (posted, waiting) {
        (Posted::Accepted { mid, answer }, Some(waiting)) => {
            let Waiting {
                seconds,
                after,
                registry,
            } = waiting;
            let log = hub.frames(after);
            let chain = chain.unwrap_or_else(|| mid.clone());
            let pending = PendingAnswer::new(app, caller, hub, (mid, chain), registry, seconds);
            let mut response = pending.answer(app, log, answer).await?;
            if let Ok(applied) = HeaderValue::from_str(&format!("wait={seconds}")) {
                response.headers_mut().insert("preference-applied", applied);
            }
            response
        }
        (posted, _) => response_to(posted)?,
    };
    Ok(response)
}

/// The session of a frame, or why it was not begun.
enum Opened {
    Session(Hub),
    /// The frame would have begun the session, and is refused.
    Refused(Posted),
}

/// Opens the session of a frame or begins it, and counts the frame. A frame that would begin a session is judged
/// before, so that a refused frame leaves no session behind. `waits` says that the client waits for the answer.
async fn open(
    app: &App,
    caller: &Authorized,
    frame: &[u8],
    waits: bool,
) -> Result<Opened, Refused> {
    let session = caller.session();
    let agent = caller.speaker()?;
    if !app.sessions.may_begin(session).await? {
        let hub = caller.open(false).await?;
        caller.takes(1, frame.len())?;
        return Ok(Opened::Session(hub));
    }
    app.check_able()?;
    caller.takes(1, frame.len())?;
    let refusal = app.sessions.refusal_of_first(session, agent, |registry| {
        if waits {
            as_question(frame, registry)
        } else {
            frame.into()
        }
    })?;
    if let Some(posted) = refusal {
        log(app, caller, "receives", frame);
        report(app, caller, &posted);
        return Ok(Opened::Refused(posted));
    }
    caller.open(false).await.map(Opened::Session)
}

/// Authorises the requester as the sender of a frame.
fn enter(
    app: &App,
    requester: &Authenticated,
    named: &Named,
    frame: &[u8],
) -> Result<(Authorized, Option<Mid>), Refused> {
    let entered = requester.send(named, frame);
    if entered.is_err() {
        frame_log::log("", &app.config.agent, "receives", frame);
    }
    entered
}

/// Forwards a POST to the hub that runs its session. If this hub ends while the client waits for an answer, this hub
/// tells the client at once, as the hub that runs the session would do.
async fn forward_post(
    app: &Shared,
    caller: &Authorized,
    there: &str,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let request = (Method::POST, uri, headers.clone());
    let forwarded = forward::send(app, caller.session(), there, request, (body, None));
    if prefer_wait(headers).is_none() {
        return forwarded.await;
    }
    let mut ends = app.ends.clone();
    tokio::select! {
        biased;
        answer = forwarded => answer,
        () = over(&mut ends) => Err(Refused::ending_before_the_answer()),
    }
}

/// Checks that the request declares the media type of frames (draft section 12).
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

/// Returns whether a frame ends a chain, so that a client would wait for nothing.
fn is_answer(frame: &[u8]) -> bool {
    let answers = [Intent::DONE, Intent::FAIL, Intent::END];
    let frame = Frame::parse_bytes(frame);
    frame.is_ok_and(|frame| answers.iter().any(|intent| frame.intent == intent.as_str()))
}

/// The data for a client that waits for the answer to its frame.
struct Waiting {
    seconds: u64,
    /// The first position of the log at which the answer may be.
    after: u64,
    registry: Arc<Registry>,
}

/// Returns the frame of a client that waits for the answer, changed so that one agent answers it. If the frame
/// names no agent, the host chooses one.
fn as_question<'f>(frame: &'f [u8], registry: &Registry) -> Cow<'f, [u8]> {
    match std::str::from_utf8(frame).map(|text| asking(text, registry)) {
        Ok(Cow::Owned(text)) => text.into_bytes().into(),
        // Bytes that are not text stay as they are, and the session refuses them.
        _ => frame.into(),
    }
}

async fn position(hub: &Hub) -> Result<u64, Refused> {
    let position = hub.look(accp_session::Session::position).await;
    position.map_err(|error| Refused::store(&error))
}

/// Sends a frame to its session.
async fn send(app: &App, hub: &Hub, caller: &Authorized, frame: &[u8]) -> Result<Posted, Refused> {
    log(app, caller, "receives", frame);
    let posted = hub.post(caller.speaker()?, frame.to_vec()).await;
    let posted = posted.map_err(|error| Refused::client(&error))?;
    report(app, caller, &posted);
    Ok(posted)
}

fn log(app: &App, caller: &Authorized, way: &str, text: &[u8]) {
    frame_log::log(caller.session(), &app.config.agent, way, text);
}

/// Counts and logs the outcome of a frame. A frame that the session takes later counts where its refusal is answered.
fn report(app: &App, caller: &Authorized, posted: &Posted) {
    let (count, outcome) = match posted {
        Posted::Accepted { .. } | Posted::Link(_) => (&app.metrics.accepted, "accepted"),
        Posted::Refused(answer) if names_number(answer) => {
            (&app.metrics.misnumbered, "misnumbered")
        }
        Posted::Refused(_) => (&app.metrics.refused, "refused"),
        Posted::Later => return,
        _ => (&app.metrics.silent, "silent"),
    };
    if let Posted::Accepted { answer, .. } | Posted::Link(answer) | Posted::Refused(answer) = posted
    {
        log(app, caller, "sends", answer.as_bytes());
    }
    add(count);
    spans::record_outcome(outcome);
}

/// Returns whether an error says which number is due. A sender that does not know its number asks in this way.
fn names_number(answer: &str) -> bool {
    let error = Typed::<ErrorFail<'_>>::decode(answer);
    error.is_ok_and(|error| error.frame.expected_sequence.is_some())
}

/// Returns the answer to a frame, with its status (draft sections 3.7 and 11.1). All cases without an answer look
/// the same.
fn answer_to(posted: Posted) -> Result<(StatusCode, String), Refused> {
    Ok(match posted {
        Posted::Accepted { answer, .. } | Posted::Link(answer) => (StatusCode::OK, answer),
        Posted::Refused(answer) => (StatusCode::BAD_REQUEST, answer),
        Posted::Later => return Err(Refused::busy("a host that takes frames now")),
        _ => (StatusCode::ACCEPTED, String::new()),
    })
}

/// Returns the response to a frame.
fn response_to(posted: Posted) -> Result<Response, Refused> {
    let (status, text) = answer_to(posted)?;
    Ok(match status {
        StatusCode::ACCEPTED => status.into_response(),
        _ => answer::frame(status, text),
    })
}

/// Takes a stream of ST frames, and answers each with a frame. The response has the status of the first answer,
/// and all answers in its body.
async fn stream(
    app: &Shared,
    named: Named,
    requester: Authenticated,
    frames: BodyFrames,
    first: Vec<u8>,
) -> Response {
    let mut stream = FrameStream {
        app: Arc::clone(app),
        named,
        requester,
        frames,
    };
    let taken = stream.take(&first).await;
    let (head, _) = match &taken {
        Ok((status, _)) => status.into_response(),
        Err(refused) => refused.response(&app.config.agent),
    }
    .into_parts();
    let first = stream.reply_line(taken);
    let answers = stream::unfold(stream, |mut stream| async move {
        let answer = stream.next().await?;
        Some((Ok(answer), stream))
    });
    let answers = stream::iter([Ok(first)]).chain(answers);
    let mut response = abort::response(app, ACCP, ("answers to a stream", ""), answers);
    *response.status_mut() = head.status;
    response.headers_mut().extend(head.headers);
    response
}

/// A stream of frames from a client.
struct FrameStream {
    app: Shared,
    named: Named,
    requester: Authenticated,
    frames: BodyFrames,
}

impl FrameStream {
    /// Takes the next frame, and returns its answer.
    async fn next(&mut self) -> Option<Bytes> {
        let mut ends = self.app.ends.clone();
        let next = tokio::select! {
            biased;
            next = self.frames.next() => next,
            () = over(&mut ends) => Err(Refused::busy("another stream for further frames: the hub ends")),
        };
        let taken = match next {
            Ok(None) => return None,
            Ok(Some(frame)) if frame.is_empty() => return None,
            Ok(Some(frame)) => self.take(&frame).await,
            Err(refused) => {
                self.frames.end();
                Err(refused)
            }
        };
        Some(self.reply_line(taken))
    }

    /// Takes a frame, and returns its status and its answer.
    async fn take(&mut self, frame: &[u8]) -> Result<(StatusCode, String), Refused> {
        let entered = enter(&self.app, &self.requester, &self.named, frame);
        if entered.is_err() {
            // Input that is not a frame has no sender, so it counts for the requester.
            self.requester.waits(frame.len()).await;
        }
        let (caller, _) = entered?;
        let posted = match open(&self.app, &caller, frame, false).await? {
            Opened::Session(hub) => send(&self.app, &hub, &caller, frame).await?,
            Opened::Refused(posted) => posted,
        };
        answer_to(posted)
    }

    /// Returns the line that answers a frame. The stream goes on after a frame that cannot be read, and after one
    /// that may be sent again. The stream ends if the sender has no right to go on.
    fn reply_line(&mut self, taken: Result<(StatusCode, String), Refused>) -> Bytes {
        let text = match taken {
            Ok((_, text)) => text,
            Err(refused) => {
                if refused.is_later() {
                    add(&self.app.metrics.later);
                }
                if refused.status != StatusCode::BAD_REQUEST && refused.again.is_none() {
                    self.frames.end();
                }
                refused.frame(&self.app.config.agent)
            }
        };
        if text.is_empty() {
            Bytes::new()
        } else {
            line(&text)
        }
    }
}
