//! Full-text search in the log of a side.

use std::sync::Arc;

use accp_context::search::Query;
use accp_registry::lexical;
use accp_session::{Entry, EntryKind};

/// The most characters of a snippet.
const SNIPPET: usize = 160;
/// The number of entries that a search reads at once.
pub(crate) const PIECE: usize = 1_000;

/// An entry of the log that has words which were looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match {
    /// The position of the entry.
    pub position: u64,
    /// The part of the text that has most of the words: at most 160 characters, or one word. The text is
    /// the frame with the values that the frame refers to, each without its escapes.
    pub snippet: String,
}

/// The bytes of a value in cold state.
pub(crate) enum Bytes {
    Here(Arc<[u8]>),
    /// The bytes have expired.
    Gone,
    /// The bytes are not here, but may still come.
    Lacking,
}

/// The text of an entry that a search looks through.
pub(crate) struct Document {
    /// The frame, and the values that it refers to, each on a line of its own.
    pub(crate) text: String,
    /// False while the bytes of a value may still come.
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(dead_code, reason = "for an index alone")
    )]
    pub(crate) is_whole: bool,
}

impl Document {
    /// Makes the document of an entry. `value` looks up a value in cold state. Returns `None` if the entry
    /// is not a frame of an agent, or has lost its text. A part has no document, because the whole frame
    /// is an entry of its own.
    pub(crate) fn of<E>(
        entry: &Entry,
        mut value: impl FnMut(&str) -> Result<Bytes, E>,
    ) -> Result<Option<Self>, E> {
        if entry.kind != EntryKind::Frame || entry.text.is_empty() {
            return Ok(None);
        }
        let mut text = lexical::decode_text(&entry.text).into_owned();
        let mut is_whole = true;
        for key in keys(&entry.text) {
            match value(key)? {
                Bytes::Here(bytes) => {
                    text.push('\n');
                    text.push_str(&lexical::decode_text(&String::from_utf8_lossy(&bytes)));
                }
                Bytes::Gone => {}
                Bytes::Lacking => is_whole = false,
            }
        }
        Ok(Some(Self { text, is_whole }))
    }

    /// Returns the match for a query that this document meets.
    pub(crate) fn to_match(&self, position: u64, query: &Query) -> Match {
        let part = query.part(&self.text, SNIPPET).unwrap_or_default();
        let snippet = self.text[part].to_owned();
        Match { position, snippet }
    }
}

/// Returns the keys of values in cold state that a frame refers to, each once.
fn keys(frame: &str) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for rest in frame.split("$cold.").skip(1) {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let key = &rest[..end.unwrap_or(rest.len())];
        if key.starts_with('k') && !all.contains(&key) {
            all.push(key);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_a_frame_are_those_of_values() {
        let frame = "@a>req:x{a:$cold.k1_2|b:[$cold.k1_2,$cold.k10_3.path]|c:$cold.p7}[mid:1]";
        assert_eq!(keys(frame), ["k1_2", "k10_3"]);
    }
}
