//! Decides whether the definition of a schema saves more tokens than it costs.

use std::collections::BTreeMap;

use crate::view::block::Block;
use crate::view::codec::View;
use accp_frame::TokenCounter;

/// For the code of each schema without a definition in the prompt, the tokens that the definition would have saved in
/// the blocks so far.
#[derive(Debug, Default)]
pub(super) struct Ledger(BTreeMap<String, usize>);

impl Ledger {
    /// Returns whether the missing definitions pay: they save at least their cost, counting this
    /// block and the blocks before it.
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
        // How much each missing definition would have saved is not known, so the first one gets
        // the whole sum.
        if let Some(code) = missing.first() {
            *self.0.entry(code.clone()).or_default() += saved;
        }
        false
    }
}
