//! Frames as clients of A2A see them: parts, messages, artifacts, tasks.

use std::borrow::Cow;
use std::sync::Arc;

use a2a::{
    Artifact, Message, Part, Role, Task, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent,
};
use accp_client::Error;
use accp_frame::{
    AgentId, DynamicFrame, EncodeOptions, Envelope, ErrorCode, Registry, Typed, profiles::ErrorFail,
};
use accp_session::{Entry, Time};
use chrono::{DateTime, Utc};

use crate::expand::{AnswerQuota, with_values};
use crate::frame::{ACCP, TEXT, TaskFrame, WIDE};
use crate::left_out::newest;
use crate::log::Log;
use crate::stream::StreamOrder;
use crate::task::{FrameRole, TaskRecord};

/// The id of the artifact that holds the answer.
const ANSWER: &str = "answer";
/// The prefix of the ids of artifacts that hold streams. The name of the agent follows.
const STREAM: &str = "stream-";
/// The speaker of frames that are in no session. It is no agent.
const SPEAKER: &str = "accp";

/// Makes messages, artifacts and tasks of the frames of a session.
#[derive(Clone)]
pub(crate) struct Renderer {
    pub(crate) log: Log,
    pub(crate) session: String,
    pub(crate) registry: Arc<Registry>,
    /// The most bytes of the frames in one answer.
    pub(crate) most: usize,
}

impl Renderer {
    /// Returns a task with at most this many of its last messages, and with the newest frames that the quota has room
    /// for.
    pub(crate) async fn task(
        &self,
        record: &TaskRecord,
        history: Option<usize>,
        has_artifacts: bool,
        quota: &mut AnswerQuota,
    ) -> Result<Task, Error> {
        let mut entries = Vec::new();
        if history != Some(0) || has_artifacts || record.why.is_some() {
            entries = record.entries(&self.log).await?;
        }
        let mut pieces = StreamOrder::new(&self.registry);
        let entries = entries.into_iter();
        let entries = entries.flat_map(|(entry, role)| pieces.take(entry, role));
        let wanted = history.unwrap_or(usize::MAX);
        let (entries, left_out) = newest(entries.collect(), wanted, has_artifacts, quota);
        let (mut messages, mut why) = (Vec::new(), None);
        let mut artifacts: Vec<Artifact> = Vec::new();
        for (entry, role, is_shown) in entries {
            if record.why == Some(entry.position) {
                why = Some(self.message(record, &entry, role, quota).await);
            }
            match role {
                _ if !is_shown => {}
                FrameRole::Client | FrameRole::Agent => {
                    messages.push(self.message(record, &entry, role, quota).await);
                }
                FrameRole::Piece | FrameRole::Answer => {
                    let artifact = self.artifact(&entry, role, quota).await;
                    let same = |known: &&mut Artifact| known.artifact_id == artifact.artifact_id;
                    match artifacts.iter_mut().find(same) {
                        Some(known) => known.parts.extend(artifact.parts),
                        None => artifacts.push(artifact),
                    }
                }
                FrameRole::Failure | FrameRole::Cancel => {}
            }
        }
        if record.has_lapsed {
            why = Some(self.lapse(record, quota).await);
        }
        for artifact in &mut artifacts {
            let agent = stream_of(&artifact.artifact_id);
            artifact.metadata = agent.and_then(|agent| left_out.of_stream(agent));
        }
        Ok(Task {
            id: record.id.clone(),
            context_id: self.session.clone(),
            status: status(record, why),
            artifacts: (!artifacts.is_empty()).then_some(artifacts),
            history: (!messages.is_empty()).then_some(messages),
            metadata: left_out.of_task(self.most),
        })
    }

    /// Returns a frame as a message of the task.
    async fn message(
        &self,
        record: &TaskRecord,
        entry: &Entry,
        role: FrameRole,
        quota: &mut AnswerQuota,
    ) -> Message {
        let role = if role == FrameRole::Client {
            Role::User
        } else {
            Role::Agent
        };
        Message {
            message_id: entry.mid.to_string(),
            context_id: Some(self.session.clone()),
            task_id: Some(record.id.clone()),
            ..Message::new(role, self.parts(&entry.text, quota).await)
        }
    }

    /// Returns the message that explains why a task whose `ttl` is over has failed.
    async fn lapse(&self, record: &TaskRecord, quota: &mut AnswerQuota) -> Message {
        Message {
            message_id: format!("{}-ttl", record.mid),
            context_id: Some(self.session.clone()),
            task_id: Some(record.id.clone()),
            ..Message::new(Role::Agent, self.parts(&failure(record), quota).await)
        }
    }

    /// Returns the update of a task whose `ttl` is over.
    pub(crate) async fn lapse_update(
        &self,
        record: &TaskRecord,
        quota: &mut AnswerQuota,
    ) -> TaskStatusUpdateEvent {
        TaskStatusUpdateEvent {
            task_id: record.id.clone(),
            context_id: self.session.clone(),
            status: status(record, Some(self.lapse(record, quota).await)),
            metadata: None,
        }
    }

