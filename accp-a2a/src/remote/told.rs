//! What an agent of A2A has told about a task.

use std::collections::HashMap;

use a2a::{Message, Part, PartContent};
use accp_runtime::profiles::{ChatDone, InferStream};
use accp_runtime::session::Outbound;
use accp_runtime::{
    AgentId, EncodeError, Envelope, ErrorCode, Frame, Intent, Message as Dynamic, Registry,
};

use crate::incoming::media_type;
use crate::said::{ACCP, LONG, WIDE};

/// What an agent of A2A has told about a task.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The parts of each artifact that were seen.
    parts: HashMap<String, usize>,
    /// The pieces of words that went out.
    pieces: i64,
    /// The frame that answers.
    answer: Option<String>,
    words: Vec<String>,
}

impl Told {
    /// Takes the parts of an artifact from the first on. Returns those that are new.
    pub(super) fn whole<'p>(&mut self, artifact: &str, parts: &'p [Part]) -> &'p [Part] {
        let seen = self.parts.entry(artifact.to_owned()).or_default();
        let new = parts.get(*seen..).unwrap_or_default();
        *seen = parts.len().max(*seen);
        new
    }

    /// Takes parts that an update adds to an artifact, or that replace it.
    pub(super) fn more(&mut self, artifact: &str, parts: &[Part], appends: bool) {
        let seen = self.parts.entry(artifact.to_owned()).or_default();
        *seen = if appends {
            *seen + parts.len()
        } else {
            parts.len()
        };
    }

    /// Takes parts of an artifact. Returns the frames of a stream that they are: pieces of a stream of
    /// frames, and words that come in pieces.
    pub(super) fn take(
        &mut self,
        parts: &[Part],
        in_pieces: bool,
        is_last: bool,
        agent: &str,
        registry: &Registry,
    ) -> Vec<Outbound<'static>> {
        let mut out = Vec::new();
        let has_frames = parts.iter().any(is_frame);
        for (index, part) in parts.iter().enumerate() {
            let Some(text) = text(part) else { continue };
            if is_frame(part) {
                let intent = Frame::parse_with(&text, &WIDE).map(|frame| frame.intent.into_owned());
                match intent.as_deref() {
                    Ok("stream") => out.extend(own(&text, agent, registry).ok()),
                    Ok("done" | "end") => self.answer = Some(text),
                    _ => {}
                }
                continue;
            }
            // Beside a frame, words say the same.
            if has_frames {
                continue;
            }
            if in_pieces {
                let is_last = is_last && index + 1 == parts.len();
                let piece = InferStream::new(self.pieces, text.clone()).is_final(is_last);
                self.pieces += 1;
                out.push(Outbound::owned(piece));
            }
            self.words.push(text);
        }
        out
    }

    /// Takes a message that is itself the answer.
    pub(super) fn says(&mut self, message: &Message, agent: &str, registry: &Registry) {
        self.take(&message.parts, false, false, agent, registry);
    }

    /// Returns the answer of the task.
    pub(super) fn answer(
        &self,
        operation: &str,
        agent: &str,
        registry: &Registry,
    ) -> Outbound<'static> {
        if let Some(answer) = &self.answer {
            return own(answer, agent, registry).unwrap_or_else(|error| {
                let text = format!("the answer of the remote agent is no frame here: {error}");
                Outbound::error(ErrorCode::INTERNAL_ERROR, text)
            });
        }
        if self.words.is_empty() {
            let done = Dynamic::new(agent.to_owned(), "done", operation.to_owned());
            return match done {
                Ok(done) => Outbound::owned_message(done),
                Err(error) => Outbound::error(error.code(), error.to_string()),
            };
        }
        // Pieces of one text stand side by side.
        let separator = if self.pieces > 0 { "" } else { "\n" };
        let words = self.words.join(separator);
        let is_long = words.len() > LONG;
        let done = Outbound::owned(ChatDone::new(words));
        if is_long { done.strict() } else { done }
    }
}

/// Returns why a task has failed, as its status says it.
pub(super) fn failure(
    message: Option<&Message>,
    otherwise: &str,
    agent: &str,
    registry: &Registry,
) -> Outbound<'static> {
    let parts = message
        .map(|message| &message.parts[..])
        .unwrap_or_default();
    let frames = parts.iter().filter(|part| is_frame(part));
    for text in frames.filter_map(text) {
        let is_failure = Frame::parse_with(&text, &WIDE)
            .is_ok_and(|frame| frame.intent == Intent::FAIL.as_str());
        if is_failure && let Ok(failure) = own(&text, agent, registry) {
            return failure;
        }
    }
    let words = words(message).unwrap_or_else(|| otherwise.to_owned());
    Outbound::error(ErrorCode::INTERNAL_ERROR, words)
}

/// Returns the words of a message.
pub(super) fn words(message: Option<&Message>) -> Option<String> {
    let parts = message?.parts.iter().filter(|part| !is_frame(part));
    let words: Vec<String> = parts.filter_map(text).collect();
    (!words.is_empty()).then(|| words.join("\n"))
}

/// Returns a frame of another session as one of this agent, without the envelope that it had there.
fn own(text: &str, agent: &str, registry: &Registry) -> Result<Outbound<'static>, EncodeError> {
    let read = Dynamic::decode_with(text, registry, &WIDE);
    let mut message = read.map_err(|error| EncodeError::new(error.code(), error.to_string()))?;
    message.agent = AgentId::new(agent.to_owned())?;
    message.envelope = Envelope::default();
    let is_long = text.len() > LONG;
    let outbound = Outbound::owned_message(message.into_owned());
    Ok(if is_long { outbound.strict() } else { outbound })
}

fn is_frame(part: &Part) -> bool {
    media_type(part).eq_ignore_ascii_case(ACCP)
}

/// Returns what a part says as text.
fn text(part: &Part) -> Option<String> {
    match &part.content {
        PartContent::Text(text) | PartContent::Url(text) => Some(text.clone()),
        PartContent::Raw(bytes) => String::from_utf8(bytes.clone()).ok(),
        PartContent::Data(value) => Some(value.to_string()),
    }
}
