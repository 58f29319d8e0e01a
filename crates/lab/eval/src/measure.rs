//! The figures of a policy.

use std::time::Duration;

use crate::cost::Spent;
use crate::lists::Lists;
use crate::net::Net;
use crate::share::Recall;

/// The figures of a policy over some conversations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measure {
    /// The number of conversations.
    pub conversations: u64,
    /// The number of prompts of agents in the conversations.
    pub prompts: u64,
    /// The tokens of the prompts.
    pub spent: Spent,
    /// Net cost, and the shares of what was said that prompts still say.
    pub net: Net,
    /// The tokens of tool results.
    pub results: FirstSight,
    /// Bytes of the messages in the recordings; `found` counts the bytes of messages that the policy recovers
    /// unchanged.
    pub bytes: Recall,
    /// Prompts; `found` counts those that change something that was sent to the same agent before: the steps of the
    /// policy.
    pub changes: Recall,
    /// Prompts that are lists; `found` counts those that a provider refuses: a call without its result, a result
    /// without its call, or a change before a thought that the provider binds to the messages before it.
    pub refused: Recall,
    /// The prompts as lists inside a window; all zero without a window.
    pub lists: Lists,
    /// The policy's own time.
    pub time: Duration,
}

/// The tokens of tool results in the first prompt after them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FirstSight {
    /// The number of results that this prompt shows. Other results are not counted.
    pub shown: u64,
    /// The tokens of the shown results in the prompt.
    pub tokens: u64,
    /// The tokens that a provider bills for the shown results in the unchanged list.
    pub base: u64,
}

impl FirstSight {
    /// Returns the tokens as a share of the base's tokens, or `None` when no result was shown.
    pub fn share(self) -> Option<f64> {
        (self.base > 0).then(|| self.tokens as f64 / self.base as f64)
    }

    fn add(&mut self, other: Self) {
        self.shown += other.shown;
        self.tokens += other.tokens;
        self.base += other.base;
    }
}

impl Measure {
    pub(crate) fn add(&mut self, other: &Self) {
        self.conversations += other.conversations;
        self.prompts += other.prompts;
        self.spent.add(&other.spent);
        self.net.add(&other.net);
        self.results.add(other.results);
        self.bytes.add(other.bytes);
        self.changes.add(other.changes);
        self.refused.add(other.refused);
        self.lists.add(&other.lists);
        self.time += other.time;
    }
}
