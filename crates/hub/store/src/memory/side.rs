//! The data of one side in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use accp_registry::Hash;
use accp_session::{Cold, Due, Entry, MemberId, Mid, Outgoing, Snapshot, Stored};

use crate::changes::{Changes, Conflict, Key, SideRow, SideRows, State, needs_older_rows, seen_in};
use crate::conflict;
use crate::store::{Erasure, Freed, Kept, Retention, Summary};

/// The data of one side.
#[derive(Debug, Clone)]
pub(super) struct Side {
    row: SideRow,
    entries: BTreeMap<u64, Entry>,
    /// For each message id that an entry has taken, the position of the entry.
    mids: BTreeMap<Mid, u64>,
    /// The positions of the entries that are due.
    due: BTreeSet<u64>,
    keys: BTreeMap<String, Key>,
    bytes: BTreeMap<Hash, Arc<[u8]>>,
    outbox: BTreeMap<u64, Outgoing>,
    inboxes: BTreeMap<MemberId, String>,
    registries: BTreeMap<Hash, String>,
    snapshot: Option<Snapshot>,
}

/// The rows of a side. `None` stands for a side that has no rows yet.
impl SideRows for Option<&Side> {
    type Fault = Conflict;

    fn key(&mut self, name: &str) -> Result<Option<Key>, Conflict> {
        Ok(self.and_then(|side| side.keys.get(name)).cloned())
    }

    fn length(&mut self, digest: &Hash) -> Result<Option<u64>, Conflict> {
        let bytes = self.and_then(|side| side.bytes.get(digest));
        Ok(bytes.map(|bytes| bytes.len() as u64))
    }

    fn position(&mut self, mid: &Mid) -> Result<Option<u64>, Conflict> {
        Ok(self.and_then(|side| side.mids.get(mid)).copied())
    }

    fn entry(&mut self, position: u64) -> Result<Option<Entry>, Conflict> {
        Ok(self.and_then(|side| side.entry(position)))
    }

    fn outgoing(&mut self, place: u64) -> Result<Option<Mid>, Conflict> {
        let frame = self.and_then(|side| side.outbox.get(&place));
        Ok(frame.map(|frame| frame.mid.clone()))
    }
}

impl Side {
    pub(super) fn new(row: SideRow) -> Self {
        Self {
            row,
            entries: BTreeMap::new(),
            mids: BTreeMap::new(),
            due: BTreeSet::new(),
            keys: BTreeMap::new(),
            bytes: BTreeMap::new(),
            outbox: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            registries: BTreeMap::new(),
            snapshot: None,
        }
    }

    pub(super) fn row(&self) -> &SideRow {
        &self.row
    }

    /// Applies the changes of a commit.
    pub(super) fn save(&mut self, changes: Changes<'_>) {
        self.row = changes.row;
        for (name, key) in changes.keys {
            self.keys.insert(name.to_owned(), key);
        }
        for (digest, bytes) in changes.bytes {
            self.bytes.insert(digest, Arc::clone(bytes));
        }
        for (position, entry) in changes.entries {
            let entry = entry.into_owned();
            if entry.sequence > 0 {
                self.mids.insert(entry.mid.clone(), position);
            }
            if entry.is_due() {
                self.due.insert(position);
            }
            self.entries.insert(position, entry);
        }
        for (position, entry) in changes.marked {
            self.due.remove(&position);
            self.entries.insert(position, entry);
        }
        if !changes.removed.is_empty() {
            self.outbox
                .retain(|_, frame| !changes.removed.contains(&frame.mid));
        }
        for (place, frame) in changes.outgoing {
            self.outbox.insert(place, frame.clone());
        }
        for (member, text) in changes.inboxes {
            if text.is_empty() {
                self.inboxes.remove(&member);
            } else {
                self.inboxes.insert(member, text.to_owned());
            }
        }
        for (digest, json) in changes.registries {
            let registry = self.registries.entry(digest);
            registry.or_insert_with(|| json.to_owned());
        }
        if let Some(snapshot) = changes.snapshot {
            self.snapshot = Some(snapshot.clone());
        }
    }

