//! Whether definitions pay.

use std::collections::BTreeMap;

use crate::view::{Block, View};
use accp_frame::TokenCounter;

/// What definitions would have saved that were not there.
#[derive(Debug, Default)]
pub(super) struct Ledger(BTreeMap<String, usize>);

impl Ledger {
    /// Whether the missing definitions pay: what they save in this block, and would have
    /// saved in those before it, is no less than what they cost.
    pub(super) fn pays(
        &mut self,
        view: &View,
        missing: &[String],
        block: &Block,
        plain: &Block,
        counter: &dyn TokenCounter,
    ) -> bool {
        let definitions = missing.iter().filter_map(|code| view.definition(code));
        let cost: usize = definitions.map(|text| counter.count(&text)).sum();
        let tokens = counter.count(&block.text);
        let saved = counter.count(&plain.text).saturating_sub(tokens);
        let before = missing.iter().filter_map(|code| self.0.get(code));
        let before: usize = before.sum();
        if saved + before >= cost {
            return true;
        }
        // Which of them saves how much is not known: the first one stands for all.
        if let Some(code) = missing.first() {
            *self.0.entry(code.clone()).or_default() += saved;
        }
        false
    }
}
