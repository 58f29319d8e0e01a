//! The changes that a batch makes to a side, and the checks that the contract of [`Store`](crate::Store) requires. All
//! stores share this code.

mod key;
mod row;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use accp_registry::Hash;
use accp_session::{Batch, Cold, Due, Entry, MemberId, Mid, OutboxChange, Outgoing, Snapshot};

use crate::conflict;

pub(crate) use key::{Key, State};
pub(crate) use row::{SideRow, needs_older_rows, seen_in};

/// Says why a batch does not fit the data in the store.
#[derive(Debug)]
pub(crate) struct Conflict(pub String);

/// The stored rows of one side against which a batch is checked.
pub(crate) trait SideRows {
    /// The errors of the store.
    type Fault: From<Conflict>;

    fn key(&mut self, name: &str) -> Result<Option<Key>, Self::Fault>;
    /// Returns the length of the bytes with this digest, if the store has them.
    fn length(&mut self, digest: &Hash) -> Result<Option<u64>, Self::Fault>;
    /// Returns the position of the entry that has taken this message id. A refused frame takes no id.
    fn position(&mut self, mid: &Mid) -> Result<Option<u64>, Self::Fault>;
    /// Returns an entry of the log. It may lack its text.
    fn entry(&mut self, position: u64) -> Result<Option<Entry>, Self::Fault>;
    /// Returns the id of the frame at a place of the outbox.
    fn outgoing(&mut self, place: u64) -> Result<Option<Mid>, Self::Fault>;
}

/// The changes of batches to one side. The store writes them: first what is removed, then what is new.
#[derive(Debug)]
pub(crate) struct Changes<'b> {
    /// The row of the side after the changes.
    pub row: SideRow,
    /// Keys that are new, or whose state has changed.
    pub keys: BTreeMap<&'b str, Key>,
    pub bytes: BTreeMap<Hash, &'b Arc<[u8]>>,
    /// New entries.
    pub entries: BTreeMap<u64, Cow<'b, Entry>>,
    /// Entries that the store had before the batch, each with its new mark: handled or lapsed. They may lack their
    /// texts.
    pub marked: BTreeMap<u64, Entry>,
    /// Frames to remove from the outbox, if they are there.
    pub removed: BTreeSet<&'b Mid>,
    /// New frames of the outbox.
    pub outgoing: BTreeMap<u64, &'b Outgoing>,
    /// The texts of inboxes. An empty text removes the inbox.
    pub inboxes: BTreeMap<MemberId, &'b str>,
    /// Registries to store. The store skips a registry that it already has.
    pub registries: BTreeMap<Hash, &'b str>,
    pub snapshot: Option<&'b Snapshot>,
    /// For each message id that a new entry takes, the position of the entry.
    mids: BTreeMap<&'b Mid, u64>,
}

impl<'b> Changes<'b> {
    /// Begins with the row of the side as the store has it.
    pub(crate) fn new(row: SideRow) -> Self {
        Self {
            row,
            keys: BTreeMap::new(),
            bytes: BTreeMap::new(),
            entries: BTreeMap::new(),
            marked: BTreeMap::new(),
            removed: BTreeSet::new(),
            outgoing: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            registries: BTreeMap::new(),
            snapshot: None,
            mids: BTreeMap::new(),
        }
    }

    /// Adds the changes of the durable part of a batch. After an error, drop the changes.
    pub(crate) fn apply<R: SideRows>(
        &mut self,
        rows: &mut R,
        batch: &'b Batch,
    ) -> Result<(), R::Fault> {
        if self.row.host != batch.host {
            return Err(Conflict(conflict::host(self.row.host)).into());
        }
        for value in &batch.cold {
            self.put(rows, value)?;
        }
        for name in &batch.expired {
            if let Some(mut key) = self.key(rows, name)? {
                key.state = State::Expired;
                self.keys.insert(name, key);
            }
        }
        for entry in &batch.entries {
            self.append(rows, entry)?;
        }
        for &position in &batch.handled {
            self.mark(rows, position, Due::No)?;
        }
        for &position in &batch.lapsed {
            self.mark(rows, position, Due::Lapsed)?;
        }
        for change in &batch.outbox {
            match change {
                OutboxChange::Put(frame) => self.put_outgoing(rows, frame)?,
                OutboxChange::Remove(mid) => self.remove_outgoing(mid),
            }
        }
        if let Some(sequence) = batch.outbox_sequence {
            self.row.outbox_sequence = checked(sequence)?;
        }
        if let Some(number) = batch.last_put {
            self.row.last_put = checked(number)?;
        }
        if let Some(epoch) = batch.epoch {
            if epoch <= self.row.epoch {
                return Err(Conflict(conflict::epoch(epoch, self.row.epoch)).into());
            }
            self.row.epoch = epoch;
        }
        if let Some(key) = &batch.key {
            self.row.key = Some(key.clone());
        }
        self.row.voucher = batch.voucher.or(self.row.voucher);
        for (member, text) in &batch.inboxes {
            self.inboxes.insert(*member, text);
        }
        for (digest, json) in &batch.registries {
            self.registries.entry(*digest).or_insert(json);
        }
        if let Some(snapshot) = &batch.snapshot {
            self.row.cover(snapshot)?;
            self.snapshot = Some(snapshot);
        }
        Ok(())
    }

