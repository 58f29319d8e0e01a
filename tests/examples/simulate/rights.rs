//! Who may do what in a session, as the log says.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::{MemberId, Mid};

/// The most bytes of the shared state.
const SHARED: usize = 64 * 1024;

/// Facts from the log about who may do what.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    pub(super) supervisors: BTreeSet<MemberId>,
    /// Who used the name of a chain first.
    pub(super) names: BTreeMap<Mid, MemberId>,
    /// Sessions whose values may be read.
    pub(super) granted: BTreeSet<String>,
    /// The version of the shared state.
    pub(super) version: u64,
    /// The bytes of each key of the shared state with its value.
    pub(super) shared: BTreeMap<String, usize>,
}

impl Rights {
    /// Takes a change of one key of the shared state.
    pub(super) fn change(&mut self, text: &str) {
        if let Some((key, value)) = change(text) {
            self.shared.insert(key.into(), key.len() + value.len());
        }
    }

    /// Returns whether the shared state has room for a change of one key.
    pub(super) fn has_room(&self, text: &str) -> bool {
        let Some((key, value)) = change(text) else {
            return true;
        };
        let others = self.shared.iter().filter(|(other, _)| *other != key);
        let others: usize = others.map(|(_, bytes)| bytes).sum();
        others + key.len() + value.len() <= SHARED
    }
}

/// Returns the key that a frame changes in the shared state, and its value.
pub(super) fn change(text: &str) -> Option<(&str, &str)> {
    let rest = text.split(">sync:state{delta:{").nth(1)?;
    rest.split('}').next()?.split_once(':')
}
