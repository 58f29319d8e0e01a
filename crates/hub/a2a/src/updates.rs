//! The updates of a task.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use a2a::{StreamResponse, TaskState};
use accp_client::{Error, Frames};
use accp_session::{Entry, Time};
use tokio::time::sleep;

use crate::expand::AnswerQuota;
use crate::frame::TaskFrame;
use crate::render::Renderer;
use crate::stream::StreamOrder;
use crate::task::{FrameRole, TaskRecord, now};

/// Follows a task in the log. A slow client delays nobody and loses nothing, because the frames stay in the log.
pub(crate) struct TaskUpdates {
    log: Frames,
    renderer: Renderer,
    pub(crate) record: TaskRecord,
    /// Holds back pieces of streams until all earlier pieces have come.
    pieces: StreamOrder,
    /// The agents whose streams the client has begun to receive.
    begun: BTreeSet<String>,
    /// Updates that the next call returns.
    ready: VecDeque<StreamResponse>,
}

impl TaskUpdates {
    /// Follows a task from its present state.
    pub(crate) fn new(renderer: Renderer, record: TaskRecord) -> Self {
        Self {
            log: renderer.log.frames(record.last + 1),
            pieces: StreamOrder::new(&renderer.registry),
            renderer,
            record,
            begun: BTreeSet::new(),
            ready: VecDeque::new(),
        }
    }

    /// Sets the progress of the client: `pieces` has taken the frames of the task so far, and `begun` are the
    /// agents whose streams the client has begun to receive.
    pub(crate) fn behind(mut self, pieces: StreamOrder, begun: BTreeSet<String>) -> Self {
        (self.pieces, self.begun) = (pieces, begun);
        self
    }

    /// Waits for the next frame of the task. `None` when the task has ended, also because its `ttl` is over. A log that
    /// ends before its task is an error.
    async fn next_frame(&mut self) -> Result<Option<(Entry, FrameRole)>, Error> {
        while !self.record.state.is_terminal() {
            let fails_at = self.record.fails_at();
            let entry = tokio::select! {
                // What the log has already came before the `ttl` was over, or is an answer that a client may have.
                biased;
                entry = self.log.next() => entry?.ok_or_else(|| self.log_ended())?,
                () = until(fails_at) => {
                    self.record.lapse();
                    continue;
                }
            };
            let Ok(frame) = TaskFrame::read(&entry.text) else {
                continue;
            };
            if let Some(role) = self.record.take(&entry, &frame) {
                drop(frame);
                return Ok(Some((entry, role)));
            }
        }
        Ok(None)
    }

    /// Makes the error for a log that ends before its task: because the session was opened anew, because data of the
    /// session was erased, or because the server ends.
    pub(crate) fn log_ended(&self) -> Error {
        let id = &self.record.id;
        Error::Ended(format!(
            "the task {id} goes on: call SubscribeToTask or GetTask"
        ))
    }

    /// Waits until the task has ended or needs input of the client.
    pub(crate) async fn settle(&mut self) -> Result<(), Error> {
        while self.record.state != TaskState::InputRequired && self.next_frame().await?.is_some() {}
        Ok(())
    }

    /// Waits until the task has ended.
    pub(crate) async fn end(&mut self) -> Result<(), Error> {
        while self.next_frame().await?.is_some() {}
        Ok(())
    }

    /// Waits for the next update. `None` after the last one.
    pub(crate) async fn next(&mut self) -> Result<Option<StreamResponse>, Error> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Ok(Some(update));
            }
            let before = self.record.state.clone();
            let Some((entry, role)) = self.next_frame().await? else {
                if before.is_terminal() || !self.record.has_lapsed {
                    return Ok(None);
                }
                let mut quota = AnswerQuota::new(self.renderer.most);
                let failed = self.renderer.lapse_update(&self.record, &mut quota).await;
                return Ok(Some(StreamResponse::StatusUpdate(failed)));
            };
            let (renderer, record) = (&self.renderer, &self.record);
            let mut quota = AnswerQuota::new(renderer.most);
            let status = if role == FrameRole::Agent || record.state != before {
                Some(
                    renderer
                        .status_update(record, &entry, role, &mut quota)
                        .await,
                )
            } else {
                None
            };
            let status = status.map(StreamResponse::StatusUpdate);
            let mut artifacts = Vec::new();
            // `take` returns the frames that are in order now. Each piece is one update of its
            // artifact.
            for (entry, role) in self.pieces.take(entry, role) {
                if !matches!(role, FrameRole::Piece | FrameRole::Answer) {
                    continue;
                }
                let frame = TaskFrame::read(&entry.text);
                let from = frame
                    .map(|frame| frame.agent().to_owned())
                    .unwrap_or_default();
                let appends = role == FrameRole::Piece && !self.begun.insert(from);
                let update = renderer.artifact_update(record, &entry, role, appends, &mut quota);
                artifacts.push(StreamResponse::ArtifactUpdate(update.await));
            }
            // A terminal status ends the client's stream, so the pieces and the answer go before this status.
            if record.state.is_terminal() {
                self.ready.extend(artifacts.into_iter().chain(status));
            } else {
                self.ready.extend(status.into_iter().chain(artifacts));
            }
        }
    }
}

/// Waits until a time of day. Without a time, this waits for ever.
async fn until(time: Option<Time>) {
    let Some(time) = time else {
        return std::future::pending().await;
    };
    let left = time.as_millis().saturating_sub(now().as_millis());
    sleep(Duration::from_millis(left.max(0).unsigned_abs())).await;
}
