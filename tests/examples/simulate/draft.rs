//! A member that speaks the draft alone, by the member's durable state.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use accp_runtime::session::{Mid, Time};

/// What the observer knows of a member that speaks the draft alone.
#[derive(Debug, Clone, Default)]
pub(super) struct Plain {
    /// The last number that the member has taken.
    pub(super) number: u64,
    /// The highest number that it has ever taken.
    pub(super) highest: u64,
    /// The position at which the member joined before the host first answered it.
    pub(super) joined: u64,
    /// True from that answer on.
    pub(super) is_met: bool,
    /// The frames that the log of the member has.
    pub(super) got: BTreeSet<Mid>,
    /// The place of the newest of them in the log of the host.
    pub(super) newest: u64,
    /// The texts for its handlers, by its own positions.
    pub(super) texts: BTreeMap<u64, Arc<str>>,
    /// Numbers that the member was told it has missed.
    pub(super) missed: Vec<RangeInclusive<u64>>,
    /// The last number before the host lost its log. Other frames may have these numbers since.
    pub(super) lost: u64,
    /// The version of the shared state that the host has told it as a whole.
    pub(super) version: u64,
    /// The frames of its outbox, each with the time since when it waits there.
    pub(super) since: BTreeMap<Mid, Time>,
    /// Copies of answers in the log that the host has to send to it.
    pub(super) owed: BTreeSet<Mid>,
}

impl Plain {
    /// Notes that the member joins, perhaps again.
    pub(super) fn joins(&mut self, position: u64) {
        if !self.is_met {
            self.joined = position;
        }
    }

    /// Notes that the host has lost a part of its log.
    pub(super) fn loses(&mut self) {
        self.lost = self.lost.max(self.number);
        self.owed.clear();
    }
}
