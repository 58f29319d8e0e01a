//! The figures of a policy.

use std::time::Duration;

use crate::cost::Spent;

/// What a policy did over some conversations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measure {
    /// Conversations.
    pub conversations: u64,
    /// Prompts of agents in them.
    pub prompts: u64,
    /// The tokens of these.
    pub spent: Spent,
    /// Arguments of tool calls that stand in the prompt.
    pub arguments: Recall,
    /// Arguments that stand there under their key or in their record.
    pub bound: Recall,
    /// Names in agents' texts that stand in the prompt.
    pub identifiers: Recall,
    /// What tool results take.
    pub results: FirstSight,
    /// Bytes of the messages; `found` are those that were given back.
    pub bytes: Recall,
    /// The policy's own time.
    pub time: Duration,
}

/// How much of what was looked for was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recall {
    /// What was looked for.
    pub wanted: u64,
    /// What of it was found.
    pub found: u64,
}

/// What tool results take of the first prompt after them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FirstSight {
    /// How many of them this prompt shows; the others count nowhere.
    pub shown: u64,
    /// Their tokens in the prompt.
    pub tokens: u64,
    /// Their tokens as compact JSON.
    pub base: u64,
}

impl Recall {
    /// From 0 to 1; `None` where nothing was looked for.
    pub fn share(self) -> Option<f64> {
        (self.wanted > 0).then(|| self.found as f64 / self.wanted as f64)
    }

    pub(crate) fn count(&mut self, found: bool) {
        self.wanted += 1;
        self.found += u64::from(found);
    }

    fn add(&mut self, other: Self) {
        self.wanted += other.wanted;
        self.found += other.found;
    }
}

impl FirstSight {
    /// The tokens as a share of the base's; `None` where nothing was shown.
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
        self.arguments.add(other.arguments);
        self.bound.add(other.bound);
        self.identifiers.add(other.identifiers);
        self.results.add(other.results);
        self.bytes.add(other.bytes);
        self.time += other.time;
    }
}
