//! A plain model of a store. It searches lists from end to end, and its users copy the whole model before a change.

use std::collections::BTreeMap;
use std::sync::Arc;

use accp_registry::{Hash, lexical};
use accp_session::{
    Batch, Cold, Due, Entry, EntryKind, LogKey, MemberId, OutboxChange, Outgoing, Seen, Snapshot,
    Stored, Voucher,
};

use crate::side::SideId;
use crate::store::{Erasure, Freed, Kept, Retention, Summary};

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    sides: BTreeMap<SideId, Side>,
}

#[derive(Debug, Clone, Default)]
struct Side {
    host: bool,
    entries: Vec<Entry>,
    /// Entries before this position have lost their text.
    first: u64,
    cold: BTreeMap<String, (Hash, u64, bool)>,
    bytes: BTreeMap<Hash, Arc<[u8]>>,
    outbox: Vec<Outgoing>,
    outbox_sequence: u64,
    last_put: u64,
    epoch: u32,
    key: Option<LogKey>,
    voucher: Option<Voucher>,
    inboxes: BTreeMap<MemberId, String>,
    registries: BTreeMap<Hash, String>,
    snapshot: Option<Snapshot>,
}

impl Model {
    /// Applies a batch and returns whether it fits. If it does not, the model must be thrown away.
    pub(super) fn apply(&mut self, id: &SideId, batch: &Batch) -> bool {
        if !batch.is_durable() {
            return true;
        }
        let side = self.sides.entry(id.clone()).or_insert_with(|| Side {
            host: batch.host,
            first: 1,
            ..Side::default()
        });
        side.host == batch.host
            && batch.cold.iter().all(|value| side.put(value))
            && batch.expired.iter().all(|key| side.expire(key))
            && batch.entries.iter().all(|entry| side.append(entry))
            && batch.handled.iter().all(|&at| side.mark(at, Due::No))
            && batch.lapsed.iter().all(|&at| side.mark(at, Due::Lapsed))
            && batch.outbox.iter().all(|change| side.change(change))
            && side.settle(batch)
    }

    pub(super) fn load(&self, id: &SideId) -> Option<Stored> {
        let side = self.sides.get(id)?;
        let covered = side.covered();
        let (before, after): (Vec<_>, Vec<_>) = side
            .entries
            .iter()
            .cloned()
            .partition(|entry| entry.position <= covered);
        let snapshot = side.snapshot.as_ref().filter(|_| side.host);
        let in_snapshot = snapshot.map_or(0, |snapshot| {
            if snapshot.holds_ids() {
                snapshot.position
            } else {
                0
            }
        });
        let consumed = side.entries.iter().filter(|entry| entry.sequence > 0);
        let consumed = consumed.filter(|entry| entry.position > in_snapshot);
        let mut stored = Stored::new(side.host);
        stored.snapshot.clone_from(&side.snapshot);
        stored.entries = after;
        stored.last = side.last();
        stored.due = before.into_iter().filter(Entry::is_due).collect();
        stored.seen = consumed
            .map(|entry| Seen {
                mid: entry.mid.clone(),
                sender: entry.sender,
                sequence: entry.sequence,
                dropped: entry.kind == EntryKind::Dropped,
            })
            .collect();
        stored.outbox.clone_from(&side.outbox);
        stored.outbox_sequence = side.outbox_sequence;
        stored.last_put = side.last_put;
        stored.epoch = side.epoch;
        stored.key.clone_from(&side.key);
        stored.voucher = side.voucher;
        stored.inboxes = side.inboxes.clone().into_iter().collect();
        stored.registries = side.registries.clone().into_iter().collect();
        Some(stored)
    }

    pub(super) fn entry(&self, id: &SideId, position: u64) -> Option<Entry> {
        let mut entries = self.sides.get(id)?.entries.iter();
        entries.find(|entry| entry.position == position).cloned()
    }

    pub(super) fn entries(&self, id: &SideId, from: u64) -> Vec<Entry> {
        let Some(side) = self.sides.get(id) else {
            return Vec::new();
        };
        let from = from.max(side.first);
        side.entries
            .iter()
            .filter(|entry| entry.position >= from && !entry.text.is_empty())
            .cloned()
            .collect()
    }

