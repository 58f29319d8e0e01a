//! Counts the bytes of a recorded document, and how many of these bytes each message shows.

use std::collections::HashMap;

use accp_context::Recorded;
use serde_json::Value as Json;

use crate::leaves::{Leaves, each, each_of_file, hash, inner, text};
use crate::words::Formats;

/// The number of bytes of the strings, numbers and booleans of a document, without the values that the recording
/// keeps outside the messages. The document itself is counted, so the number does not depend on what a reader
/// understood.
///
/// ```
/// use accp_recordings::Conversation;
/// use serde_json::json;
///
/// let recorded = json!({ "id": "bakery/1", "messages": [
///     { "role": "user", "content": "Is there rye?" },
///     { "role": "assistant", "content": "Four bags." }] });
/// let content = Conversation::new(recorded)?.content();
/// assert_eq!(content.bytes(), 23);
/// assert_eq!((content.of_message(0), content.of_message(1)), (13, 10));
/// # Ok::<(), accp_recordings::NotConversation>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    bytes: u64,
    by_message: Vec<u64>,
}

impl Content {
    /// Counts the document. `beside` are the values that are kept outside the messages.
    pub(crate) fn count<'m>(
        document: &Json,
        formats: Formats,
        beside: &Leaves,
        messages: impl Iterator<Item = Recorded<'m>> + Clone,
    ) -> Self {
        let shown: Vec<Json> = messages.map(Recorded::shown).collect();
        let mut whole = Leaves::default();
        for json in &shown {
            whole.add(json);
        }
        let mut wanted = Wanted {
            formats,
            beside: beside.clone(),
            whole,
            left: HashMap::new(),
            bytes: 0,
        };
        wanted.take(document);
        let by_message = shown.iter().map(|json| wanted.found(json)).collect();
        Self {
            bytes: wanted.bytes,
            by_message,
        }
    }

    /// Returns the number of bytes of the document that the messages have to show.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns how many of these bytes the message with this index, from 0, shows.
    pub fn of_message(&self, index: usize) -> u64 {
        self.by_message.get(index).copied().unwrap_or(0)
    }
}

/// The leaves of a document that no message has shown so far.
struct Wanted {
    formats: Formats,
    beside: Leaves,
    whole: Leaves,
    /// The number of places of each leaf.
    left: HashMap<u64, usize>,
    bytes: u64,
}

impl Wanted {
    fn take(&mut self, document: &Json) {
        each_of_file(document, self.formats, &mut |_, leaf| {
            let digest = hash(leaf);
            let repeats = self.formats.document.repeats();
            if self.beside.take(digest, repeats) {
                return;
            }
            // A reader may have parsed a text of JSON. Then the messages have its leaves in place
            // of the text.
            if !self.whole.take(digest, repeats)
                && let Some(inner) = inner(leaf)
            {
                self.take(&inner);
                return;
            }
            let places = self.left.entry(digest).or_default();
            if *places == 0 || !repeats {
                *places += 1;
                self.bytes += text(leaf).len() as u64;
            }
        });
    }

    /// Returns the number of bytes that this message shows. No other message can show the same bytes again.
    fn found(&mut self, message: &Json) -> u64 {
        let mut found = 0;
        each(message, "", &mut |_, leaf| match self
            .left
            .get_mut(&hash(leaf))
            .filter(|places| **places > 0)
        {
            Some(places) => {
                *places -= 1;
                found += text(leaf).len() as u64;
            }
            None => {
                if let Some(inner) = inner(leaf) {
                    found += self.found(&inner);
                }
            }
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::format::Format;

    fn count(document: &Json, messages: &[Json]) -> Content {
        let messages = messages.iter().map(Recorded::of);
        Content::count(
            document,
            Format::Anthropic.into(),
            &Leaves::default(),
            messages,
        )
    }

    #[test]
    fn what_a_reader_dropped_is_counted() {
        let document = json!({ "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Hello" }] },
            { "role": "user", "content": [{ "type": "tool_result", "content": "dropped" }] }] });
        let model = [json!({ "role": "user", "content": "Hello" })];
        let content = count(&document, &model);
        assert_eq!((content.bytes(), content.of_message(0)), (12, 5));
        assert_eq!(content.of_message(1), 0);
    }

    #[test]
    fn a_leaf_is_shown_in_as_many_places_as_the_document_has() {
        let twice = json!({ "messages": ["Hello", "Hello"] });
        let model = [json!({ "content": "Hello" })];
        let content = count(&twice, &model);
        assert_eq!((content.bytes(), content.of_message(0)), (10, 5));
    }

    #[test]
    fn json_in_a_text_is_shown_leaf_by_leaf() {
        let document = json!({ "messages": ["[{\"text\": \"Hello\"}]", 12] });
        let model = [
            json!({ "content": "Hello" }),
            json!({ "content": "{\"n\":12}" }),
        ];
        let content = count(&document, &model);
        assert_eq!(content.bytes(), 7);
        assert_eq!((content.of_message(0), content.of_message(1)), (5, 2));
    }
}
