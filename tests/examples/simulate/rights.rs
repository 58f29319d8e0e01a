//! Who may do what in a session, as the log says.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::{MemberId, Mid};

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
}
