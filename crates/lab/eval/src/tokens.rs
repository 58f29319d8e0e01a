//! Tokens of prompts, and the part of a prompt that a provider has in its cache.
//!
//! Counting a whole prompt again for each turn would take hours, so the counter counts *pieces*. A piece begins with
//! the first segment, and with each segment that no token can join to the segment before. In `o200k_base` and
//! `cl100k_base` only white space or `/` follows a line feed within a token. So a new piece begins where a segment
//! ends with a line feed and the next segment begins with neither white space nor `/`. The tokens of the prompt are
//! exactly the tokens of its pieces, one after another. The common beginning of two prompts is their shared first
//! pieces, and the shared first tokens of the first pieces that differ.
//!
//! A provider adds tokens around each message. A prompt that is one text is one message. In a list each message is
//! a piece, with the texts that a provider bills for the message.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use accp_memory::policy::{Kind, Segment};
use accp_memory::{AROUND, Form, MessageList};
use accp_tokens::{Bpe, TokenCounter as _};
use serde_json::Value as Json;

/// Counts pieces, each text once.
pub(crate) struct Pieces {
    counter: Bpe,
    counted: HashMap<Arc<str>, usize>,
    /// Counts by the address of a text, for texts that come again as the same `Arc`. The `Arc` here keeps the text
    /// alive.
    addresses: HashMap<usize, (Arc<str>, usize)>,
    /// For each message of a list, by its JSON: the texts that are billed, and the other tokens that are billed.
    billed: HashMap<Arc<str>, (Arc<str>, u64)>,
    /// The agent that speaks in each message of a list; `None` if no agent does.
    speakers: HashMap<Arc<str>, Option<Arc<str>>>,
    /// Each message of a list in the form that the list of its speaker has.
    own: HashMap<Arc<str>, Arc<str>>,
}

/// Comes before the JSON of a message in the list of its speaker.
const OWN: &str = "own ";

/// A part of a prompt whose tokens do not depend on the text around it.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// The text that a provider gets, with which pieces are compared.
    pub(crate) source: Arc<str>,
    /// The text whose tokens a provider bills.
    text: Arc<str>,
    pub(crate) tokens: usize,
    /// The kind of the first segment.
    pub(crate) kind: Kind,
}

/// Tokens by the kind of segment, as in [`Kind::ALL`].
pub type ByKind = [u64; Kind::ALL.len()];

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pieces").field(&self.counter).finish()
    }
}

impl Pieces {
    pub(crate) fn new(counter: Bpe) -> Self {
        Self {
            counter,
            counted: HashMap::new(),
            addresses: HashMap::new(),
            billed: HashMap::new(),
            speakers: HashMap::new(),
            own: HashMap::new(),
        }
    }

    /// Returns the pieces of a prompt: of the list of an agent, or of one text.
    pub(crate) fn of(&mut self, prompt: &[Segment], list_of: Option<&str>) -> Vec<Piece> {
        if let Some(agent) = list_of {
            return self.of_list(prompt, agent);
        }
        let mut pieces = self.of_text(prompt);
        if let Some(first) = pieces.first_mut() {
            first.tokens += AROUND as usize;
        }
        pieces
    }

    fn of_list(&mut self, prompt: &[Segment], agent: &str) -> Vec<Piece> {
        let shown = prompt.iter().filter(|segment| !segment.text.is_empty());
        let pieces = shown.map(|segment| {
            let (text, beside) = match segment.kind {
                Kind::Tools => (Arc::clone(&segment.text), 0),
                _ => self.billed(&segment.text),
            };
            let (text, tokens) = self.count(text);
            Piece {
                source: self.as_sent(&segment.text, agent),
                text,
                tokens: tokens + beside as usize,
                kind: segment.kind,
            }
        });
        pieces.collect()
    }

    /// Returns a message as the list of an agent has it. The agent's own messages have another role there than in
    /// the lists of others.
    fn as_sent(&mut self, json: &Arc<str>, agent: &str) -> Arc<str> {
        let speaker = self.speakers.entry(Arc::clone(json)).or_insert_with(|| {
            let json: Json = serde_json::from_str(json).unwrap_or_default();
            let speaks = matches!(json["role"].as_str(), Some("agent" | "assistant"));
            let name = json["name"].as_str().or(json["role"].as_str());
            name.filter(|_| speaks).map(Arc::from)
        });
        if speaker.as_deref() != Some(agent) {
            return Arc::clone(json);
        }
        let own = self.own.entry(Arc::clone(json));
        Arc::clone(own.or_insert_with(|| Arc::from(format!("{OWN}{json}"))))
    }

    /// Returns the texts that a provider bills for a message of a list, and the number of other tokens that it
    /// bills. A text that is not a message is billed as it is.
    fn billed(&mut self, json: &Arc<str>) -> (Arc<str>, u64) {
        if let Some((text, beside)) = self.billed.get(json) {
            return (Arc::clone(text), *beside);
        }
        let list = MessageList::of(Form::OpenAi, [json.trim()]);
        let billed = list.ok().and_then(|list| {
            let message = list.messages().first()?;
            Some(message.billed(Form::OpenAi))
        });
        let (text, beside) = match billed {
            Some(billed) => (Arc::from(billed.text), billed.media + AROUND),
            None => (Arc::clone(json), AROUND),
        };
        self.billed
            .insert(Arc::clone(json), (Arc::clone(&text), beside));
        (text, beside)
    }

