//! Limits of a prompt.

use std::collections::{BTreeMap, BTreeSet};

use crate::prices::CachePrices;

/// The limits above which old messages leave a prompt.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PromptLimits {
    /// Tokens of messages shown verbatim, above which the older messages become facts: 250 by
    /// default.
    pub hot: usize,
    /// The number of newest messages that stay verbatim: 2 by default. The last question stays too
    /// if it takes at most half of `hot`. The first question, which is the task, always stays.
    pub keep: usize,
    /// Approximate tokens of one message, above which the middles of its longest params are left
    /// out: 500 by default. A reference leads to the whole message.
    pub message: usize,
    /// Values of `message` for frames of these operations, such as the results of a tool that the
    /// model should see whole ([`usize::MAX`]) or hardly at all.
    pub operations: BTreeMap<String, usize>,
    /// The full names of params that are never shortened.
    pub whole: BTreeSet<String>,
    /// Tokens of facts, above which the oldest facts leave until at most three quarters of this limit are left: 16,000
    /// by default. A reference leads to the messages of these facts, and later facts may repeat them.
    pub facts: usize,
    /// If set, older messages become facts when that pays at these prices. Then `hot` only decides
    /// which questions stay. `None` by default.
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
