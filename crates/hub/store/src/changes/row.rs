//! The row of a side: its numbers, and sums that otherwise would need a read of the log.

use accp_session::{Entry, EntryKind, LogKey, Seen, Snapshot, Stored, Time, Voucher};

use super::{Conflict, checked};
use crate::conflict;
use crate::side::SideId;
use crate::store::{Retention, Summary};

/// What a store keeps of a side in one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SideRow {
    pub id: SideId,
    pub host: bool,
    /// The last position of the log.
    pub last: u64,
    /// The first position whose text is kept.
    pub first: u64,
    /// The last position that the snapshot covers.
    pub covered: Option<u64>,
    pub entries: u64,
    pub bytes: u64,
    pub due: u64,
    pub at: Option<Time>,
    pub epoch: u32,
    pub outbox_sequence: u64,
    pub last_put: u64,
    pub key: Option<LogKey>,
    pub voucher: Option<Voucher>,
}

impl SideRow {
    /// Makes the row of a side without any data.
    pub(crate) fn new(id: &SideId, host: bool) -> Self {
        Self {
            id: id.clone(),
            host,
            last: 0,
            first: 1,
            covered: None,
            entries: 0,
            bytes: 0,
            due: 0,
            at: None,
            epoch: 0,
            outbox_sequence: 0,
            last_put: 0,
            key: None,
            voucher: None,
        }
    }

    /// Counts the next entry of the log, but not the bytes of its text.
    pub(crate) fn add(&mut self, entry: &Entry) {
        self.last = entry.position;
        self.at = Some(entry.at);
        self.entries += 1;
        self.due += u64::from(entry.is_due());
    }

    /// Sets the position up to which the new snapshot covers the log. Refuses a snapshot that is older than the last
    /// one.
    pub(crate) fn cover(&mut self, snapshot: &Snapshot) -> Result<(), Conflict> {
        let kept = self.covered.unwrap_or(0);
        if snapshot.position < kept {
            return Err(Conflict(conflict::snapshot(snapshot.position, kept)));
        }
        self.covered = Some(checked(snapshot.position)?);
        Ok(())
    }

    /// Returns the position of the first text that retention keeps. `due` is the position of the first entry that is
    /// due.
    pub(crate) fn first_kept(&self, due: Option<u64>, keep: Retention) -> u64 {
        let covered = self.covered.unwrap_or(0);
        keep.log_before
            .min(covered + 1)
            .min(due.unwrap_or(u64::MAX))
    }

    /// Returns the data from which the side is restored, as far as this row has it.
    pub(crate) fn to_stored(&self) -> Stored {
        let mut stored = Stored::new(self.host);
        stored.last = self.last;
        stored.outbox_sequence = self.outbox_sequence;
        stored.last_put = self.last_put;
        stored.epoch = self.epoch;
        stored.key.clone_from(&self.key);
        stored.voucher = self.voucher;
        stored
    }

    pub(crate) fn into_summary(self) -> Summary {
        Summary {
            side: self.id,
            host: self.host,
            last: self.last,
            first: self.first,
            snapshot: self.covered,
            entries: self.entries,
            bytes: self.bytes,
            due: self.due,
            at: self.at,
        }
    }
}

/// Returns whether restoring this side needs the rows of all entries. A host does not need the old rows if its
/// snapshot holds the message ids of the entries.
pub(crate) fn needs_older_rows(stored: &Stored) -> bool {
    let snapshot = stored.snapshot.as_ref().filter(|_| stored.host);
    !snapshot.is_some_and(Snapshot::holds_ids)
}

/// Returns the ids that these entries have taken.
pub(crate) fn seen_in<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Vec<Seen> {
    let entries = entries.into_iter().filter(|entry| entry.sequence > 0);
    entries
        .map(|entry| Seen {
            mid: entry.mid.clone(),
            sender: entry.sender,
            sequence: entry.sequence,
            dropped: entry.kind == EntryKind::Dropped,
        })
        .collect()
}
