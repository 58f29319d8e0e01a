//! A task as it goes on.

use std::collections::{BTreeSet, VecDeque};

use a2a::{StreamResponse, TaskState};
use accp_client::{Error, Frames};
use accp_session::Entry;

use crate::course::{Course, Step};
use crate::pieces::Pieces;
use crate::said::Said;
use crate::shown::Shown;
use crate::values::Room;

/// Follows a task in the log. It holds nobody up and loses nothing: what comes stays in the log.
pub(crate) struct Follow {
    log: Frames,
    shown: Shown,
    pub(crate) course: Course,
    /// Pieces of streams that wait for those before them.
    pieces: Pieces,
    /// The agents of whom the client has pieces of a stream.
    begun: BTreeSet<String>,
    /// Updates that the next call returns.
    ready: VecDeque<StreamResponse>,
}

impl Follow {
    /// Follows a task from where it stands.
    pub(crate) fn new(shown: Shown, course: Course) -> Self {
        Self {
            log: shown.log.frames(course.last + 1),
            pieces: Pieces::new(&shown.registry),
            shown,
            course,
            begun: BTreeSet::new(),
            ready: VecDeque::new(),
        }
    }

    /// Says what the client knows: `pieces` have had the frames of the task so far, and `begun` are the agents whose
    /// streams it has.
    pub(crate) fn behind(mut self, pieces: Pieces, begun: BTreeSet<String>) -> Self {
        (self.pieces, self.begun) = (pieces, begun);
        self
    }

    /// Waits for the next frame of the task. `None` when the task has ended. A log that ends before its task is
    /// an error.
    async fn step(&mut self) -> Result<Option<(Entry, Step)>, Error> {
        while !self.course.state.is_terminal() {
            let entry = self.log.next().await?.ok_or_else(|| self.cut())?;
            let Ok(said) = Said::read(&entry.text) else {
                continue;
            };
            if let Some(step) = self.course.take(&entry, &said) {
                drop(said);
                return Ok(Some((entry, step)));
            }
        }
        Ok(None)
    }

    /// Says that the log has ended before the task: the session was opened anew, or data of it was erased.
    fn cut(&self) -> Error {
        let id = &self.course.id;
        Error::Ended(format!(
            "the task {id} goes on: call SubscribeToTask or GetTask"
        ))
    }

    /// Waits until the task has ended, or waits for the client.
    pub(crate) async fn settle(&mut self) -> Result<(), Error> {
        while self.course.state != TaskState::InputRequired && self.step().await?.is_some() {}
        Ok(())
    }

    /// Waits until the task has ended.
    pub(crate) async fn end(&mut self) -> Result<(), Error> {
        while self.step().await?.is_some() {}
        Ok(())
    }

    /// Waits for the next update. `None` after the last one.
    pub(crate) async fn next(&mut self) -> Result<Option<StreamResponse>, Error> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Ok(Some(update));
            }
            let before = self.course.state.clone();
            let Some((entry, step)) = self.step().await? else {
                return Ok(None);
            };
            let (shown, course) = (&self.shown, &self.course);
            let mut room = Room::of_an_answer();
            let status = if step == Step::Said || course.state != before {
                Some(shown.status_update(course, &entry, step, &mut room).await)
            } else {
                None
            };
            let status = status.map(StreamResponse::StatusUpdate);
            let mut artifacts = Vec::new();
            // Each piece of a stream is one update of its artifact.
            for (entry, step) in self.pieces.take(entry, step) {
                if !matches!(step, Step::Piece | Step::Answer) {
                    continue;
                }
                let said = Said::read(&entry.text);
                let from = said.map(|said| said.agent().to_owned()).unwrap_or_default();
                let appends = step == Step::Piece && !self.begun.insert(from);
                let update = shown.artifact_update(course, &entry, step, appends, &mut room);
                artifacts.push(StreamResponse::ArtifactUpdate(update.await));
            }
            // All pieces and the answer are there before the task has ended.
            if course.state.is_terminal() {
                self.ready.extend(artifacts.into_iter().chain(status));
            } else {
                self.ready.extend(status.into_iter().chain(artifacts));
            }
        }
    }
}
