//! The figures of a policy.

use std::time::Duration;

use super::cost::Spent;

/// What a policy did over some conversations.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Measure {
    pub(crate) conversations: u64,
    pub(crate) prompts: u64,
    pub(crate) spent: Spent,
    pub(crate) arguments: Recall,
    pub(crate) bound: Recall,
    pub(crate) identifiers: Recall,
    pub(crate) results: FirstSight,
    /// Bytes of the messages; `found` are those that were given back.
    pub(crate) bytes: Recall,
    /// The policy's own time.
    pub(crate) time: Duration,
}

/// How much of what was looked for was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Recall {
    pub(crate) wanted: u64,
    pub(crate) found: u64,
}

/// What tool results take of the first prompt after them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FirstSight {
    /// How many of them this prompt shows; the others count nowhere.
    pub(crate) shown: u64,
    pub(crate) tokens: u64,
    /// Their tokens as compact JSON.
    pub(crate) base: u64,
}

impl Recall {
    /// From 0 to 1; `None` where nothing was looked for.
    pub(crate) fn share(self) -> Option<f64> {
        (self.wanted > 0).then(|| self.found as f64 / self.wanted as f64)
    }

    pub(super) fn count(&mut self, found: bool) {
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
    pub(crate) fn share(self) -> Option<f64> {
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