    /// Returns the frames that have any of these words, each with its text and the values to which
    /// it refers.
    pub(super) fn search(&self, id: &SideId, asked: &str) -> Vec<(u64, String)> {
        let split = |text: &str| {
            let words = text.split(|c: char| !c.is_alphanumeric());
            words.map(str::to_lowercase).collect::<Vec<_>>()
        };
        let asked = split(asked);
        let mut out = Vec::new();
        for entry in self.entries(id, 0) {
            if entry.kind != EntryKind::Frame {
                continue;
            }
            let mut says = lexical::decode_text(&entry.text).into_owned();
            for key in self.cold_keys(id) {
                let value = self.cold(id, &key).and_then(|kept| kept.value.bytes);
                let refers = entry.text.contains(&format!("$cold.{key}|"));
                if let Some(bytes) = value.filter(|_| refers) {
                    says.push('\n');
                    says.push_str(&lexical::decode_text(&String::from_utf8_lossy(&bytes)));
                }
            }
            if split(&says)
                .iter()
                .any(|word| !word.is_empty() && asked.contains(word))
            {
                out.push((entry.position, says));
            }
        }
        out
    }

    pub(super) fn cold(&self, id: &SideId, key: &str) -> Option<Kept> {
        let side = self.sides.get(id)?;
        let &(digest, length, expired) = side.cold.get(key)?;
        let bytes = side.bytes.get(&digest).cloned();
        let value = Cold {
            key: key.into(),
            digest,
            length,
            bytes: bytes.filter(|bytes| !expired && bytes.len() as u64 == length),
        };
        Some(Kept { value, expired })
    }

    pub(super) fn cold_keys(&self, id: &SideId) -> Vec<String> {
        let side = self.sides.get(id);
        side.map_or_else(Vec::new, |side| side.cold.keys().cloned().collect())
    }

    pub(super) fn list(&self) -> Vec<Summary> {
        let summary = |(id, side): (&SideId, &Side)| Summary {
            side: id.clone(),
            host: side.host,
            last: side.last(),
            first: side.first,
            snapshot: side.snapshot.as_ref().map(|snapshot| snapshot.position),
            entries: side.entries.len() as u64,
            bytes: side
                .entries
                .iter()
                .map(|entry| entry.text.len() as u64)
                .sum(),
            due: side.entries.iter().filter(|entry| entry.is_due()).count() as u64,
            at: side.entries.last().map(|entry| entry.at),
        };
        self.sides.iter().map(summary).collect()
    }

    pub(super) fn delete(&mut self, id: &SideId) -> bool {
        self.sides.remove(id).is_some()
    }

    pub(super) fn retain(&mut self, id: &SideId, retention: Retention) -> Freed {
        let mut freed = Freed::default();
        let Some(side) = self.sides.get_mut(id) else {
            return freed;
        };
        for (digest, bytes) in side.bytes.clone() {
            let is_needed = side.cold.values().any(|key| key.0 == digest && !key.2);
            if !is_needed {
                freed.bytes += bytes.len() as u64;
                side.bytes.remove(&digest);
            }
        }
        let covered = side.covered();
        let first_due = side
            .entries
            .iter()
            .find(|entry| entry.is_due())
            .map(|entry| entry.position);
        for position in side.first..=covered {
            if position >= retention.log_before || first_due == Some(position) {
                break;
            }
            side.first = position + 1;
            let entry = side.entries.iter_mut().find(|e| e.position == position);
            if let Some(entry) = entry.filter(|entry| !entry.text.is_empty()) {
                freed.entries += 1;
                freed.bytes += entry.text.len() as u64;
                entry.text = "".into();
            }
        }
        freed
    }

    /// Erases from one side; `None` when that is refused. The model must then be thrown away.
    pub(super) fn erase(&mut self, id: &SideId, erasure: &Erasure) -> Option<Freed> {
        let mut freed = Freed::default();
        let Some(side) = self.sides.get_mut(id) else {
            return Some(freed);
        };
        let kept = side.covered();
        side.snapshot = erasure.snapshot.clone().or(side.snapshot.take());
        let covered = side.covered();
        let mut fits = covered >= kept;
        for entry in &mut side.entries {
            if entry.text.is_empty() || !erasure.positions.contains(&entry.position) {
                continue;
            }
            fits &= entry.position <= covered && (erasure.lapses || !entry.is_due());
            freed.entries += 1;
            freed.bytes += entry.text.len() as u64;
            entry.text = "".into();
            if entry.is_due() {
                entry.due = Due::Lapsed;
            }
        }
        let mut gone = Vec::new();
        for (name, key) in &mut side.cold {
            if erasure.keys.contains(name) {
                key.2 = true;
                gone.push(key.0);
            }
        }
        for digest in gone {
            let is_needed = side.cold.values().any(|key| key.0 == digest && !key.2);
            if !is_needed && let Some(bytes) = side.bytes.remove(&digest) {
                freed.bytes += bytes.len() as u64;
            }
        }
        fits.then_some(freed)
    }

