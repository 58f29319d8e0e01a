//! The artifacts of a task, as far as they have come.

use a2a::{Message, Part, PartContent};
use accp_frame::{
    AgentId, DynamicFrame, EncodeError, Envelope, ErrorCode, Frame, Intent, Registry,
    profiles::ChatDone, profiles::InferStream,
};
use accp_session::Outbound;

use crate::frame::{ACCP, LONG, WIDE};
use crate::message::media_type;

/// What an agent of A2A has sent for a task: the artifacts, and the answer.
#[derive(Debug, Default)]
pub(super) struct ReceivedArtifacts {
    artifacts: Vec<Artifact>,
    /// How many pieces of text were sent.
    pieces: i64,
    /// The frame that is the answer.
    answer: Option<String>,
}

/// An artifact, as far as it has come.
#[derive(Debug, Default)]
struct Artifact {
    id: String,
    /// How many parts have come.
    seen: usize,
    words: Vec<String>,
    /// True if its text came in pieces.
    in_pieces: bool,
}

/// How the parts that have come change an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The parts are all parts that the task shows of the artifact. The task leaves out this many parts before them.
    Whole(usize),
    /// The parts replace all earlier parts.
    First,
    /// The parts follow the earlier parts. True if no more parts follow.
    More(bool),
}

impl ReceivedArtifacts {
    /// Takes parts of an artifact. Returns the frames to send for the stream: the frames of streams among the
    /// parts, and the text of an artifact that comes in pieces.
    pub(super) fn take(
        &mut self,
        id: &str,
        parts: &[Part],
        change: Change,
        agent: &str,
        registry: &Registry,
    ) -> Vec<Outbound<'static>> {
        let artifacts = &mut self.artifacts;
        let at = artifacts.iter().position(|artifact| artifact.id == id);
        let at = at.unwrap_or_else(|| {
            artifacts.push(Artifact {
                id: id.to_owned(),
                ..Artifact::default()
            });
            artifacts.len() - 1
        });
        let Some(artifact) = artifacts.get_mut(at) else {
            return Vec::new();
        };
        let parts = match change {
            Change::Whole(left_out) => {
                let known = artifact.seen.saturating_sub(left_out);
                let new = parts.get(known..).unwrap_or_default();
                artifact.seen = artifact.seen.max(left_out).saturating_add(new.len());
                new
            }
            Change::First => {
                artifact.words.clear();
                artifact.in_pieces = false;
                artifact.seen = parts.len();
                parts
            }
            Change::More(_) => {
                artifact.seen = artifact.seen.saturating_add(parts.len());
                parts
            }
        };
        let mut out = Vec::new();
        let mut pieces = Vec::new();
        let has_frames = parts.iter().any(is_frame);
        for part in parts {
            let Some(text) = text(part) else { continue };
            if is_frame(part) {
                let intent = Frame::parse_with(&text, &WIDE).map(|frame| frame.intent.into_owned());
                match intent.as_deref() {
                    Ok("stream") => out.extend(own(&text, agent, registry).ok()),
                    Ok("done" | "end") => self.answer = Some(text),
                    _ => {}
                }
            } else if !has_frames {
                // The artifact has no frames, so its text is content. In other artifacts the text
                // only repeats the frames.
                pieces.push(text);
            }
        }
        // The text of an artifact is sent as a stream when its second piece arrives. The first
        // piece was held back until then.
        let is_last = change == Change::More(true);
        let is_more = matches!(change, Change::More(_));
        if is_more || artifact.in_pieces {
            let first = if artifact.in_pieces {
                &[]
            } else {
                &artifact.words[..]
            };
            let all = first.len() + pieces.len();
            for (index, words) in first.iter().chain(&pieces).enumerate() {
                let piece = InferStream::new(self.pieces, words.clone());
                self.pieces += 1;
                out.push(Outbound::owned(piece.is_final(is_last && index + 1 == all)));
            }
            artifact.in_pieces = true;
        }
        artifact.words.extend(pieces);
        out
    }

    /// Takes a message that is the whole answer.
    pub(super) fn take_answer(&mut self, message: &Message, agent: &str, registry: &Registry) {
        self.take("", &message.parts, Change::First, agent, registry);
    }

    /// Returns the text of all artifacts. The pieces of one text are joined without a separator.
    fn words(&self) -> String {
        let artifacts = self
            .artifacts
            .iter()
            .filter(|artifact| !artifact.words.is_empty());
        let words = artifacts.map(|artifact| {
            let separator = if artifact.in_pieces { "" } else { "\n" };
            artifact.words.join(separator)
        });
        words.collect::<Vec<_>>().join("\n")
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
                let text = format!(
                    "the answer of the remote agent is not a frame of this session: {error}"
                );
                Outbound::error(ErrorCode::INTERNAL_ERROR, text)
            });
        }
        let words = self.words();
        if words.is_empty() {
            let done = DynamicFrame::new(agent.to_owned(), "done", operation.to_owned());
            return match done {
                Ok(done) => Outbound::owned_message(done),
                Err(error) => Outbound::error(error.code(), error.to_string()),
            };
        }
        let is_long = words.len() > LONG;
        let done = Outbound::owned(ChatDone::new(words));
        if is_long { done.strict() } else { done }
    }
}

