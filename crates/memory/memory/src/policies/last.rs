//! Truncation: the last messages only.

use std::borrow::Cow;

use super::whole::Whole;
use crate::policy::{Agent, Kind, Message, Opening, Policy, Segment};

/// Shows system prompts, and the last `count` of the other messages. A tool's result at the beginning of these is
/// left out, because providers refuse a result without its call.
#[derive(Debug)]
pub struct Last {
    history: Whole,
    count: usize,
}

impl Last {
    /// Begins a conversation.
    pub fn new(opening: &Opening, count: usize) -> Self {
        Self {
            history: Whole::new(opening),
            count,
        }
    }
}

impl Policy for Last {
    fn push(&mut self, message: &Message) {
        self.history.push(message);
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let (system, rest): (Vec<_>, Vec<_>) = self
            .history
            .read_by(agent)
            .map(|(_, segment)| segment)
            .partition(|segment| segment.kind == Kind::System);
        let window = &rest[rest.len().saturating_sub(self.count)..];
        let window = window
            .iter()
            .skip_while(|segment| segment.kind == Kind::Result);
        let head = self.history.tools().into_iter().chain(system);
        head.chain(window.copied()).cloned().collect()
    }

    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        let message = self.history.message(index)?;
        let later = (index + 1..self.history.len()).filter_map(|at| self.history.message(at));
        let rest = later.filter(|message| message.kind != Kind::System).count();
        let stays = message.kind == Kind::System || rest < self.count;
        stays.then(|| Cow::Borrowed(message.original()))
    }

    fn is_list(&self) -> bool {
        true
    }
}