    /// Returns the last position of the log of a side, or of its snapshot if that is later.
    pub(super) fn end(&self, id: &SideId) -> u64 {
        self.sides
            .get(id)
            .map_or(0, |side| side.last().max(side.covered()))
    }

    /// Returns the position of an entry that is due, and of an entry that is not.
    pub(super) fn due(&self, id: &SideId) -> (Option<u64>, Option<u64>) {
        let find = |due| {
            let entries = &self.sides.get(id)?.entries;
            entries
                .iter()
                .rfind(|entry| entry.is_due() == due)
                .map(|entry| entry.position)
        };
        (find(true), find(false))
    }

    pub(super) fn epoch(&self, id: &SideId) -> u32 {
        self.sides.get(id).map_or(0, |side| side.epoch)
    }
}

impl Side {
    fn last(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.position)
    }

    fn covered(&self) -> u64 {
        self.snapshot
            .as_ref()
            .map_or(0, |snapshot| snapshot.position)
    }

    fn put(&mut self, value: &Cold) -> bool {
        let (digest, length) = (value.digest, value.length);
        let is_true = value
            .bytes
            .as_ref()
            .is_none_or(|bytes| Hash::of(bytes) == digest && bytes.len() as u64 == length);
        let key = self
            .cold
            .entry(value.key.clone())
            .or_insert((digest, length, false));
        if let Some(bytes) = value.bytes.clone().filter(|_| !key.2) {
            self.bytes.insert(digest, bytes);
        }
        is_true && (key.0, key.1) == (digest, length)
    }

    fn expire(&mut self, key: &str) -> bool {
        if let Some(key) = self.cold.get_mut(key) {
            key.2 = true;
        }
        true
    }

    fn append(&mut self, entry: &Entry) -> bool {
        let fits = entry.position > self.last().max(self.covered());
        let is_consumed = |kept: &Entry| kept.sequence > 0 && kept.mid == entry.mid;
        let is_new = entry.sequence == 0 || !self.entries.iter().any(is_consumed);
        self.entries.push(entry.clone());
        fits && is_new && !entry.text.is_empty()
    }

    fn mark(&mut self, position: u64, mark: Due) -> bool {
        let entry = self
            .entries
            .iter_mut()
            .find(|entry| entry.position == position);
        entry.is_some_and(|entry| std::mem::replace(&mut entry.due, mark) == Due::Yes)
    }

    fn change(&mut self, change: &OutboxChange) -> bool {
        let frame = match change {
            OutboxChange::Put(frame) => frame,
            OutboxChange::Remove(mid) => {
                self.outbox.retain(|kept| kept.mid != *mid);
                return true;
            }
        };
        self.outbox.retain(|kept| kept.mid != frame.mid);
        let is_free = self.outbox.iter().all(|kept| kept.order != frame.order);
        self.outbox.push(frame.clone());
        self.outbox.sort_by_key(|frame| frame.order);
        is_free
    }

    /// Applies the fields of a batch that have only one value for each side.
    fn settle(&mut self, batch: &Batch) -> bool {
        self.outbox_sequence = batch.outbox_sequence.unwrap_or(self.outbox_sequence);
        self.last_put = batch.last_put.unwrap_or(self.last_put);
        let epoch_fits = batch.epoch.is_none_or(|epoch| epoch > self.epoch);
        self.epoch = batch.epoch.unwrap_or(self.epoch);
        self.key = batch.key.clone().or(self.key.take());
        self.voucher = batch.voucher.or(self.voucher);
        self.inboxes.extend(batch.inboxes.iter().cloned());
        self.inboxes.retain(|_, text| !text.is_empty());
        for (digest, json) in &batch.registries {
            self.registries
                .entry(*digest)
                .or_insert_with(|| json.clone());
        }
        let covered = self.covered();
        let snapshot_fits = batch
            .snapshot
            .as_ref()
            .is_none_or(|new| new.position >= covered);
        self.snapshot = batch.snapshot.clone().or(self.snapshot.take());
        epoch_fits && snapshot_fits
    }
}