    fn key<R: SideRows>(&self, rows: &mut R, name: &str) -> Result<Option<Key>, R::Fault> {
        match self.keys.get(name) {
            Some(key) => Ok(Some(key.clone())),
            None => rows.key(name),
        }
    }

    fn put<R: SideRows>(&mut self, rows: &mut R, value: &'b Cold) -> Result<(), R::Fault> {
        conflict::check_bytes(value).map_err(Conflict)?;
        let (digest, length) = (value.digest, checked(value.length)?);
        if let Some(kept) = self.key(rows, &value.key)? {
            if (kept.digest, kept.length) != (digest, length) {
                let text = conflict::key(value, &kept.digest, kept.length);
                return Err(Conflict(text).into());
            }
            if kept.state != State::Known {
                return Ok(());
            }
        }
        let kept = match self.bytes.get(&digest) {
            Some(bytes) => Some(bytes.len() as u64),
            None => rows.length(&digest)?,
        };
        if let (Some(bytes), None) = (&value.bytes, kept) {
            self.bytes.insert(digest, bytes);
        }
        let is_held = value.bytes.is_some() || kept == Some(length);
        let key = Key {
            digest,
            length,
            state: if is_held { State::Held } else { State::Known },
        };
        self.keys.insert(&value.key, key);
        Ok(())
    }

    fn append<R: SideRows>(&mut self, rows: &mut R, entry: &'b Entry) -> Result<(), R::Fault> {
        let position = checked(entry.position)?;
        let last = self.row.last.max(self.row.covered.unwrap_or(0));
        if position <= last {
            return Err(Conflict(conflict::position(position, last)).into());
        }
        if entry.text.is_empty() {
            return Err(Conflict(conflict::empty(position)).into());
        }
        if checked(entry.sequence)? > 0 {
            let kept = match self.mids.insert(&entry.mid, position) {
                Some(kept) => Some(kept),
                None => rows.position(&entry.mid)?,
            };
            if let Some(kept) = kept {
                return Err(Conflict(conflict::mid(&entry.mid, position, kept)).into());
            }
        }
        self.entries.insert(position, Cow::Borrowed(entry));
        self.row.add(entry);
        self.row.bytes += entry.text.len() as u64;
        Ok(())
    }

    fn mark<R: SideRows>(
        &mut self,
        rows: &mut R,
        position: u64,
        mark: Due,
    ) -> Result<(), R::Fault> {
        let refused = || Conflict(conflict::handled(position));
        if let Some(entry) = self.entries.get_mut(&position) {
            if !entry.is_due() {
                return Err(refused().into());
            }
            entry.to_mut().due = mark;
        } else {
            let is_marked = self.marked.contains_key(&position);
            let entry = rows.entry(position)?.filter(Entry::is_due);
            let mut entry = entry.filter(|_| !is_marked).ok_or_else(refused)?;
            entry.due = mark;
            self.marked.insert(position, entry);
        }
        self.row.due = self.row.due.saturating_sub(1);
        Ok(())
    }

    fn put_outgoing<R: SideRows>(
        &mut self,
        rows: &mut R,
        frame: &'b Outgoing,
    ) -> Result<(), R::Fault> {
        self.remove_outgoing(&frame.mid);
        let place = checked(frame.order)?;
        let kept = match self.outgoing.get(&place) {
            Some(new) => Some(new.mid.clone()),
            None => rows
                .outgoing(place)?
                .filter(|mid| !self.removed.contains(mid)),
        };
        if let Some(kept) = kept {
            return Err(Conflict(conflict::place(place, &frame.mid, &kept)).into());
        }
        self.outgoing.insert(place, frame);
        Ok(())
    }

    fn remove_outgoing(&mut self, mid: &'b Mid) {
        self.outgoing.retain(|_, frame| frame.mid != *mid);
        self.removed.insert(mid);
    }
}

/// Returns the number. Fails if the number does not fit in 63 bits, because no store can keep such a number.
pub(crate) fn checked(number: u64) -> Result<u64, Conflict> {
    if i64::try_from(number).is_ok() {
        return Ok(number);
    }
    Err(Conflict(format!(
        "the number {number} is over {}, the largest that a store keeps",
        i64::MAX
    )))
}
