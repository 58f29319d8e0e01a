//! `POST /accp/v1/frames` (draft section 11.1).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use accp_client::{Frames, Hub};
use accp_frame::{Frame, Intent, Registry};
use accp_session::{CancelToken, Inbound, Mid, PiecesInOrder, Posted};
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use crate::answer::{self, ACCP, Refused};
use crate::app::{App, Shared};
use crate::gate::{Asker, Caller, Named};
use crate::metrics::add;
use crate::pieces::Pieces;
use crate::{cut, forward, spans, told};

pub(crate) async fn post(
    State(app): State<Shared>,
    Query(named): Query<Named>,
    asker: Asker,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match take(&app, named, asker, &uri, &headers, body).await {
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
    named: Named,
    asker: Asker,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    check_type(headers)?;
    let limit = app.config.limits.frame;
    let mut pieces = Pieces::new(body, &app.config.limits, asker.room());
    let first = pieces.next().await?.unwrap_or_default();
    // Only a stream has more than one frame.
    if first.len() <= limit && is_stream(&first) {
        if app.forward.is_some()
            && let Ok((caller, _)) = asker.send(&named, first.trim_ascii_end())
            && let Some(there) = app.sessions.elsewhere(caller.session()).await?
        {
            let body = pieces.restore(first);
            return hand_on(app, &caller, &there, uri, headers, body).await;
        }
        spans::ends("stream");
        return Ok(stream(app, named, asker, pieces, first).await);
    }
    let whole = pieces.whole(first).await?;
    let frame = whole.trim_ascii_end();
    let (caller, chain) = enter(app, &asker, &named, frame)?;
    let hub = match caller.open(false).await {
        Err(Refused {
            there: Some(there), ..
        }) => {
            let body = Body::from(whole);
            return hand_on(app, &caller, &there, uri, headers, body).await;
        }
        opened => opened?,
    };
    let wait = prefer_wait(headers).map(|wait| wait.min(app.config.limits.wait));
    // The answer may be in the log before this request goes on, so the place is noted before.
    let after = match wait {
        Some(_) => Some(position(&hub).await? + 1),
        None => None,
    };
    let posted = send(app, &hub, &caller, frame).await?;
    let response = match (posted, wait, after) {
        (Posted::Accepted { mid, answer }, Some(wait), Some(after)) => {
            let registry = hub.registry().await;
            let question = Asked {
                registry: registry.map_err(|error| Refused::store(&error))?,
                order: PiecesInOrder::new(),
                ready: VecDeque::new(),
                caller: caller.clone(),
                chain: chain.unwrap_or_else(|| mid.clone()),
                mid,
                until: Instant::now() + Duration::from_secs(wait),
            };
            let log = hub.frames(after);
            let mut response = question.answer(app, log, answer).await?;
            if let Ok(applied) = HeaderValue::from_str(&format!("wait={wait}")) {
                response.headers_mut().insert("preference-applied", applied);
            }
            response
        }
        (posted, ..) => said(posted)?,
    };
    Ok(response)
}

/// Lets the asker in as the sender of a frame.
fn enter(
    app: &App,
    asker: &Asker,
    named: &Named,
    frame: &[u8],
) -> Result<(Caller, Option<Mid>), Refused> {
    let entered = asker.send(named, frame);
    if entered.is_err() {
        told::tells("", &app.config.agent, "receives", frame);
    }
    entered
}

/// Hands a POST on to the hub that runs its session.
async fn hand_on(
    app: &App,
    caller: &Caller,
    there: &str,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let request = (Method::POST, uri, headers.clone());
    forward::send(app, caller.session(), there, request, body).await
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

async fn position(hub: &Hub) -> Result<u64, Refused> {
    let position = hub.look(accp_session::Session::position).await;
    position.map_err(|error| Refused::store(&error))
}

async fn send(app: &App, hub: &Hub, caller: &Caller, frame: &[u8]) -> Result<Posted, Refused> {
    caller.takes(1, frame.len())?;
    let tells = |way, text: &[u8]| told::tells(caller.session(), &app.config.agent, way, text);
    tells("receives", frame);
    let posted = hub.post(caller.speaker()?, frame.to_vec()).await;
    let posted = posted.map_err(|error| Refused::client(&error))?;
    let (count, outcome) = match &posted {
        Posted::Accepted { .. } | Posted::Link(_) => (&app.metrics.accepted, "accepted"),
        Posted::Refused(_) => (&app.metrics.refused, "refused"),
        Posted::Later => (&app.metrics.later, "later"),
        _ => (&app.metrics.silent, "silent"),
    };
    if let Posted::Accepted { answer, .. } | Posted::Link(answer) | Posted::Refused(answer) =
        &posted
    {
        tells("sends", answer.as_bytes());
    }
    add(count);
    spans::ends(outcome);
    Ok(posted)
}

/// Returns what is said about a frame, with its status (draft sections 3.7 and 11.1). All cases in which nobody
/// is told look the same.
fn answer_to(posted: Posted) -> Result<(StatusCode, String), Refused> {
    Ok(match posted {
        Posted::Accepted { answer, .. } | Posted::Link(answer) => (StatusCode::OK, answer),
        Posted::Refused(answer) => (StatusCode::BAD_REQUEST, answer),
        Posted::Later => return Err(Refused::busy("a host that takes frames now")),
        _ => (StatusCode::ACCEPTED, String::new()),
    })
}

/// Returns the answer to a frame.
fn said(posted: Posted) -> Result<Response, Refused> {
    let (status, text) = answer_to(posted)?;
    Ok(match status {
        StatusCode::ACCEPTED => status.into_response(),
        _ => answer::frame(status, text),
    })
}

/// A frame whose answer somebody waits for.
struct Asked {
    caller: Caller,
    mid: Mid,
    chain: Mid,
    until: Instant,
    registry: Arc<Registry>,
    /// Pieces of the answer that wait for those before them.
    order: PiecesInOrder<Arc<str>>,
    /// What goes out next, each with whether it is the answer.
    ready: VecDeque<(Arc<str>, bool)>,
}

impl Asked {
    /// Waits for the first frame that answers. An answer in pieces goes out as it comes.
    async fn answer(
        mut self,
        app: &Shared,
        mut log: Frames,
        acknowledged: String,
    ) -> Result<Response, Refused> {
        match timeout_at(self.until, self.next(&mut log)).await {
            Ok(Ok((text, true))) => Ok(answer::frame(StatusCode::OK, &*text)),
            Ok(Ok((text, false))) => {
                let session = self.caller.session().to_owned();
                let first = Ok((self, log, text, false));
                let pieces = stream::unfold(Some(first), next_piece);
                Ok(cut::response(
                    app,
                    ACCP,
                    ("pieces of an answer", &session),
                    pieces,
                ))
            }
            Err(_) => Ok(answer::frame(StatusCode::OK, acknowledged)),
            Ok(Err(refused)) => Err(refused),
        }
    }

    /// Returns the next frame in the chain that answers, and whether it is the last. Pieces of a stream
    /// come before it, in the order of their indexes. A session that ends, because something of it was erased,
    /// goes on from its store.
    async fn next(&mut self, log: &mut Frames) -> Result<(Arc<str>, bool), Refused> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Ok(ready);
            }
            let next = log.next().await.map_err(|error| Refused::store(&error))?;
            let Some(entry) = next else {
                *log = self.caller.look().await?.frames(log.position());
                continue;
            };
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
                // A piece that came before goes out once.
                let ready = self.order.take(&self.registry, &inbound, entry.text);
                let ready = ready.unwrap_or_default().into_iter();
                self.ready.extend(ready.map(|piece| (piece, false)));
            }
        }
    }
}

