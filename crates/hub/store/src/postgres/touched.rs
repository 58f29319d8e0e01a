//! The rows of a side that a group touches, as the database had them, and the limits for the data that is
//! written.

use std::collections::BTreeMap;

use accp_registry::Hash;
use accp_session::{Entry, Mid};

use super::fault::Fault;
use super::text::escaped;
use crate::changes::{Changes, Key, SideRow, SideRows};

/// The rows of one side.
#[derive(Debug, Default)]
pub(super) struct TouchedRows {
    /// The row of the side; `None` when the database has no such side.
    pub side: Option<SideRow>,
    /// For each message id of the group that an entry in the database has taken, the position of that entry.
    pub mids: BTreeMap<Mid, u64>,
    /// The entries that the group marks.
    pub log: BTreeMap<u64, Entry>,
    pub keys: BTreeMap<String, Key>,
    /// For each digest of bytes that the database has, the length of the bytes.
    pub lengths: BTreeMap<Hash, u64>,
    /// The frames of the outbox, by their places.
    pub outbox: BTreeMap<u64, Mid>,
}

impl SideRows for TouchedRows {
    type Fault = Fault;

    fn key(&mut self, name: &str) -> Result<Option<Key>, Fault> {
        Ok(self.keys.get(name).cloned())
    }

    fn length(&mut self, digest: &Hash) -> Result<Option<u64>, Fault> {
        Ok(self.lengths.get(digest).copied())
    }

    fn position(&mut self, mid: &Mid) -> Result<Option<u64>, Fault> {
        Ok(self.mids.get(mid).copied())
    }

    fn entry(&mut self, position: u64) -> Result<Option<Entry>, Fault> {
        Ok(self.log.get(&position).cloned())
    }

    fn outgoing(&mut self, place: u64) -> Result<Option<Mid>, Fault> {
        Ok(self.outbox.get(&place).cloned())
    }
}

/// The most bytes of the id of a session, and of an agent. An index takes keys of about 2,700 bytes.
pub(super) const SIDE_NAME: usize = 600;
/// The most bytes of another name that is part of a key.
const NAME: usize = 1_000;
/// The most bytes of a text or a value. A column takes a little more.
const VALUE: usize = 1_000_000_000;

/// Checks that the tables can hold the changes.
pub(super) fn check(changes: &Changes<'_>) -> Result<(), Fault> {
    for name in changes.keys.keys() {
        check_name(name, NAME)?;
    }
    for bytes in changes.bytes.values() {
        check_length(bytes.len())?;
    }
    for entry in changes.entries.values() {
        check_mid(&entry.mid)?;
        check_length(entry.text.len())?;
    }
    for frame in changes.outgoing.values() {
        check_mid(&frame.mid)?;
        check_length(frame.head.len().max(frame.tail.len()))?;
    }
    for text in changes.inboxes.values().chain(changes.registries.values()) {
        check_length(text.len())?;
    }
    if let Some(snapshot) = changes.snapshot {
        check_length(snapshot.text.len())?;
    }
    changes.row.cells(|_| Ok(()))
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
