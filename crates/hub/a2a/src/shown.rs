//! Frames as clients of A2A see them: parts, messages, artifacts, tasks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use a2a::{
    Artifact, Message, Part, Role, Task, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent,
};
use accp_client::Error;
use accp_frame::{Message as Dynamic, Registry, Typed, profiles::ErrorFail};
use accp_session::{Entry, Time};
use chrono::{DateTime, Utc};

use crate::course::{Course, Step};
use crate::log::Log;
use crate::pieces::Pieces;
use crate::said::{ACCP, Said, TEXT, WIDE};
use crate::values::{Room, with_values};

/// The artifact that holds the answer.
const ANSWER: &str = "answer";
/// The beginning of the ids of the artifacts that hold streams. The agent follows.
const STREAM: &str = "stream-";

/// Shows the frames of a session.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) log: Log,
    pub(crate) session: String,
    pub(crate) registry: Arc<Registry>,
}

impl Shown {
    /// Returns a task with at most this many of its last messages.
    pub(crate) async fn task(
        &self,
        course: &Course,
        history: Option<usize>,
        has_artifacts: bool,
        room: &mut Room,
    ) -> Result<Task, Error> {
        let mut messages = Vec::new();
        let mut artifacts: Vec<Artifact> = Vec::new();
        let mut places = BTreeMap::new();
        let mut why = None;
        let mut entries = Vec::new();
        if history != Some(0) || has_artifacts || course.why.is_some() {
            entries = course.entries(&self.log).await?;
        }
        let is_message = |step: &Step| matches!(step, Step::Mine | Step::Said);
        let said = entries.iter().filter(|(_, step)| is_message(step)).count();
        let mut left_out = said.saturating_sub(history.unwrap_or(usize::MAX));
        let mut pieces = Pieces::new(&self.registry);
        let entries = entries
            .into_iter()
            .flat_map(|(entry, step)| pieces.take(entry, step));
        for (entry, step) in entries {
            if course.why == Some(entry.position) {
                why = Some(self.message(course, &entry, step, room).await);
            }
            match step {
                Step::Mine | Step::Said if left_out > 0 => left_out -= 1,
                Step::Mine | Step::Said => {
                    messages.push(self.message(course, &entry, step, room).await);
                }
                Step::Piece | Step::Answer if has_artifacts => {
                    let artifact = self.artifact(&entry, step, room).await;
                    let at = *places
                        .entry(artifact.artifact_id.clone())
                        .or_insert(artifacts.len());
                    match artifacts.get_mut(at) {
                        Some(known) => known.parts.extend(artifact.parts),
                        None => artifacts.push(artifact),
                    }
                }
                _ => {}
            }
        }
        Ok(Task {
            id: course.id.clone(),
            context_id: self.session.clone(),
            status: status(course, why),
            artifacts: (!artifacts.is_empty()).then_some(artifacts),
            history: (!messages.is_empty()).then_some(messages),
            metadata: None,
        })
    }

    /// Returns a frame as a message of the task.
    async fn message(
        &self,
        course: &Course,
        entry: &Entry,
        step: Step,
        room: &mut Room,
    ) -> Message {
        let role = if step == Step::Mine {
            Role::User
        } else {
            Role::Agent
        };
        Message {
            message_id: entry.mid.to_string(),
            context_id: Some(self.session.clone()),
            task_id: Some(course.id.clone()),
            ..Message::new(role, self.parts(&entry.text, room).await)
        }
    }

    /// Returns a piece of a stream, or the answer, as an artifact.
    async fn artifact(&self, entry: &Entry, step: Step, room: &mut Room) -> Artifact {
        let (artifact_id, name, parts) = match (step, Said::read(&entry.text)) {
            (Step::Piece, Ok(said)) => (
                format!("{STREAM}{}", said.agent()),
                format!("The stream of {}", said.agent()),
                vec![frame(&self.whole(&entry.text, room).await)],
            ),
            (_, said) => {
                let from = said.as_ref().map_or("an agent", |said| said.agent());
                let name = format!("The answer of {from}");
                (ANSWER.to_owned(), name, self.parts(&entry.text, room).await)
            }
        };
        Artifact {
            artifact_id,
            name: Some(name),
            description: None,
            parts,
            metadata: None,
            extensions: None,
        }
    }

    /// Returns an update of an artifact. A piece of a stream is one part of it.
    pub(crate) async fn artifact_update(
        &self,
        course: &Course,
        entry: &Entry,
        step: Step,
        appends: bool,
        room: &mut Room,
    ) -> TaskArtifactUpdateEvent {
        let is_last =
            step == Step::Answer || Said::read(&entry.text).is_ok_and(|piece| piece.is_final());
        TaskArtifactUpdateEvent {
            task_id: course.id.clone(),
            context_id: self.session.clone(),
            artifact: self.artifact(entry, step, room).await,
            append: Some(appends),
            last_chunk: Some(is_last),
            metadata: None,
        }
    }

    /// Returns an update of the state. Its message is the frame, if the frame explains the state.
    pub(crate) async fn status_update(
        &self,
        course: &Course,
        entry: &Entry,
        step: Step,
        room: &mut Room,
    ) -> TaskStatusUpdateEvent {
        let explains = matches!(step, Step::Failure | Step::Said);
        let why = if explains {
            Some(self.message(course, entry, step, room).await)
        } else {
            None
        };
        TaskStatusUpdateEvent {
            task_id: course.id.clone(),
            context_id: self.session.clone(),
            status: status(course, why),
            metadata: None,
        }
    }

    /// Returns a frame as parts: the frame, and what it says in words if it is a message of a
    /// conversation or a failure.
    async fn parts(&self, text: &str, room: &mut Room) -> Vec<Part> {
        let whole = self.whole(text, room).await;
        let mut parts = vec![frame(&whole)];
        if let Some(words) = self.words(&whole) {
            parts.push(Part::text(words).with_media_type(TEXT));
        }
        parts
    }

    /// Returns a frame with values in the place of references.
    async fn whole<'t>(&self, text: &'t str, room: &mut Room) -> Cow<'t, str> {
        with_values(text, &self.log, &self.registry, room).await
    }

    fn words(&self, text: &str) -> Option<String> {
        if let Ok(failure) = Typed::<ErrorFail<'_>>::decode_with(text, &WIDE) {
            let ErrorFail { code, msg, .. } = failure.frame;
            return Some(format!("{code}: {msg}"));
        }
        let message = Dynamic::decode_with(text, &self.registry, &WIDE).ok()?;
        if message.schema.as_deref() != Some("CH") {
            return None;
        }
        let content = message.payload.get("content")?;
        content.as_str().map(str::to_owned)
    }
}

/// Returns the agent whose stream an artifact holds.
pub(crate) fn stream_of(artifact: &str) -> Option<&str> {
    artifact.strip_prefix(STREAM)
}

/// Returns a frame as a part.
pub(crate) fn frame(text: &str) -> Part {
    Part::text(text).with_media_type(ACCP)
}

fn status(course: &Course, message: Option<Message>) -> TaskStatus {
    TaskStatus {
        state: course.state.clone(),
        message,
        timestamp: time(course.at),
    }
}

pub(crate) fn time(at: Time) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(at.as_millis())
}