/// Returns the failure of a task, from the message of its status.
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

/// Returns the text of a message, without its frames; `None` if there is no other text.
pub(super) fn words(message: Option<&Message>) -> Option<String> {
    let parts = message?.parts.iter().filter(|part| !is_frame(part));
    let words: Vec<String> = parts.filter_map(text).collect();
    (!words.is_empty()).then(|| words.join("\n"))
}

/// Returns a frame of another session as a frame of this agent, without its old envelope.
fn own(text: &str, agent: &str, registry: &Registry) -> Result<Outbound<'static>, EncodeError> {
    let read = DynamicFrame::decode_with(text, registry, &WIDE);
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

/// Returns the content of a part as text.
fn text(part: &Part) -> Option<String> {
    match &part.content {
        PartContent::Text(text) | PartContent::Url(text) => Some(text.clone()),
        PartContent::Raw(bytes) => String::from_utf8(bytes.clone()).ok(),
        PartContent::Data(value) => Some(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use a2a::Part;
    use accp_frame::Registry;

    use super::{Change, ReceivedArtifacts};

    fn received(updates: &[(&str, &[&str], Change)]) -> (String, usize) {
        let registry = Registry::standard();
        let mut received = ReceivedArtifacts::default();
        let mut pieces = 0;
        for (id, texts, change) in updates {
            let parts: Vec<Part> = texts.iter().map(|text| Part::text(*text)).collect();
            pieces += received.take(id, &parts, *change, "cook", &registry).len();
        }
        (received.words(), pieces)
    }

    #[test]
    fn words_are_a_stream_if_they_come_in_pieces() {
        let whole = received(&[
            ("a", &["soup"], Change::First),
            ("b", &["rye", "bread"], Change::First),
        ]);
        assert_eq!(whole, ("soup\nrye\nbread".to_owned(), 0));
        let first = ("a", &["so"][..], Change::First);
        let last = ("a", &["p"][..], Change::More(true));
        let pieces = received(&[first, ("a", &["u"], Change::More(false)), last]);
        assert_eq!(pieces, ("soup".to_owned(), 3));
    }

    #[test]
    fn parts_that_have_come_are_not_taken_again() {
        let again = received(&[
            ("a", &["so"], Change::First),
            ("a", &["u"], Change::More(false)),
            ("a", &["so", "u", "p"], Change::Whole(0)),
        ]);
        assert_eq!(again, ("soup".to_owned(), 3));
        // The task leaves out the first part, so it shows the third part in the second place.
        let again = received(&[
            ("a", &["so"], Change::First),
            ("a", &["u"], Change::More(false)),
            ("a", &["u", "p"], Change::Whole(1)),
        ]);
        assert_eq!(again, ("soup".to_owned(), 3));
        let replaced = received(&[
            ("a", &["so"], Change::First),
            ("a", &["stew"], Change::First),
        ]);
        assert_eq!(replaced, ("stew".to_owned(), 0));
    }
}
