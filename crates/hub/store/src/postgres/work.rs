//! The rows of a side that a group touches, in memory: batches are applied to them, and what has
//! changed is then written at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use accp_registry::Hash;
use accp_session::{Cold, Due, Entry, MemberId, Mid, Outgoing, Snapshot};

use super::fault::Fault;
use super::text::escaped;
use crate::table::{Key, MidCell, Side, Tables, integer, log_cells};

/// The rows of one side.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The row of the side; `None` when it has none.
    pub side: Option<Side>,
    /// For each id of the group that an entry has consumed, the position of the entry.
    pub mids: BTreeMap<Mid, u64>,
    /// The entries that the group marks.
    pub log: BTreeMap<u64, Entry>,
    pub keys: BTreeMap<String, Key>,
    /// The lengths of the bytes that are kept.
    pub lengths: BTreeMap<Hash, u64>,
    /// The frames of the outbox, by their places.
    pub outbox: BTreeMap<u64, Mid>,
    pub changes: Changes,
}

/// What is to be written.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub entries: BTreeMap<u64, Entry>,
    /// The positions of entries that were there before and have a new mark.
    pub marked: BTreeSet<u64>,
    pub keys: BTreeSet<String>,
    pub bytes: BTreeMap<Hash, Arc<[u8]>>,
    /// Frames to remove from the table of the outbox.
    pub removed: BTreeSet<Mid>,
    pub outgoing: BTreeMap<u64, Outgoing>,
    /// The texts of inboxes; an empty one removes the row.
    pub inboxes: BTreeMap<MemberId, String>,
    pub registries: BTreeMap<Hash, String>,
    pub snapshot: Option<Snapshot>,
}

/// The most bytes of the id of a session, and of an agent. An index takes keys of about 2,700 bytes.
pub(super) const SIDE_NAME: usize = 600;
/// The most bytes of another name that is part of a key.
const NAME: usize = 1_000;
/// The most bytes of a text or a value. A column takes a little more.
const VALUE: usize = 1_000_000_000;

impl Tables for Work {
    type Fault = Fault;

    fn key(&mut self, name: &str) -> Result<Option<Key>, Fault> {
        Ok(self.keys.get(name).cloned())
    }

    fn save_key(&mut self, name: &str, key: &Key) -> Result<(), Fault> {
        check_name(name, NAME)?;
        key.cells()?;
        self.keys.insert(name.to_owned(), key.clone());
        self.changes.keys.insert(name.to_owned());
        Ok(())
    }

    fn has_bytes(&mut self, value: &Cold) -> Result<bool, Fault> {
        Ok(self.lengths.get(&value.digest) == Some(&value.length))
    }

    fn insert_bytes(&mut self, digest: &Hash, bytes: &Arc<[u8]>) -> Result<(), Fault> {
        check_length(bytes.len())?;
        if !self.lengths.contains_key(digest) {
            self.lengths.insert(*digest, bytes.len() as u64);
            self.changes.bytes.insert(*digest, Arc::clone(bytes));
        }
        Ok(())
    }

    fn find_mid(&mut self, mid: &Mid) -> Result<Option<u64>, Fault> {
        Ok(self.mids.get(mid).copied())
    }

    fn insert_entry(&mut self, entry: &Entry) -> Result<(), Fault> {
        let mid = MidCell::new(&entry.mid);
        log_cells(entry, &mid)?;
        check_mid(&entry.mid)?;
        check_length(entry.text.len())?;
        if entry.sequence > 0 {
            self.mids.insert(entry.mid.clone(), entry.position);
        }
        self.changes.entries.insert(entry.position, entry.clone());
        Ok(())
    }

    fn entry(&mut self, position: u64) -> Result<Option<Entry>, Fault> {
        let new = self.changes.entries.get(&position);
        Ok(new.or_else(|| self.log.get(&position)).cloned())
    }

    fn mark(&mut self, entry: &Entry) -> Result<(), Fault> {
        let position = entry.position;
        let set = |kept: &mut Entry, due: Due| kept.due = due;
        if let Some(new) = self.changes.entries.get_mut(&position) {
            set(new, entry.due);
        } else if let Some(kept) = self.log.get_mut(&position) {
            set(kept, entry.due);
            self.changes.marked.insert(position);
        }
        Ok(())
    }

    fn outgoing(&mut self, place: u64) -> Result<Option<Mid>, Fault> {
        Ok(self.outbox.get(&place).cloned())
    }

    fn insert_outgoing(&mut self, frame: &Outgoing) -> Result<(), Fault> {
        check_mid(&frame.mid)?;
        check_length(frame.head.len().max(frame.tail.len()))?;
        self.outbox.insert(frame.order, frame.mid.clone());
        self.changes.outgoing.insert(frame.order, frame.clone());
        Ok(())
    }

    fn remove_outgoing(&mut self, mid: &Mid) -> Result<(), Fault> {
        let place = self.outbox.iter().find(|(_, kept)| *kept == mid);
        if let Some(place) = place.map(|(place, _)| *place) {
            self.outbox.remove(&place);
            if self.changes.outgoing.remove(&place).is_none() {
                self.changes.removed.insert(mid.clone());
            }
        }
        Ok(())
    }

    fn save_inbox(&mut self, member: MemberId, text: &str) -> Result<(), Fault> {
        check_length(text.len())?;
        self.changes.inboxes.insert(member, text.to_owned());
        Ok(())
    }

    fn insert_registry(&mut self, digest: &Hash, json: &str) -> Result<(), Fault> {
        check_length(json.len())?;
        let registries = &mut self.changes.registries;
        registries.entry(*digest).or_insert_with(|| json.to_owned());
        Ok(())
    }

    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Fault> {
        integer(snapshot.position)?;
        check_length(snapshot.text.len())?;
        self.changes.snapshot = Some(snapshot.clone());
        Ok(())
    }
}

/// Checks that a name fits into an index.
pub(super) fn check_name(name: &str, most: usize) -> Result<(), Fault> {
    let length = escaped(name).len();
    if length <= most {
        return Ok(());
    }
    Err(Fault::Conflict(format!(
        "a name of {length} bytes, where this one may have at most {most}: choose a shorter one"
    )))
}

fn check_mid(mid: &Mid) -> Result<(), Fault> {
    if mid.is_hex() {
        return Ok(());
    }
    check_name(&mid.to_string(), NAME)
}

fn check_length(length: usize) -> Result<(), Fault> {
    if length <= VALUE {
        return Ok(());
    }
    let text = "a value may have at most 1,000,000,000 bytes; split it";
    Err(Fault::Conflict(text.into()))
}
