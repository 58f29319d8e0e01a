//! The whole history: the list as it is, which is the baseline for other policies, or compact JSON.

use std::borrow::Cow;
use std::sync::Arc;

use crate::policy::{Agent, Message, Opening, Policy, Segment};

/// The whole history: as a list, as one text with a line of compact JSON for each message, or with texts of your own
/// ([`show`](Self::show)).
#[derive(Debug)]
pub struct Whole {
    is_list: bool,
    tools: Option<Segment>,
    /// The messages so far, each with the segment that shows it.
    shown: Vec<(Message, Segment)>,
}

impl Whole {
    /// Begins a conversation whose prompts are lists as they are.
    pub fn list(opening: &Opening) -> Self {
        Self {
            is_list: true,
            ..Self::new(opening)
        }
    }

    /// Begins a conversation whose prompts are texts: each message is a line.
    pub fn new(opening: &Opening) -> Self {
        Self {
            is_list: false,
            tools: Segment::tools(opening),
            shown: Vec::new(),
        }
    }

    pub(super) fn tools(&self) -> Option<&Segment> {
        self.tools.as_ref()
    }

    /// Returns the messages so far that are for this agent.
    pub(super) fn read_by<'h>(
        &'h self,
        agent: &'h Agent,
    ) -> impl DoubleEndedIterator<Item = &'h (Message, Segment)> {
        self.shown
            .iter()
            .filter(|(message, _)| message.is_for(&agent.name))
    }

    /// Returns the message with this index.
    pub fn message(&self, index: usize) -> Option<&Message> {
        self.shown.get(index).map(|(message, _)| message)
    }

    pub(super) fn len(&self) -> usize {
        self.shown.len()
    }

    /// Takes the next message, as [`push`](Policy::push) does, but shows this text instead of the
    /// message. The text is whole lines.
    pub fn show(&mut self, message: &Message, text: Arc<str>) {
        let segment = Segment {
            text,
            ..Segment::of(message)
        };
        self.shown.push((message.clone(), segment));
    }
}

impl Policy for Whole {
    fn push(&mut self, message: &Message) {
        self.show(message, Arc::clone(&message.text));
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let messages = self.read_by(agent).map(|(_, segment)| segment);
        self.tools.iter().chain(messages).cloned().collect()
    }

    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.message(index)?.original()))
    }

    fn is_list(&self) -> bool {
        self.is_list
    }
}