    /// Returns a piece of a stream, or the answer, as an artifact.
    async fn artifact(&self, entry: &Entry, role: FrameRole, quota: &mut AnswerQuota) -> Artifact {
        let (artifact_id, name, parts) = match (role, TaskFrame::read(&entry.text)) {
            (FrameRole::Piece, Ok(frame)) => (
                format!("{STREAM}{}", frame.agent()),
                format!("The stream of {}", frame.agent()),
                vec![frame_part(&self.whole(&entry.text, quota).await)],
            ),
            (_, frame) => {
                let from = frame.as_ref().map_or("an agent", |frame| frame.agent());
                let name = format!("The answer of {from}");
                (
                    ANSWER.to_owned(),
                    name,
                    self.parts(&entry.text, quota).await,
                )
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

    /// Returns an update of an artifact, in which a piece of a stream is one part.
    pub(crate) async fn artifact_update(
        &self,
        record: &TaskRecord,
        entry: &Entry,
        role: FrameRole,
        appends: bool,
        quota: &mut AnswerQuota,
    ) -> TaskArtifactUpdateEvent {
        let is_last = role == FrameRole::Answer
            || TaskFrame::read(&entry.text).is_ok_and(|piece| piece.is_final());
        TaskArtifactUpdateEvent {
            task_id: record.id.clone(),
            context_id: self.session.clone(),
            artifact: self.artifact(entry, role, quota).await,
            append: Some(appends),
            last_chunk: Some(is_last),
            metadata: None,
        }
    }

    /// Returns an update of the task's state. If the frame explains the state, the frame is the message of the
    /// update.
    pub(crate) async fn status_update(
        &self,
        record: &TaskRecord,
        entry: &Entry,
        role: FrameRole,
        quota: &mut AnswerQuota,
    ) -> TaskStatusUpdateEvent {
        let explains = matches!(role, FrameRole::Failure | FrameRole::Agent);
        let why = if explains {
            Some(self.message(record, entry, role, quota).await)
        } else {
            None
        };
        TaskStatusUpdateEvent {
            task_id: record.id.clone(),
            context_id: self.session.clone(),
            status: status(record, why),
            metadata: None,
        }
    }

    /// Returns a frame as parts: the frame, and its text if it is a message of a
    /// conversation or a failure.
    async fn parts(&self, text: &str, quota: &mut AnswerQuota) -> Vec<Part> {
        let whole = self.whole(text, quota).await;
        let mut parts = vec![frame_part(&whole)];
        if let Some(words) = self.words(&whole) {
            parts.push(Part::text(words).with_media_type(TEXT));
        }
        parts
    }

    /// Returns a frame with values instead of references.
    async fn whole<'t>(&self, text: &'t str, quota: &mut AnswerQuota) -> Cow<'t, str> {
        with_values(text, &self.log, &self.registry, quota).await
    }

    fn words(&self, text: &str) -> Option<String> {
        if let Ok(failure) = Typed::<ErrorFail<'_>>::decode_with(text, &WIDE) {
            let ErrorFail { code, msg, .. } = failure.frame;
            return Some(format!("{code}: {msg}"));
        }
        chat_text(text, &self.registry)
    }
}

/// Returns the frame that explains why a task whose `ttl` is over has failed. No session has the frame.
fn failure(record: &TaskRecord) -> String {
    let code = ErrorCode::TIMEOUT;
    let why = "nobody has answered before the ttl of the request was over: if the answer is still needed, send the \
               request again in a new message, with a longer ttl or with none";
    let error = ErrorFail::new(code.to_string(), why, code.is_retryable().unwrap_or(false));
    let mut envelope = Envelope::new("000000000000", 0).at(record.at.as_secs());
    envelope.correlation_id = Some(record.id.as_str().into());
    let options = EncodeOptions {
        inline: true,
        ..EncodeOptions::default()
    };
    let mut text = String::new();
    if let Ok(speaker) = AgentId::new(SPEAKER) {
        // The text has a fixed length, so it always fits in a frame.
        let _ = Typed::new(speaker, error, envelope).encode_into(&mut text, options);
    }
    text
}

/// Returns the text of a frame of a conversation (schema CH).
pub(crate) fn chat_text(text: &str, registry: &Registry) -> Option<String> {
    let message = DynamicFrame::decode_with(text, registry, &WIDE).ok()?;
    let is_chat = message.schema.as_deref() == Some("CH");
    let content = message.payload.get("content").filter(|_| is_chat)?;
    content.as_str().map(str::to_owned)
}

/// Returns the agent whose stream an artifact holds.
pub(crate) fn stream_of(artifact: &str) -> Option<&str> {
    artifact.strip_prefix(STREAM)
}

/// Returns a frame as a part.
pub(crate) fn frame_part(text: &str) -> Part {
    Part::text(text).with_media_type(ACCP)
}

fn status(record: &TaskRecord, message: Option<Message>) -> TaskStatus {
    TaskStatus {
        state: record.state.clone(),
        message,
        timestamp: time(record.at),
    }
}

pub(crate) fn time(at: Time) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(at.as_millis())
}