    pub(super) fn entries(&self, from: u64, limit: usize) -> Vec<Entry> {
        let entries = self.entries.range(from.max(self.row.first)..);
        entries
            .filter(|(_, entry)| !entry.text.is_empty())
            .take(limit)
            .map(|(_, entry)| entry.clone())
            .collect()
    }

    pub(super) fn entry(&self, position: u64) -> Option<Entry> {
        self.entries.get(&position).cloned()
    }

    pub(super) fn value(&self, key: &str) -> Option<Kept> {
        let row = self.keys.get(key)?;
        let expired = row.state == State::Expired;
        let bytes = self.bytes.get(&row.digest);
        let bytes = bytes.filter(|bytes| !expired && bytes.len() as u64 == row.length);
        let value = Cold {
            key: key.into(),
            digest: row.digest,
            length: row.length,
            bytes: bytes.cloned(),
        };
        Some(Kept { value, expired })
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.keys.keys().cloned().collect()
    }

    pub(super) fn to_stored(&self) -> Stored {
        let covered = self.row.covered.unwrap_or(0);
        let after = self.entries.range(covered + 1..);
        let due = self.due.range(..=covered);
        let mut stored = self.row.to_stored();
        stored.snapshot.clone_from(&self.snapshot);
        stored.entries = after.map(|(_, entry)| entry.clone()).collect();
        stored.due = due.filter_map(|at| self.entries.get(at).cloned()).collect();
        let from = if needs_older_rows(&stored) {
            0
        } else {
            covered
        };
        stored.seen = seen_in(self.entries.range(from + 1..).map(|(_, entry)| entry));
        stored.outbox = self.outbox.values().cloned().collect();
        stored.inboxes = self.inboxes.clone().into_iter().collect();
        stored.registries = self.registries.clone().into_iter().collect();
        stored
    }

    pub(super) fn to_summary(&self) -> Summary {
        self.row.clone().into_summary()
    }

    pub(super) fn retain(&mut self, retention: Retention) -> Freed {
        let mut freed = Freed::default();
        let keys = self.keys.values().filter(|row| row.state != State::Expired);
        let needed: BTreeSet<Hash> = keys.map(|row| row.digest).collect();
        self.bytes.retain(|digest, bytes| {
            let is_needed = needed.contains(digest);
            freed.bytes += if is_needed { 0 } else { bytes.len() as u64 };
            is_needed
        });
        let first = self.row.first_kept(self.due.first().copied(), retention);
        let first = first.max(self.row.first);
        for (_, entry) in self.entries.range_mut(self.row.first..first) {
            clear(&mut self.row, entry, &mut freed);
        }
        self.row.first = first;
        freed
    }

    /// Erases texts and bytes. After an error, throw the side away.
    pub(super) fn erase(&mut self, erasure: &Erasure) -> Result<Freed, Conflict> {
        let mut freed = Freed::default();
        if let Some(snapshot) = &erasure.snapshot {
            self.row.cover(snapshot)?;
            self.snapshot = Some(snapshot.clone());
        }
        let covered = self.row.covered.unwrap_or(0);
        for position in &erasure.positions {
            let found = self.entries.get_mut(position);
            let Some(entry) = found.filter(|entry| !entry.text.is_empty()) else {
                continue;
            };
            conflict::check_erasable(entry, covered, erasure.lapses).map_err(Conflict)?;
            if self.due.remove(position) {
                entry.due = Due::Lapsed;
                self.row.due -= 1;
            }
            clear(&mut self.row, entry, &mut freed);
        }
        for key in &erasure.keys {
            let Some(row) = self.keys.get_mut(key) else {
                continue;
            };
            row.state = State::Expired;
            let digest = row.digest;
            let mut keys = self.keys.values();
            if !keys.any(|row| row.digest == digest && row.state != State::Expired)
                && let Some(bytes) = self.bytes.remove(&digest)
            {
                freed.bytes += bytes.len() as u64;
            }
        }
        Ok(freed)
    }
}

/// Deletes the text of an entry, if it has one.
fn clear(row: &mut SideRow, entry: &mut Entry, freed: &mut Freed) {
    let bytes = entry.text.len() as u64;
    freed.entries += u64::from(bytes > 0);
    freed.bytes += bytes;
    row.bytes -= bytes;
    entry.text = Arc::default();
}
