//! Segments of a prompt.

use std::sync::Arc;

use super::Opening;
use super::message::{Kind, Message};

/// A piece of a prompt. A prompt is the texts of its segments one after another, without anything
/// between them. End each text with a line feed.
///
/// Cloning is cheap. If a segment has not changed since the last prompt, return the same `Arc`
/// again: measurements then count it once.
#[derive(Debug, Clone)]
pub struct Segment {
    /// The kind, for statistics.
    pub kind: Kind,
    /// The text.
    pub text: Arc<str>,
    /// The index of the message that the segment shows, if it shows a single message.
    pub message: Option<usize>,
}

impl Segment {
    /// Makes a segment that does not belong to a single message.
    pub fn new(kind: Kind, text: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            text: text.into(),
            message: None,
        }
    }

    /// Makes the segment that shows a message as it was recorded.
    pub fn of(message: &Message) -> Self {
        Self {
            message: Some(message.index),
            ..Self::new(message.kind, Arc::clone(&message.text))
        }
    }

    /// Returns the tool schemas of a conversation, if it has any.
    pub fn tools(opening: &Opening) -> Option<Self> {
        let tools = opening.tools.as_ref()?;
        Some(Self::new(Kind::Tools, Arc::clone(tools)))
    }
}
