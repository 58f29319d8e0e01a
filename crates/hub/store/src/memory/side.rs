//! One side in memory, with changes that can be undone.

use std::collections::btree_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use accp_registry::Hash;
use accp_session::{
    Batch, Cold, Due, Entry, EntryKind, LogKey, MemberId, Mid, OutboxChange, Outgoing, Seen,
    Snapshot, Stored, Voucher,
};

use crate::conflict;
use crate::side::SideId;
use crate::store::{Erasure, Freed, Kept, Retention, Summary};

/// The data of one side.
#[derive(Debug, Clone)]
pub(super) struct Side {
    host: bool,
    entries: BTreeMap<u64, Entry>,
    /// For each id, the position of the entry that consumed it.
    mids: BTreeMap<Mid, u64>,
    /// The positions of the entries that are due.
    due: BTreeSet<u64>,
    /// The first position whose text is kept.
    first: u64,
    cold: BTreeMap<String, Key>,
    bytes: BTreeMap<Hash, Arc<[u8]>>,
    outbox: BTreeMap<u64, Outgoing>,
    outbox_sequence: u64,
    last_put: u64,
    epoch: u32,
    key: Option<LogKey>,
    voucher: Option<Voucher>,
    inboxes: BTreeMap<MemberId, String>,
    registries: BTreeMap<Hash, String>,
    snapshot: Option<Snapshot>,
}

#[derive(Debug, Clone)]
struct Key {
    digest: Hash,
    length: u64,
    expired: bool,
}

/// Undoes one change.
pub(super) type Undo = Box<dyn FnOnce(&mut Side)>;

impl Side {
    pub(super) fn new(host: bool) -> Self {
        Self {
            host,
            entries: BTreeMap::new(),
            mids: BTreeMap::new(),
            due: BTreeSet::new(),
            first: 1,
            cold: BTreeMap::new(),
            bytes: BTreeMap::new(),
            outbox: BTreeMap::new(),
            outbox_sequence: 0,
            last_put: 0,
            epoch: 0,
            key: None,
            voucher: None,
            inboxes: BTreeMap::new(),
            registries: BTreeMap::new(),
            snapshot: None,
        }
    }

    /// Applies a batch. Each change pushes the closure that undoes it onto `undo`.
    pub(super) fn apply(&mut self, batch: &Batch, undo: &mut Vec<Undo>) -> Result<(), String> {
        if batch.host != self.host {
            return Err(conflict::host(self.host));
        }
        for value in &batch.cold {
            self.put(value, undo)?;
        }
        for key in &batch.expired {
            if let Some(row) = self.cold.get_mut(key) {
                let (key, was) = (key.clone(), row.expired);
                row.expired = true;
                undo.push(Box::new(move |side| {
                    if let Some(row) = side.cold.get_mut(&key) {
                        row.expired = was;
                    }
                }));
            }
        }
        for entry in &batch.entries {
            self.append(entry, undo)?;
        }
        for &position in &batch.handled {
            self.mark(position, Due::No, undo)?;
        }
        for &position in &batch.lapsed {
            self.mark(position, Due::Lapsed, undo)?;
        }
        if !batch.outbox.is_empty() {
            let was = self.outbox.clone(); // the outbox is bounded
            undo.push(Box::new(move |side| side.outbox = was));
        }
        for change in &batch.outbox {
            self.change_outbox(change)?;
        }
        if let Some(sequence) = batch.outbox_sequence {
            let was = std::mem::replace(&mut self.outbox_sequence, sequence);
            undo.push(Box::new(move |side| side.outbox_sequence = was));
        }
        if let Some(number) = batch.last_put {
            let was = std::mem::replace(&mut self.last_put, number);
            undo.push(Box::new(move |side| side.last_put = was));
        }
        if let Some(epoch) = batch.epoch {
            let was = self.epoch;
            if epoch <= was {
                return Err(conflict::epoch(epoch, was));
            }
            self.epoch = epoch;
            undo.push(Box::new(move |side| side.epoch = was));
        }
        if let Some(key) = &batch.key {
            let was = self.key.replace(key.clone());
            undo.push(Box::new(move |side| side.key = was));
        }
        if let Some(voucher) = batch.voucher {
            let was = self.voucher.replace(voucher);
            undo.push(Box::new(move |side| side.voucher = was));
        }
        for (member, text) in &batch.inboxes {
            let member = *member;
            let was = self.save_inbox(member, text.clone());
            undo.push(Box::new(move |side| {
                side.save_inbox(member, was.unwrap_or_default());
            }));
        }
        for (digest, json) in &batch.registries {
            if let MapEntry::Vacant(place) = self.registries.entry(*digest) {
                let digest = *digest;
                place.insert(json.clone());
                undo.push(Box::new(move |side| {
                    side.registries.remove(&digest);
                }));
            }
        }
        if let Some(snapshot) = &batch.snapshot {
            if let Some(kept) = &self.snapshot
                && kept.position > snapshot.position
            {
                return Err(conflict::snapshot(snapshot.position, kept.position));
            }
            let was = self.snapshot.replace(snapshot.clone());
            undo.push(Box::new(move |side| side.snapshot = was));
        }
        Ok(())
    }

