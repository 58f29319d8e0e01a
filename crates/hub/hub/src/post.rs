//! `POST /accp/v1/frames` (draft section 11.1).

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use accp_client::{Frames, Hub};
use accp_frame::{Frame, Intent, Registry, Typed, profiles::ErrorFail};
use accp_session::{CancelToken, Inbound, Mid, PiecesInOrder, Posted, asking};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::answer::{self, ACCP, Refused};
use crate::app::{App, Shared, over};
use crate::auth::{Authenticated, Authorized, Named};
use crate::body::BodyFrames;
use crate::metrics::add;
use crate::query::Asked;
use crate::{abort, forward, frame_log, spans};

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
            add(&app.metrics.denied);
            spans::record_outcome("denied");
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
    let hub = match caller.open(false).await {
        Err(Refused {
            there: Some(there), ..
        }) => {
            let body = Body::from(whole);
            return forward_post(app, &caller, &there, uri, headers, body).await;
        }
        opened => opened?,
    };
    let waiting = match prefer_wait(headers) {
        Some(wait) => Some(Waiting {
            seconds: wait.min(app.config.limits.wait),
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
            let pending = PendingAnswer {
                hub: hub.clone(),
                registry,
                order: PiecesInOrder::new(),
                ready: VecDeque::new(),
                caller: caller.clone(),
                chain: chain.unwrap_or_else(|| mid.clone()),
                mid,
                until: Instant::now() + Duration::from_secs(seconds),
                ends: app.ends.clone(),
            };
            let log = hub.frames(after);
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

/// Forwards a POST to the hub that runs its session. If its client waits for an answer and this hub ends, the client is
/// told at once, as by a hub that runs the session.
async fn forward_post(
    app: &Shared,
    caller: &Authorized,
    there: &str,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let request = (Method::POST, uri, headers.clone());
    let forwarded = forward::send(app, caller.session(), there, request, body);
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

async fn send(app: &App, hub: &Hub, caller: &Authorized, frame: &[u8]) -> Result<Posted, Refused> {
    caller.takes(1, frame.len())?;
    let log = |way, text: &[u8]| frame_log::log(caller.session(), &app.config.agent, way, text);
    log("receives", frame);
    let posted = hub.post(caller.speaker()?, frame.to_vec()).await;
    let posted = posted.map_err(|error| Refused::client(&error))?;
    let (count, outcome) = match &posted {
        Posted::Accepted { .. } | Posted::Link(_) => (&app.metrics.accepted, "accepted"),
        Posted::Refused(answer) if names_number(answer) => {
            (&app.metrics.misnumbered, "misnumbered")
        }
        Posted::Refused(_) => (&app.metrics.refused, "refused"),
        Posted::Later => (&app.metrics.later, "later"),
        _ => (&app.metrics.silent, "silent"),
    };
    if let Posted::Accepted { answer, .. } | Posted::Link(answer) | Posted::Refused(answer) =
        &posted
    {
        log("sends", answer.as_bytes());
    }
    add(count);
    spans::record_outcome(outcome);
    Ok(posted)
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

/// A frame whose answer the client waits for.
struct PendingAnswer {
    caller: Authorized,
    hub: Hub,
    mid: Mid,
    chain: Mid,
    until: Instant,
    /// True once the hub ends. Then nobody waits any longer.
    ends: watch::Receiver<bool>,
    registry: Arc<Registry>,
    /// Pieces of the answer that wait for earlier pieces.
    order: PiecesInOrder<Arc<str>>,
    /// The frames to send next, each with whether it is the answer.
    ready: VecDeque<(Arc<str>, bool)>,
}

impl PendingAnswer {
    /// Waits for the first frame that answers. An answer in pieces is sent piece by piece.
    async fn answer(
        mut self,
        app: &Shared,
        mut log: Frames,
        acknowledged: String,
    ) -> Result<Response, Refused> {
        let mut ends = self.ends.clone();
        let next = tokio::select! {
            biased;
            next = timeout_at(self.until, self.next(&mut log)) => next,
            // The frame is durable. Its sender learns that, and the answer comes in the log.
            () = over(&mut ends) => return Ok(answer::frame(StatusCode::OK, acknowledged)),
        };
        match next {
            Ok(Ok(Some((text, true)))) => Ok(answer::frame(StatusCode::OK, &*text)),
            // The chain was cancelled, so no answer comes.
            Ok(Ok(None)) => Ok(StatusCode::ACCEPTED.into_response()),
            Ok(Ok(Some((text, false)))) => {
                let session = self.caller.session().to_owned();
                let first = Ok((self, log, text, false));
                let frames = stream::unfold(Some(first), next_piece);
                Ok(abort::response(
                    app,
                    ACCP,
                    ("pieces of an answer", &session),
                    frames,
                ))
            }
            Err(_) => Ok(answer::frame(StatusCode::OK, acknowledged)),
            Ok(Err(refused)) => Err(refused),
        }
    }

    /// Returns the next frame of the answer, and whether it is the last one. Pieces of a stream come before the
    /// last frame, in the order of their indexes. `None` if the chain was cancelled. If the session ends because data
    /// was erased, this opens the session again and reads on.
    async fn next(&mut self, log: &mut Frames) -> Result<Option<(Arc<str>, bool)>, Refused> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Ok(Some(ready));
            }
            let next = log.next().await.map_err(|error| Refused::store(&error))?;
            let Some(entry) = next else {
                self.hub = self.caller.open_existing().await?;
                *log = self.hub.frames(log.position());
                continue;
            };
            if is_cancellation(&entry.text) && self.is_cancelled().await? {
                return Ok(None);
            }
            let inbound = Inbound::new(
                entry.position,
                entry.sender,
                entry.text.clone(),
                CancelToken::new(),
            );
            if inbound.answers(&self.mid, &self.chain).is_some() {
                let rest = self.order.rest().into_iter().map(|piece| (piece, false));
                self.ready.extend(rest.chain([(entry.text, true)]));
            } else if entry.mid != self.mid && inbound.is_piece(&self.chain) {
                // `take` returns no pieces if this piece is repeated, so the caller gets each piece
                // once.
                let ready = self.order.take(&self.registry, &inbound, entry.text);
                let ready = ready.unwrap_or_default().into_iter();
                self.ready.extend(ready.map(|piece| (piece, false)));
            }
        }
    }

    /// Returns whether the chain of the frame was cancelled, or a chain above it.
    async fn is_cancelled(&self) -> Result<bool, Refused> {
        let chain = self.chain.clone();
        let looked = self
            .hub
            .look(move |session| session.state().is_cancelled(&chain));
        looked.await.map_err(|error| Refused::store(&error))
    }
}

/// Returns whether a frame cancels a chain. A frame is parsed only if it may be one.
fn is_cancellation(frame: &str) -> bool {
    frame.contains(">cancel:")
        && Frame::parse(frame).is_ok_and(|frame| frame.intent == Intent::CANCEL.as_str())
}

/// The next piece of an answer to send, and whether this is the last piece.
type Piece = (PendingAnswer, Frames, Arc<str>, bool);

/// Returns the piece, and the piece after it or the reason why there is none.
async fn next_piece(
    piece: Option<Result<Piece, Refused>>,
) -> Option<(Result<Bytes, Refused>, Option<Result<Piece, Refused>>)> {
    let (mut pending, mut log, text, is_last) = match piece? {
        Ok(piece) => piece,
        Err(refused) => return Some((Err(refused), None)),
    };
    if is_last {
        return Some((Ok(line(&text)), None));
    }
    let mut ends = pending.ends.clone();
    let next = tokio::select! {
        biased;
        next = timeout_at(pending.until, pending.next(&mut log)) => next,
        () = over(&mut ends) => Ok(Err(Refused::ending())),
    };
    let after = match next {
        Ok(Ok(Some((after, is_last)))) => Ok((pending, log, after, is_last)),
        Ok(Ok(None)) => Err(Refused::conflict(
            "a chain that goes on: it was cancelled, and the answer is not whole",
        )),
        // The answer is incomplete. The error keeps the caller from taking it for complete.
        Ok(Err(refused)) => Err(refused),
        Err(_) => Err(Refused::late()),
    };
    Some((Ok(line(&text)), Some(after)))
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
        let hub = caller.open(false).await?;
        let posted = send(&self.app, &hub, &caller, frame).await?;
        answer_to(posted)
    }

    /// Returns the line that answers a frame. The stream goes on after a frame that cannot be read, and after one that
    /// may be sent again. It ends when the sender has no right to go on.
    fn reply_line(&mut self, taken: Result<(StatusCode, String), Refused>) -> Bytes {
        let text = match taken {
            Ok((_, text)) => text,
            Err(refused) => {
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

/// Returns a frame as a chunk. It ends with a line feed, for clients that read lines.
pub(crate) fn line(text: &str) -> Bytes {
    let mut line = String::with_capacity(text.len() + 1);
    line.push_str(text);
    line.push('\n');
    line.into()
}
