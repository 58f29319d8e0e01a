//! The log of a host whose store was put back to an old copy: the entries that were in the log before, and the
//! entries that come back.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use accp_runtime::session::{Event, MemberId, Mid};
use accp_session::Entry;

/// What the observer knows of a log that the host has lost.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// The log before the old copy was put back.
    pub(super) before: Vec<Entry>,
    /// Members whose own store, or whose host's store, was put back to an older copy.
    pub(super) early: BTreeSet<MemberId>,
    /// Frames that got another id, by their sender and by the number in them. A side that runs again from an older
    /// copy may send such a frame under its first id, or under a third id.
    pub(super) renamed: BTreeSet<(MemberId, u64)>,
    /// Frames that the host had refused in the log that it has lost.
    pub(super) refused: BTreeSet<(MemberId, Mid)>,
    /// True while the observer reads an older log again.
    pub(super) is_replayed: bool,
}

impl Timeline {
    /// Returns the positions whose entries come back in this batch of the host.
    pub(super) fn begin(events: &[Event]) -> RangeInclusive<u64> {
        let back = events.iter().find_map(|event| match event {
            Event::Recovered(range) => Some(range.clone()),
            _ => None,
        });
        back.unwrap_or(RangeInclusive::new(1, 0))
    }

    pub(super) fn has_lost(&self) -> bool {
        !self.before.is_empty()
    }

    /// Returns whether the entry was in the log that the host has lost.
    pub(super) fn is_from_before(&self, copy: &Entry) -> bool {
        let entry = self.before.get(copy.position as usize - 1);
        entry.is_some_and(|entry| is_same(entry, copy))
    }

    /// Returns the entry that was at a position of the log that the host has lost.
    pub(super) fn at(&self, position: u64) -> Option<&Entry> {
        self.before.get(position as usize - 1)
    }

    /// Returns whether an older copy of the member's store was put back.
    pub(super) fn was_put_back(&self, member: MemberId) -> bool {
        self.early.contains(&member)
    }

    /// Returns the entry that consumed an id in the log that the host has lost.
    pub(super) fn entry(&self, mid: &Mid) -> Option<&Entry> {
        let mut before = self.before.iter();
        before.find(|entry| entry.sequence > 0 && entry.mid == *mid)
    }
}

pub(super) fn is_same(entry: &Entry, copy: &Entry) -> bool {
    let facts = |e: &Entry| (e.position, e.kind, e.sender, e.to, e.tokens, e.cut, e.hash);
    facts(entry) == facts(copy) && entry.mid == copy.mid && entry.text == copy.text
}
