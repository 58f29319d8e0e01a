//! How a batch changes the rows of its side. The checks of the contract stand here, once for all
//! stores with tables.

use std::sync::Arc;

use accp_registry::Hash;
use accp_session::{Batch, Cold, Due, Entry, MemberId, Mid, OutboxChange, Outgoing, Snapshot};

use super::cell::{Conflict, integer};
use super::key::{Key, State};
use super::side::Side;
use crate::conflict;
use crate::store::Retention;

/// The tables, as far as they have rows of one side. A write refuses numbers that a column cannot hold.
pub(crate) trait Tables {
    /// The errors of the store.
    type Fault: From<Conflict>;

    fn key(&mut self, name: &str) -> Result<Option<Key>, Self::Fault>;
    fn save_key(&mut self, name: &str, key: &Key) -> Result<(), Self::Fault>;
    /// Returns whether another key brought the bytes of this value.
    fn has_bytes(&mut self, value: &Cold) -> Result<bool, Self::Fault>;
    fn insert_bytes(&mut self, digest: &Hash, bytes: &Arc<[u8]>) -> Result<(), Self::Fault>;
    /// Finds the position of the entry that consumed an id.
    fn find_mid(&mut self, mid: &Mid) -> Result<Option<u64>, Self::Fault>;
    fn insert_entry(&mut self, entry: &Entry) -> Result<(), Self::Fault>;
    /// Returns an entry of the log, without its text.
    fn entry(&mut self, position: u64) -> Result<Option<Entry>, Self::Fault>;
    /// Writes the mark of an entry that was read before.
    fn mark(&mut self, entry: &Entry) -> Result<(), Self::Fault>;
    /// Returns the id of the frame at a place of the outbox.
    fn outgoing(&mut self, place: u64) -> Result<Option<Mid>, Self::Fault>;
    fn insert_outgoing(&mut self, frame: &Outgoing) -> Result<(), Self::Fault>;
    fn remove_outgoing(&mut self, mid: &Mid) -> Result<(), Self::Fault>;
    /// Replaces the text of a member; an empty text removes its row.
    fn save_inbox(&mut self, member: MemberId, text: &str) -> Result<(), Self::Fault>;
    /// Keeps a registry, unless the store has it.
    fn insert_registry(&mut self, digest: &Hash, json: &str) -> Result<(), Self::Fault>;
    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Self::Fault>;
}

/// Applies the durable part of a batch to the tables and to the row of its side, which the caller
/// then saves.
pub(crate) fn apply<T: Tables>(
    tables: &mut T,
    side: &mut Side,
    batch: &Batch,
) -> Result<(), T::Fault> {
    if side.host != batch.host {
        return Err(Conflict(conflict::host(side.host)).into());
    }
    for value in &batch.cold {
        put(tables, value)?;
    }
    for name in &batch.expired {
        if let Some(mut key) = tables.key(name)? {
            key.state = State::Expired;
            tables.save_key(name, &key)?;
        }
    }
    for entry in &batch.entries {
        append(tables, side, entry)?;
    }
    for &position in &batch.handled {
        mark(tables, side, position, Due::No)?;
    }
    for &position in &batch.lapsed {
        mark(tables, side, position, Due::Lapsed)?;
    }
    for change in &batch.outbox {
        match change {
            OutboxChange::Put(frame) => put_outgoing(tables, frame)?,
            OutboxChange::Remove(mid) => tables.remove_outgoing(mid)?,
        }
    }
    if let Some(sequence) = batch.outbox_sequence {
        integer(sequence)?;
        side.outbox_sequence = sequence;
    }
    if let Some(number) = batch.last_put {
        integer(number)?;
        side.last_put = number;
    }
    if let Some(epoch) = batch.epoch {
        if epoch <= side.epoch {
            return Err(Conflict(conflict::epoch(epoch, side.epoch)).into());
        }
        side.epoch = epoch;
    }
    if let Some(key) = &batch.key {
        side.key = Some(key.clone());
    }
    side.voucher = batch.voucher.or(side.voucher);
    for (member, text) in &batch.inboxes {
        tables.save_inbox(*member, text)?;
    }
    for (digest, json) in &batch.registries {
        tables.insert_registry(digest, json)?;
    }
    if let Some(snapshot) = &batch.snapshot {
        let covered = side.covered.unwrap_or(0);
        if snapshot.position < covered {
            return Err(Conflict(conflict::snapshot(snapshot.position, covered)).into());
        }
        tables.save_snapshot(snapshot)?;
        side.covered = Some(snapshot.position);
    }
    Ok(())
}

/// Returns the first position whose text stays. `due` is the first position that is due.
pub(crate) fn first_kept(side: &Side, due: Option<u64>, keep: Retention) -> u64 {
    let covered = side.covered.unwrap_or(0);
    keep.log_before
        .min(covered + 1)
        .min(due.unwrap_or(u64::MAX))
}

fn put<T: Tables>(tables: &mut T, value: &Cold) -> Result<(), T::Fault> {
    conflict::check_bytes(value).map_err(Conflict)?;
    if let Some(kept) = tables.key(&value.key)? {
        if (kept.digest, kept.length) != (value.digest, value.length) {
            let text = conflict::key(value, &kept.digest, kept.length);
            return Err(Conflict(text).into());
        }
        if kept.state != State::Known {
            return Ok(());
        }
    }
    let is_held = match &value.bytes {
        Some(bytes) => {
            tables.insert_bytes(&value.digest, bytes)?;
            true
        }
        None => tables.has_bytes(value)?,
    };
    let state = if is_held { State::Held } else { State::Known };
    let key = Key {
        digest: value.digest,
        length: value.length,
        state,
    };
    tables.save_key(&value.key, &key)
}

fn append<T: Tables>(tables: &mut T, side: &mut Side, entry: &Entry) -> Result<(), T::Fault> {
    let last = side.last.max(side.covered.unwrap_or(0));
    if entry.position <= last {
        return Err(Conflict(conflict::position(entry.position, last)).into());
    }
    if entry.text.is_empty() {
        return Err(Conflict(conflict::empty(entry.position)).into());
    }
    if entry.sequence > 0
        && let Some(kept) = tables.find_mid(&entry.mid)?
    {
        return Err(Conflict(conflict::mid(&entry.mid, entry.position, kept)).into());
    }
    tables.insert_entry(entry)?;
    side.last = entry.position;
    side.at = Some(entry.at);
    side.entries += 1;
    side.bytes += entry.text.len() as u64;
    side.due += u64::from(entry.is_due());
    Ok(())
}

fn mark<T: Tables>(
    tables: &mut T,
    side: &mut Side,
    position: u64,
    mark: Due,
) -> Result<(), T::Fault> {
    let entry = tables.entry(position)?.filter(Entry::is_due);
    let mut entry = entry.ok_or_else(|| Conflict(conflict::handled(position)))?;
    entry.due = mark;
    tables.mark(&entry)?;
    side.due = side.due.saturating_sub(1);
    Ok(())
}

fn put_outgoing<T: Tables>(tables: &mut T, frame: &Outgoing) -> Result<(), T::Fault> {
    tables.remove_outgoing(&frame.mid)?;
    integer(frame.order)?;
    if let Some(kept) = tables.outgoing(frame.order)? {
        return Err(Conflict(conflict::place(frame.order, &frame.mid, &kept)).into());
    }
    tables.insert_outgoing(frame)
}