    /// Returns the number of tokens that a provider bills for a message of a list.
    pub(crate) fn billed_tokens(&mut self, json: &Arc<str>) -> usize {
        let (text, beside) = self.billed(json);
        self.count(text).1 + beside as usize
    }

    fn of_text(&mut self, prompt: &[Segment]) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(prompt.len());
        let mut rest = prompt
            .iter()
            .filter(|segment| !segment.text.is_empty())
            .peekable();
        while let Some(first) = rest.next() {
            let mut text = Arc::clone(&first.text);
            let mut joined = String::new();
            while let Some(next) = rest.next_if(|next| !is_seam(&text, &next.text)) {
                joined.push_str(if joined.is_empty() { &first.text } else { "" });
                joined.push_str(&next.text);
                text = Arc::clone(&next.text);
            }
            if !joined.is_empty() {
                text = Arc::from(joined);
            }
            let (text, tokens) = self.count(text);
            let kind = first.kind;
            let source = Arc::clone(&text);
            pieces.push(Piece {
                source,
                text,
                tokens,
                kind,
            });
        }
        pieces
    }

    /// Returns the number of tokens with which both prompts begin.
    pub(crate) fn shared(&self, previous: &[Piece], prompt: &[Piece]) -> u64 {
        let mut shared = 0;
        for (index, piece) in prompt.iter().enumerate() {
            let Some(before) = previous.get(index) else {
                break;
            };
            if before.is_same(piece) {
                shared += piece.tokens as u64;
                continue;
            }
            let tokens = |text: &str| self.counter.tokens(text);
            let (old, new) = (tokens(&before.text), tokens(&piece.text));
            let same = old.iter().zip(&new).take_while(|(old, new)| old == new);
            let same = same.count() as u64;
            // Prompts that share the first tokens of a message also share the tokens that a provider puts before them.
            let before = if piece.tokens > new.len() { AROUND } else { 0 };
            shared += if same > 0 { same + before } else { 0 };
            break;
        }
        shared
    }

    /// Returns the number of tokens of a text by itself.
    pub(crate) fn tokens(&mut self, text: &Arc<str>) -> usize {
        self.count(Arc::clone(text)).1
    }

    /// Returns the text, always as the same `Arc`, and its number of tokens.
    fn count(&mut self, text: Arc<str>) -> (Arc<str>, usize) {
        let address = text.as_ptr().addr();
        if let Some((known, tokens)) = self.addresses.get(&address)
            && known.len() == text.len()
        {
            return (Arc::clone(known), *tokens);
        }
        if let Some((known, &tokens)) = self.counted.get_key_value(&text) {
            return (Arc::clone(known), tokens);
        }
        let tokens = self.counter.count(&text);
        self.counted.insert(Arc::clone(&text), tokens);
        self.addresses.insert(address, (Arc::clone(&text), tokens));
        (text, tokens)
    }
}

impl Piece {
    /// Returns whether a provider gets the same text for both pieces.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) || self.source == other.source
    }
}

/// Returns whether no token can reach from the end of `before` into `after`.
fn is_seam(before: &str, after: &str) -> bool {
    let free = |character: char| !character.is_whitespace() && character != '/';
    before.ends_with('\n') && after.starts_with(free)
}

/// Returns the tokens of a prompt, by kind.
pub(crate) fn by_kind(prompt: &[Piece]) -> ByKind {
    let mut tokens = ByKind::default();
    for piece in prompt {
        tokens[piece.kind as usize] += piece.tokens as u64;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prompts() -> impl Strategy<Value = Vec<Vec<Segment>>> {
        let text = prop_oneof![
            "[a-z{\"/. 0-9é\n\r\t]{0,12}\n?",
            Just("{\"role\":\"user\"}\n".to_owned()),
            Just("/testbed\n\n".to_owned()),
            Just("  x})//\n".to_owned()),
        ];
        let segment = text.prop_map(|text| Segment::new(Kind::User, text));
        let prompt = proptest::collection::vec(segment, 0..8);
        (prompt.clone(), prompt, 0..8_usize).prop_map(|(first, more, keep)| {
            let kept = first.iter().take(keep).cloned();
            vec![first.clone(), kept.chain(more).collect()]
        })
    }

    proptest! {
        #[test]
        fn pieces_have_the_tokens_of_the_whole(prompts in prompts(), encoding in 0..2_usize) {
            let counter = Bpe::for_encoding(Bpe::ENCODINGS[encoding]).unwrap();
            let mut pieces = Pieces::new(counter);
            let whole = |prompt: &[Segment]| -> String { prompt.iter().map(|segment| &*segment.text).collect() };
            let taken: Vec<_> = prompts.iter().map(|prompt| pieces.of(prompt, None)).collect();
            let mut tokens = Vec::new();
            for (prompt, taken) in prompts.iter().zip(&taken) {
                let text = whole(prompt);
                let around = if text.is_empty() { 0 } else { AROUND };
                prop_assert_eq!(by_kind(taken).iter().sum::<u64>(), counter.count(&text) as u64 + around, "{:?}", text);
                tokens.push(pieces.counter.tokens(&text));
            }
            let naive = tokens[0].iter().zip(&tokens[1]).take_while(|(old, new)| old == new).count();
            let shared = pieces.shared(&taken[0], &taken[1]);
            let around = if naive > 0 { AROUND } else { 0 };
            prop_assert_eq!(shared, naive as u64 + around, "{:?}", prompts);
        }
    }
}
