//! The policy `last`: it shows only the last messages.

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
        let window = shown(&rest, self.count, |segment| segment.kind);
        let head = self.history.tools().into_iter().chain(system);
        head.chain(window.iter().copied()).cloned().collect()
    }

    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        let message = self.history.message(index)?;
        let all = (0..self.history.len()).filter_map(|at| self.history.message(at));
        let rest: Vec<&Message> = all.filter(|one| one.kind != Kind::System).collect();
        let window = shown(&rest, self.count, |one| one.kind);
        let stays = message.kind == Kind::System || window.iter().any(|one| one.index == index);
        stays.then(|| Cow::Borrowed(message.original()))
    }

    fn is_list(&self) -> bool {
        true
    }
}

/// Returns the last `count` of these messages, without the results at their beginning.
fn shown<T>(all: &[T], count: usize, kind: impl Fn(&T) -> Kind) -> &[T] {
    let window = &all[all.len().saturating_sub(count)..];
    let results = window.iter().take_while(|one| kind(one) == Kind::Result);
    &window[results.count()..]
}
