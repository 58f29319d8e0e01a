//! The texts of a message: its pieces, its tokens, and the parts that are commands or observations.

use std::ops::Range;

use accp_memory::policy::Message;
use accp_tokens::Bpe;

use super::phrases::OBSERVATIONS;
use super::text::{Collapsed, IsWhole, Scalar, each_scalar, floor, without_codes};

/// A message taken apart into its pieces.
#[derive(Debug)]
pub(crate) struct MessageText {
    /// The pieces as they were recorded, with a line feed between them.
    pub(crate) raw: String,
    pub(crate) pieces: Vec<Piece>,
    /// The byte of `raw` at which each token ends.
    ends: Vec<usize>,
    /// The parts of `raw` that are code blocks.
    commands: Vec<Range<usize>>,
    /// The part of `raw` that is an observation, if there is one. An observation goes on to the end of the content.
    observation: Option<Range<usize>>,
}

/// The content of a message, or a string among the arguments of its calls.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) text: Collapsed,
    /// The byte of the message's raw text at which the piece begins.
    at: usize,
    /// The length of the piece in the raw text.
    length: usize,
    pub(crate) is_argument: bool,
}

/// The kind of text at a place in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// What the speaker says.
    Words,
    /// A code block, or an argument of a call.
    Command,
    /// What an agent observed, such as a page, recorded among the agent's words.
    Observation,
}

impl MessageText {
    pub(crate) fn of(message: &Message, counter: Bpe) -> Self {
        let mut message_text = Self {
            raw: String::new(),
            pieces: Vec::new(),
            ends: Vec::new(),
            commands: Vec::new(),
            observation: None,
        };
        let recorded = message.recorded();
        for text in recorded.texts() {
            message_text.add(text, false);
        }
        message_text.commands = code_blocks(&message_text.raw);
        let shows = OBSERVATIONS.iter();
        let shows = shows
            .filter_map(|pattern| message_text.raw.find(pattern))
            .min();
        message_text.observation = shows.map(|at| at..message_text.raw.len());
        for call in recorded.calls() {
            if let Some(arguments) = call.arguments() {
                each_scalar(&arguments, &mut |scalar, whole| {
                    if let (Scalar::Text(text), IsWhole(true)) = (scalar, whole) {
                        message_text.add(text, true);
                    }
                });
            } else if let Some(text) = call.recorded_arguments().and_then(|json| json.as_str()) {
                message_text.add(text, true);
            }
        }
        message_text.ends = counter.ends(&message_text.raw);
        message_text
    }

    fn add(&mut self, text: &str, is_argument: bool) {
        if !self.pieces.is_empty() {
            self.raw.push('\n');
        }
        let text = &*without_codes(text);
        self.pieces.push(Piece {
            text: Collapsed::of(text),
            at: self.raw.len(),
            length: text.len(),
            is_argument,
        });
        self.raw.push_str(text);
    }

    /// Returns the number of tokens of the message.
    pub(crate) fn tokens(&self) -> usize {
        self.ends.len()
    }

    /// Returns the raw text of these tokens.
    pub(crate) fn window(&self, tokens: &Range<usize>) -> &str {
        let start = tokens.start.checked_sub(1).map_or(0, |at| self.ends[at]);
        let end = tokens.end.checked_sub(1).map_or(0, |at| self.ends[at]);
        &self.raw[floor(&self.raw, start)..floor(&self.raw, end)]
    }

    /// Returns the range of the tokens that hold these bytes of the raw text.
    pub(crate) fn tokens_of(&self, raw: &Range<usize>) -> Range<usize> {
        let start = self.ends.partition_point(|&end| end <= raw.start);
        let end = self.ends.partition_point(|&end| end < raw.end) + 1;
        start..end.min(self.ends.len())
    }