/// A piece of an answer that goes out next, and whether it is the last.
type Piece = (Asked, Frames, Arc<str>, bool);

/// Returns the piece, and the one behind it or why it does not come.
async fn next_piece(
    piece: Option<Result<Piece, Refused>>,
) -> Option<(Result<Bytes, Refused>, Option<Result<Piece, Refused>>)> {
    let (mut asked, mut log, text, is_last) = match piece? {
        Ok(piece) => piece,
        Err(refused) => return Some((Err(refused), None)),
    };
    if is_last {
        return Some((Ok(line(&text)), None));
    }
    let after = match timeout_at(asked.until, asked.next(&mut log)).await {
        Ok(Ok((after, is_last))) => Ok((asked, log, after, is_last)),
        // What comes behind the piece is not the answer, so the caller must not take it for whole.
        Ok(Err(refused)) => Err(refused),
        Err(_) => Err(Refused::late()),
    };
    Some((Ok(line(&text)), Some(after)))
}

/// Takes a stream of ST frames, and answers each with a frame. The status says what became of the first one,
/// and the body alone what becomes of the others.
async fn stream(
    app: &Shared,
    named: Named,
    asker: Asker,
    pieces: Pieces,
    first: Vec<u8>,
) -> Response {
    let mut stream = Incoming {
        app: Arc::clone(app),
        named,
        asker,
        pieces,
    };
    let taken = stream.take(&first).await;
    let (head, _) = match &taken {
        Ok((status, _)) => status.into_response(),
        Err(refused) => refused.response(&app.config.agent),
    }
    .into_parts();
    let first = stream.told(taken);
    let answers = stream::unfold(stream, |mut stream| async move {
        let answer = stream.next().await?;
        Some((Ok(answer), stream))
    });
    let answers = stream::iter([Ok(first)]).chain(answers);
    let mut response = cut::response(app, ACCP, ("answers to a stream", ""), answers);
    *response.status_mut() = head.status;
    response.headers_mut().extend(head.headers);
    response
}

/// A stream of frames that comes in.
struct Incoming {
    app: Shared,
    named: Named,
    asker: Asker,
    pieces: Pieces,
}

impl Incoming {
    /// Takes the next frame, and returns what is said about it.
    async fn next(&mut self) -> Option<Bytes> {
        let taken = match self.pieces.next().await {
            Ok(None) => return None,
            Ok(Some(frame)) if frame.is_empty() => return None,
            Ok(Some(frame)) => self.take(&frame).await,
            Err(refused) => {
                self.pieces.end();
                Err(refused)
            }
        };
        Some(self.told(taken))
    }

    /// Takes a frame, and returns its status and what is said about it.
    async fn take(&mut self, frame: &[u8]) -> Result<(StatusCode, String), Refused> {
        let entered = enter(&self.app, &self.asker, &self.named, frame);
        if entered.is_err() {
            // What is no frame has no sender at whose rate it counts.
            self.asker.waits(frame.len()).await;
        }
        let (caller, _) = entered?;
        let hub = caller.open(false).await?;
        let posted = send(&self.app, &hub, &caller, frame).await?;
        answer_to(posted)
    }

    /// Returns what is said about a frame. The stream goes on behind one that could not be read, and behind one
    /// that may come again; it ends where the sender has no right to go on.
    fn told(&mut self, taken: Result<(StatusCode, String), Refused>) -> Bytes {
        let text = match taken {
            Ok((_, text)) => text,
            Err(refused) => {
                if refused.status != StatusCode::BAD_REQUEST && refused.again.is_none() {
                    self.pieces.end();
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

/// Returns a frame as a chunk. The end of the line is for clients that read lines.
pub(crate) fn line(text: &str) -> Bytes {
    let mut line = String::with_capacity(text.len() + 1);
    line.push_str(text);
    line.push('\n');
    line.into()
}
