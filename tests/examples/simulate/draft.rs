//! A member that speaks the draft alone, as the observer knows it from the member's durable state.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use accp_runtime::session::{Mid, Time};

/// What the observer knows of a member that speaks the draft alone.
#[derive(Debug, Clone, Default)]
pub(super) struct Plain {
    /// The last number that the member has used.
    pub(super) number: u64,
    /// The highest number that the member has ever used.
    pub(super) highest: u64,
    /// The position at which the member last joined before the host first answered it.
    pub(super) joined: u64,
    /// Whether the host has answered the member.
    pub(super) is_met: bool,
    /// The frames that the log of the member has.
    pub(super) got: BTreeSet<Mid>,
    /// The highest position, in the log of the host, of a frame that the member has got.
    pub(super) newest: u64,
    /// The texts of the member's log, for its handlers. The keys are the member's own positions.
    pub(super) texts: BTreeMap<u64, Arc<str>>,
    /// Numbers that the member was told it has missed.
    pub(super) missed: Vec<RangeInclusive<u64>>,
    /// The member's last number when the host lost a part of its log. Other frames may have the numbers up to this
    /// number now.
    pub(super) lost: u64,
    /// The version of the shared state that the host has last sent to the member as a whole.
    pub(super) version: u64,
    /// The frames of the member's outbox, each with the time since when the frame waits there.
    pub(super) since: BTreeMap<Mid, Time>,
    /// Copies of answers that are in the log and that the host still has to send to the member.
    pub(super) owed: BTreeSet<Mid>,
}

impl Plain {
    /// Notes that the member joins, perhaps again.
    pub(super) fn joins(&mut self, position: u64) {
        if !self.is_met {
            self.joined = position;
        }
    }

    /// Notes that the host has lost a part of its log. The host does not owe copies of answers from this part any
    /// more.
    pub(super) fn loses(&mut self) {
        self.lost = self.lost.max(self.number);
        self.owed.clear();
    }
}