    /// Returns the range that a part of a piece has in the raw text.
    pub(crate) fn place(&self, piece: usize, part: &Range<usize>) -> Range<usize> {
        let piece = &self.pieces[piece];
        let last = floor(&piece.text.text, part.end.saturating_sub(1));
        let width = piece.text.text[last..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        piece.at + piece.text.origin(part.start)..piece.at + piece.text.origin(last) + width
    }

    /// Returns the range in the raw text of a piece.
    pub(crate) fn whole(&self, piece: usize) -> Range<usize> {
        let Piece { at, length, .. } = self.pieces[piece];
        at..at + length
    }

    /// Returns the kind of the text at this place of a piece. The beginning of the text decides.
    pub(crate) fn kind_at(&self, piece: usize, part: &Range<usize>) -> TextKind {
        let at = self.place(piece, part).start;
        let observed = self.observation.as_ref();
        if self.pieces[piece].is_argument {
            TextKind::Command
        } else if observed.is_some_and(|range| range.contains(&at)) {
            TextKind::Observation
        } else if self.commands.iter().any(|range| range.contains(&at)) {
            TextKind::Command
        } else {
            TextKind::Words
        }
    }

    /// Returns the code blocks of the content.
    pub(crate) fn code_blocks(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().map(|range| &self.raw[range.clone()])
    }

    /// Returns what the speaker says: the content without code blocks and observations, in parts.
    pub(crate) fn words(&self) -> Vec<&str> {
        let content = self.pieces.iter().find(|piece| piece.is_argument);
        let mut end = content.map_or(self.raw.len(), |piece| piece.at);
        if let Some(observation) = &self.observation {
            end = end.min(observation.start);
        }
        let mut parts = Vec::new();
        let mut at = 0;
        for command in self.commands.iter().filter(|command| command.start < end) {
            parts.push(&self.raw[at..command.start]);
            at = command.end.min(end);
        }
        parts.push(&self.raw[at.min(end)..end]);
        parts
    }
}

/// Returns the insides of fenced code blocks, without the lines of the fences.
fn code_blocks(text: &str) -> Vec<Range<usize>> {
    const FENCE: &str = "```";
    let mut blocks = Vec::new();
    let mut open = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with(FENCE) {
            match open.take() {
                None => open = Some(at + line.len()),
                Some(start) => blocks.push(start..at),
            }
        }
        at += line.len();
    }
    blocks.extend(open.map(|start| start..text.len()));
    blocks
}

#[cfg(test)]
mod tests {
    use accp_context::Recorded;
    use serde_json::json;

    use super::*;

    fn message_text(json: &serde_json::Value) -> MessageText {
        let message = Message::new(0, Recorded::of(json)).unwrap();
        MessageText::of(&message, Bpe::o200k_base())
    }

    #[test]
    fn pieces_are_the_content_and_the_strings_of_arguments() {
        let message_text = message_text(
            &json!({ "role": "assistant", "content": "Look\n at  it.", "tool_calls": [
            { "id": "c", "function": { "name": "put", "arguments":
                "{\"path\": \"a/b\", \"n\": 4, \"rows\": \"[{\\\"id\\\": \\\"R 1\\\"}]\"}" } },
            { "id": "d", "function": { "name": "odd", "arguments": "not JSON" } }] }),
        );
        let pieces = message_text.pieces.iter();
        let pieces: Vec<_> = pieces
            .map(|piece| (&*piece.text.text, piece.is_argument))
            .collect();
        let expected = [
            ("Look at it.", false),
            ("a/b", true),
            ("R 1", true),
            ("not JSON", true),
        ];
        assert_eq!(pieces, expected);
        assert_eq!(message_text.raw, "Look\n at  it.\na/b\nR 1\nnot JSON");
        let place = message_text.place(0, &(5..10));
        assert_eq!(&message_text.raw[place.clone()], "at  it");
        let tokens = message_text.tokens_of(&place);
        assert_eq!(message_text.window(&tokens), " at  it");
        assert_eq!(
            message_text.window(&(0..message_text.tokens())),
            message_text.raw
        );
    }

    #[test]
    fn commands_and_observations_are_told_from_words() {
        let text = "I run it.\n```bash\nls -R\n```\nDone. Observation: a b\nc\n";
        let message_text = message_text(&json!({ "role": "agent", "content": text }));
        assert_eq!(message_text.code_blocks().collect::<Vec<_>>(), ["ls -R\n"]);
        assert_eq!(
            message_text.words(),
            ["I run it.\n```bash\n", "```\nDone. "]
        );
        let kind_of = |part: &str| {
            let at = message_text.pieces[0].text.text.find(part).unwrap();
            message_text.kind_at(0, &(at..at + part.len()))
        };
        assert_eq!(kind_of("run it"), TextKind::Words);
        assert_eq!(kind_of("ls -R"), TextKind::Command);
        assert_eq!(kind_of("a b"), TextKind::Observation);
    }
}
