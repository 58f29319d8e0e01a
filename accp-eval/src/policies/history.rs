//! The whole history as compact JSON: what everything else is measured against.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Agent, Message, Opening, Policy, Segment};

/// The messages so far, each with the segment that shows it.
#[derive(Debug)]
pub(crate) struct History {
    tools: Option<Segment>,
    shown: Vec<(Message, Segment)>,
}

impl History {
    pub(crate) fn new(opening: &Opening) -> Self {
        Self {
            tools: Segment::tools(opening),
            shown: Vec::new(),
        }
    }

    pub(crate) fn tools(&self) -> Option<&Segment> {
        self.tools.as_ref()
    }

    /// The messages so far that are for this agent.
    pub(crate) fn read_by<'h>(
        &'h self,
        agent: &'h Agent,
    ) -> impl DoubleEndedIterator<Item = &'h (Message, Segment)> {
        self.shown
            .iter()
            .filter(|(message, _)| message.is_for(&agent.name))
    }

    pub(crate) fn message(&self, index: usize) -> Option<&Message> {
        self.shown.get(index).map(|(message, _)| message)
    }

    pub(crate) fn len(&self) -> usize {
        self.shown.len()
    }

    /// Adds a message with the text that shows it.
    pub(crate) fn show(&mut self, message: &Message, text: Arc<str>) {
        let mut segment = Segment::new(message.kind, text);
        segment.message = Some(message.index);
        self.shown.push((message.clone(), segment));
    }
}

impl Policy for History {
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
}
