//! What members wait for: the values that they have asked the host for, and what the log has announced about each
//! value.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::MemberId;

/// The values that members have asked the host for, and do not have yet.
#[derive(Debug, Default)]
pub(super) struct Serving {
    pub(super) waiting: BTreeMap<String, BTreeSet<MemberId>>,
    /// How many values each member has asked for since the last turn of the host.
    pub(super) heard: BTreeMap<MemberId, usize>,
    /// The digest and the length of each value, as the log announces them.
    pub(super) announced: BTreeMap<String, (String, usize)>,
    /// The values whose bytes came to the host in this turn.
    pub(super) came: BTreeSet<String>,
    /// The members that have said hello since the host has started.
    pub(super) greeted: BTreeSet<MemberId>,
}

impl Serving {
    /// Removes a member that has left from those that wait for values.
    pub(super) fn leaves(&mut self, member: MemberId) {
        for waiting in self.waiting.values_mut() {
            waiting.remove(&member);
        }
    }

    pub(super) fn starts_again(&mut self) {
        let announced = std::mem::take(&mut self.announced);
        *self = Self {
            announced,
            ..Self::default()
        };
    }
}
