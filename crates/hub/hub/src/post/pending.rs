//! A client that waits for the answer to its frame (`Prefer: wait`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use accp_client::{Frames, Hub};
use accp_frame::{Frame, Intent, Registry};
use accp_session::{CancelToken, Inbound, Mid, PiecesInOrder};
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::abort;
use crate::answer::{self, ACCP, Refused, line};
use crate::app::{Shared, over};
use crate::auth::Authorized;

/// A frame whose answer the client waits for.
pub(super) struct PendingAnswer {
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
    /// The frames to send next. The flag of a frame is true if the frame is the answer.
    ready: VecDeque<(Arc<str>, bool)>,
}

impl PendingAnswer {
    /// Makes the state of a client that waits at most `seconds` for the answer to its frame. `mid` is the id of the
    /// frame, and `chain` is the name of the frame's chain.
    pub(super) fn new(
        app: &Shared,
        caller: Authorized,
        hub: Hub,
        (mid, chain): (Mid, Mid),
        registry: Arc<Registry>,
        seconds: u64,
    ) -> Self {
        Self {
            caller,
            hub,
            mid,
            chain,
            until: Instant::now() + Duration::from_secs(seconds),
            ends: app.ends.clone(),
            registry,
            order: PiecesInOrder::new(),
            ready: VecDeque::new(),
        }
    }

    /// Waits for the first frame that answers. An answer in pieces is sent piece by piece.
    pub(super) async fn answer(
        mut self,
        app: &Shared,
        mut log: Frames,
        acknowledged: String,
    ) -> Result<Response, Refused> {
        let mut ends = self.ends.clone();
        let next = tokio::select! {
            biased;
            next = timeout_at(self.until, self.next(&mut log)) => next,
            // This hub ends. The sender learns that the frame is durable, and the answer comes in the log.
            () = over(&mut ends) => return Ok(answer::frame(StatusCode::OK, acknowledged)),
        };
        match next {
            Ok(Ok(Some((text, true)))) => Ok(answer::frame(StatusCode::OK, &*text)),
            // The chain was cancelled, so no answer comes.
            Ok(Ok(None)) => Ok(StatusCode::ACCEPTED.into_response()),
            Ok(Ok(Some((text, false)))) => {
                let session = self.caller.session().to_owned();
                let frames = stream::unfold(Some((self, log, Some(text))), next_piece);
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

/// An answer in pieces. The first piece is there already, and the others come from the log.
type Pieces = (PendingAnswer, Frames, Option<Arc<str>>);

/// Returns the next piece as soon as it is there, or the reason why none comes. Also returns the rest of the answer, if
/// there is more.
async fn next_piece(pieces: Option<Pieces>) -> Option<(Result<Bytes, Refused>, Option<Pieces>)> {
    let (mut pending, mut log, first) = pieces?;
    if let Some(first) = first {
        return Some((Ok(line(&first)), Some((pending, log, None))));
    }
    let mut ends = pending.ends.clone();
    let next = tokio::select! {
        biased;
        next = timeout_at(pending.until, pending.next(&mut log)) => next,
        () = over(&mut ends) => Ok(Err(Refused::ending())),
    };
    let why = match next {
        Ok(Ok(Some((text, is_last)))) => {
            let rest = (!is_last).then_some((pending, log, None));
            return Some((Ok(line(&text)), rest));
        }
        Ok(Ok(None)) => {
            Refused::conflict("a chain that goes on: it was cancelled, and the answer is not whole")
        }
        // The answer is incomplete. The error keeps the caller from taking it for complete.
        Ok(Err(refused)) => refused,
        Err(_) => Refused::late(),
    };
    Some((Err(why), None))
}