    fn put(&mut self, value: &Cold, undo: &mut Vec<Undo>) -> Result<(), String> {
        conflict::check_bytes(value)?;
        match self.cold.get(&value.key) {
            Some(row) if (row.digest, row.length) != (value.digest, value.length) => {
                return Err(conflict::key(value, &row.digest, row.length));
            }
            Some(row) if row.expired => return Ok(()),
            Some(_) => {}
            None => {
                let row = Key {
                    digest: value.digest,
                    length: value.length,
                    expired: false,
                };
                let key = value.key.clone();
                self.cold.insert(key.clone(), row);
                undo.push(Box::new(move |side| {
                    side.cold.remove(&key);
                }));
            }
        }
        if let Some(bytes) = &value.bytes
            && !self.bytes.contains_key(&value.digest)
        {
            let digest = value.digest;
            self.bytes.insert(digest, Arc::clone(bytes));
            undo.push(Box::new(move |side| {
                side.bytes.remove(&digest);
            }));
        }
        Ok(())
    }

    fn append(&mut self, entry: &Entry, undo: &mut Vec<Undo>) -> Result<(), String> {
        let position = entry.position;
        let covered = self
            .snapshot
            .as_ref()
            .map_or(0, |snapshot| snapshot.position);
        let last = self.last().max(covered);
        if position <= last {
            return Err(conflict::position(position, last));
        }
        if entry.sequence > 0 {
            if let Some(&kept) = self.mids.get(&entry.mid) {
                return Err(conflict::mid(&entry.mid, position, kept));
            }
            self.mids.insert(entry.mid.clone(), position);
            let mid = entry.mid.clone();
            undo.push(Box::new(move |side| {
                side.mids.remove(&mid);
            }));
        }
        if entry.text.is_empty() {
            return Err(conflict::empty(position));
        }
        self.entries.insert(position, entry.clone());
        if entry.is_due() {
            self.due.insert(position);
        }
        undo.push(Box::new(move |side| {
            side.entries.remove(&position);
            side.due.remove(&position);
        }));
        Ok(())
    }

    fn change_outbox(&mut self, change: &OutboxChange) -> Result<(), String> {
        let mid = match change {
            OutboxChange::Put(frame) => &frame.mid,
            OutboxChange::Remove(mid) => mid,
        };
        self.outbox.retain(|_, kept| kept.mid != *mid);
        if let OutboxChange::Put(frame) = change {
            if let Some(kept) = self.outbox.get(&frame.order) {
                return Err(conflict::place(frame.order, &frame.mid, &kept.mid));
            }
            self.outbox.insert(frame.order, frame.clone());
        }
        Ok(())
    }

    /// Replaces the text of a member; an empty text removes it. Returns the text of before.
    fn save_inbox(&mut self, member: MemberId, text: String) -> Option<String> {
        if text.is_empty() {
            self.inboxes.remove(&member)
        } else {
            self.inboxes.insert(member, text)
        }
    }

    fn last(&self) -> u64 {
        self.entries
            .last_key_value()
            .map_or(0, |(&position, _)| position)
    }

    fn mark(&mut self, position: u64, mark: Due, undo: &mut Vec<Undo>) -> Result<(), String> {
        if !self.due.remove(&position) {
            return Err(conflict::handled(position));
        }
        self.set_due(position, mark);
        undo.push(Box::new(move |side| {
            side.set_due(position, Due::Yes);
            side.due.insert(position);
        }));
        Ok(())
    }

    fn set_due(&mut self, position: u64, due: Due) {
        if let Some(entry) = self.entries.get_mut(&position) {
            entry.due = due;
        }
    }

    pub(super) fn entries(&self, from: u64, limit: usize) -> Vec<Entry> {
        let entries = self.entries.range(from.max(self.first)..);
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
        let row = self.cold.get(key)?;
        let bytes = self.bytes.get(&row.digest);
        let bytes = bytes.filter(|bytes| !row.expired && bytes.len() as u64 == row.length);
        Some(Kept {
            value: Cold {
                key: key.into(),
                digest: row.digest,
                length: row.length,
                bytes: bytes.cloned(),
            },
            expired: row.expired,
        })
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.cold.keys().cloned().collect()
    }

