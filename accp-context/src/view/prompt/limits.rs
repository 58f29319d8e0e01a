//! When messages leave a prompt.

use std::collections::{BTreeMap, BTreeSet};

use crate::CachePrices;

/// When old messages leave a prompt.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PromptLimits {
    /// Tokens of messages as they were said, beyond which the older ones become facts: 250 by
    /// default.
    pub hot: usize,
    /// The newest messages, which stay as they are: 2 by default. The last question stays
    /// too, where it takes no more than half of `hot`; the first one, which is the task, always.
    pub keep: usize,
    /// About the tokens of one message, beyond which the middles of its longest params are left
    /// out: 500 by default. What is left out is a reference away.
    pub message: usize,
    /// What `message` is for frames of these operations instead: the results of a tool that
    /// are to be seen whole ([`usize::MAX`]), or hardly at all.
    pub operations: BTreeMap<String, usize>,
    /// Params that are never shortened, by their full names.
    pub whole: BTreeSet<String>,
    /// Tokens of facts, beyond which the oldest leave, until three quarters are left: 16,000 by
    /// default. What they were about is a reference away, and may be told again.
    pub facts: usize,
    /// When older messages become facts: when that pays at these prices, instead of beyond
    /// `hot`, which then says no more than which questions stay. `None` by default.
    pub prices: Option<CachePrices>,
}

impl Default for PromptLimits {
    fn default() -> Self {
        Self {
            hot: 250,
            keep: 2,
            message: 500,
            operations: BTreeMap::new(),
            whole: BTreeSet::new(),
            facts: 16_000,
            prices: None,
        }
    }
}
