//! What an agent of A2A has told about a task.

use a2a::{Message, Part, PartContent};
use accp_frame::{
    AgentId, EncodeError, Envelope, ErrorCode, Frame, Intent, Message as Dynamic, Registry,
    profiles::ChatDone, profiles::InferStream,
};
use accp_session::Outbound;

use crate::incoming::media_type;
use crate::said::{ACCP, LONG, WIDE};

/// What an agent of A2A has told about a task.
#[derive(Debug, Default)]
pub(super) struct Told {
    artifacts: Vec<Known>,
    /// The pieces of words that went out.
    pieces: i64,
    /// The frame that answers.
    answer: Option<String>,
}

/// An artifact, as far as it was told.
#[derive(Debug, Default)]
struct Known {
    id: String,
    /// The parts that were seen.
    seen: usize,
    words: Vec<String>,
    /// True if its words came in pieces.
    in_pieces: bool,
}

/// How parts of an artifact come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comes {
    /// With all parts before them: as in a task.
    Whole,
    /// As the first parts.
    First,
    /// After parts that came before. True if they are the last.
    More(bool),
}

impl Told {
    /// Takes parts of an artifact. Returns the frames of a stream that they are: pieces of a stream of
    /// frames, and words that come in pieces.
    pub(super) fn take(
        &mut self,
        id: &str,
        parts: &[Part],
        comes: Comes,
        agent: &str,
        registry: &Registry,
    ) -> Vec<Outbound<'static>> {
        let artifacts = &mut self.artifacts;
        let at = artifacts.iter().position(|known| known.id == id);
        let at = at.unwrap_or_else(|| {
            artifacts.push(Known {
                id: id.to_owned(),
                ..Known::default()
            });
            artifacts.len() - 1
        });
        let Some(known) = artifacts.get_mut(at) else {
            return Vec::new();
        };
        let parts = match comes {
            Comes::Whole => {
                let new = parts.get(known.seen..).unwrap_or_default();
                known.seen += new.len();
                new
            }
            Comes::First => {
                known.words.clear();
                known.in_pieces = false;
                known.seen = parts.len();
                parts
            }
            Comes::More(_) => {
                known.seen += parts.len();
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
                // Beside a frame, words say the same.
                pieces.push(text);
            }
        }
        // Words are a stream once a second piece comes: then the first goes out as well.
        let is_last = comes == Comes::More(true);
        let is_more = matches!(comes, Comes::More(_));
        if is_more || known.in_pieces {
            let first = if known.in_pieces {
                &[]
            } else {
                &known.words[..]
            };
            let all = first.len() + pieces.len();
            for (index, words) in first.iter().chain(&pieces).enumerate() {
                let piece = InferStream::new(self.pieces, words.clone());
                self.pieces += 1;
                out.push(Outbound::owned(piece.is_final(is_last && index + 1 == all)));
            }
            known.in_pieces = true;
        }
        known.words.extend(pieces);
        out
    }

    /// Takes a message that is itself the answer.
    pub(super) fn says(&mut self, message: &Message, agent: &str, registry: &Registry) {
        self.take("", &message.parts, Comes::First, agent, registry);
    }

    /// Returns the words of all artifacts. Pieces of one text stand side by side.
    fn words(&self) -> String {
        let artifacts = self
            .artifacts
            .iter()
            .filter(|known| !known.words.is_empty());
        let words = artifacts.map(|known| {
            let separator = if known.in_pieces { "" } else { "\n" };
            known.words.join(separator)
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
                let text = format!("the answer of the remote agent is no frame here: {error}");
                Outbound::error(ErrorCode::INTERNAL_ERROR, text)
            });
        }
        let words = self.words();
        if words.is_empty() {
            let done = Dynamic::new(agent.to_owned(), "done", operation.to_owned());
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

#[cfg(test)]
mod tests {
    use a2a::Part;
    use accp_frame::Registry;

    use super::{Comes, Told};

    fn told(updates: &[(&str, &[&str], Comes)]) -> (String, usize) {
        let registry = Registry::standard();
        let mut told = Told::default();
        let mut pieces = 0;
        for (id, texts, comes) in updates {
            let parts: Vec<Part> = texts.iter().map(|text| Part::text(*text)).collect();
            pieces += told.take(id, &parts, *comes, "cook", &registry).len();
        }
        (told.words(), pieces)
    }

    #[test]
    fn words_are_a_stream_if_they_come_in_pieces() {
        let whole = told(&[
            ("a", &["soup"], Comes::First),
            ("b", &["rye", "bread"], Comes::First),
        ]);
        assert_eq!(whole, ("soup\nrye\nbread".to_owned(), 0));
        let first = ("a", &["so"][..], Comes::First);
        let last = ("a", &["p"][..], Comes::More(true));
        let pieces = told(&[first, ("a", &["u"], Comes::More(false)), last]);
        assert_eq!(pieces, ("soup".to_owned(), 3));
    }

    #[test]
    fn what_was_told_is_not_told_again() {
        let again = told(&[
            ("a", &["so"], Comes::First),
            ("a", &["u"], Comes::More(false)),
            ("a", &["so", "u", "p"], Comes::Whole),
        ]);
        assert_eq!(again, ("soup".to_owned(), 3));
        let replaced = told(&[("a", &["so"], Comes::First), ("a", &["stew"], Comes::First)]);
        assert_eq!(replaced, ("stew".to_owned(), 0));
    }
}