    pub(super) fn to_stored(&self) -> Stored {
        let covered = self
            .snapshot
            .as_ref()
            .map_or(0, |snapshot| snapshot.position);
        let after = self.entries.range(covered + 1..);
        let due = self.due.range(..=covered);
        let counted = self.entries.values().filter(|entry| entry.sequence > 0);
        let mut stored = Stored::new(self.host);
        stored.snapshot = self.snapshot.clone();
        stored.entries = after.map(|(_, entry)| entry.clone()).collect();
        stored.last = self.last();
        stored.due = due.filter_map(|at| self.entries.get(at).cloned()).collect();
        stored.seen = counted.map(seen).collect();
        stored.outbox = self.outbox.values().cloned().collect();
        stored.outbox_sequence = self.outbox_sequence;
        stored.last_put = self.last_put;
        stored.epoch = self.epoch;
        stored.key = self.key.clone();
        stored.voucher = self.voucher;
        stored.inboxes = self.inboxes.clone().into_iter().collect();
        stored.registries = self.registries.clone().into_iter().collect();
        stored
    }

    pub(super) fn to_summary(&self, id: &SideId) -> Summary {
        Summary {
            side: id.clone(),
            host: self.host,
            last: self.last(),
            first: self.first,
            snapshot: self.snapshot.as_ref().map(|snapshot| snapshot.position),
            entries: self.entries.len() as u64,
            bytes: self
                .entries
                .values()
                .map(|entry| entry.text.len() as u64)
                .sum(),
            due: self.due.len() as u64,
            at: self.entries.last_key_value().map(|(_, entry)| entry.at),
        }
    }

    pub(super) fn retain(&mut self, retention: Retention) -> Freed {
        let mut freed = Freed::default();
        let keys = self.cold.values().filter(|row| !row.expired);
        let needed: BTreeSet<Hash> = keys.map(|row| row.digest).collect();
        self.bytes.retain(|digest, bytes| {
            let is_needed = needed.contains(digest);
            freed.bytes += if is_needed { 0 } else { bytes.len() as u64 };
            is_needed
        });
        let covered = self
            .snapshot
            .as_ref()
            .map_or(0, |snapshot| snapshot.position);
        let first_due = self.due.first().copied().unwrap_or(u64::MAX);
        let first = retention
            .log_before
            .min(covered + 1)
            .min(first_due)
            .max(self.first);
        for entry in self
            .entries
            .range_mut(self.first..first)
            .map(|(_, entry)| entry)
            .filter(|entry| !entry.text.is_empty())
        {
            freed.entries += 1;
            freed.bytes += entry.text.len() as u64;
            entry.text = Arc::from("");
        }
        self.first = first;
        freed
    }
}

impl Side {
    /// Erases texts and bytes. If it fails, the side is to be thrown away.
    pub(super) fn erase(&mut self, erasure: &Erasure) -> Result<Freed, String> {
        let mut freed = Freed::default();
        let covered = |side: &Self| side.snapshot.as_ref().map_or(0, |kept| kept.position);
        if let Some(snapshot) = &erasure.snapshot {
            let kept = covered(self);
            if snapshot.position < kept {
                return Err(conflict::snapshot(snapshot.position, kept));
            }
            self.snapshot = Some(snapshot.clone());
        }
        let covered = covered(self);
        for position in &erasure.positions {
            let found = self.entries.get_mut(position);
            let Some(entry) = found.filter(|entry| !entry.text.is_empty()) else {
                continue;
            };
            conflict::check_erasable(entry, covered, erasure.lapses)?;
            if self.due.remove(position) {
                entry.due = Due::Lapsed;
            }
            freed.entries += 1;
            freed.bytes += entry.text.len() as u64;
            entry.text = Arc::default();
        }
        for key in &erasure.keys {
            let Some(row) = self.cold.get_mut(key) else {
                continue;
            };
            row.expired = true;
            let digest = row.digest;
            let mut keys = self.cold.values();
            if !keys.any(|row| row.digest == digest && !row.expired)
                && let Some(bytes) = self.bytes.remove(&digest)
            {
                freed.bytes += bytes.len() as u64;
            }
        }
        Ok(freed)
    }
}

fn seen(entry: &Entry) -> Seen {
    Seen {
        mid: entry.mid.clone(),
        sender: entry.sender,
        sequence: entry.sequence,
        dropped: entry.kind == EntryKind::Dropped,
    }
}
