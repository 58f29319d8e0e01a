//! Error texts for a batch that does not fit the data in a store. All stores share them.

use accp_registry::Hash;
use accp_session::{Cold, Entry, Mid};

/// The batch is a host's and the side a member's, or the other way round.
pub(crate) fn host(kept: bool) -> String {
    let [found, kept] = if kept {
        ["a member", "the host"]
    } else {
        ["the host", "a member"]
    };
    format!(
        "a batch of {found}, where the side of {kept} is kept: open the session as what it is, or \
         under another agent"
    )
}

/// The position of an entry is not after `last`.
pub(crate) fn position(found: u64, last: u64) -> String {
    format!("an entry at position {found}, where the log stands at {last}: {TWICE}")
}

/// The message id of the entry at `found` is already the id of the entry at `kept`.
pub(crate) fn mid(mid: &Mid, found: u64, kept: u64) -> String {
    format!(
        "the entry at position {found} has the message id {mid}, which is that of position \
         {kept}: {TWICE}"
    )
}

/// No entry is due at this position.
pub(crate) fn handled(position: u64) -> String {
    format!("position {position} is marked and is not due, because it was marked before: {TWICE}")
}

/// The place of a frame in the outbox is taken.
pub(crate) fn place(order: u64, found: &Mid, kept: &Mid) -> String {
    format!("place {order} of the outbox is for {found} and taken by {kept}: {TWICE}")
}

/// A snapshot would replace a later one.
pub(crate) fn snapshot(found: u64, kept: u64) -> String {
    format!("a snapshot at position {found}, where one at {kept} is kept: {TWICE}")
}

/// An epoch was used before.
pub(crate) fn epoch(found: u32, kept: u32) -> String {
    format!("epoch {found}, where {kept} was used: {TWICE}")
}

/// A key was put with other bytes.
pub(crate) fn key(found: &Cold, digest: &Hash, length: u64) -> String {
    format!(
        "key `{}` is kept with digest {digest} and {length} bytes, and put with digest {} and {} \
         bytes: put other bytes under another key",
        found.key, found.digest, found.length
    )
}

/// A new entry has no text. In a store, an entry without a text is an entry whose text was deleted.
pub(crate) fn empty(position: u64) -> String {
    format!("the entry at position {position} has no text: an entry is a frame, so write it whole")
}

/// The text of an entry after the snapshot is to be erased.
fn uncovered(position: u64, covered: u64) -> String {
    format!(
        "the text of position {position} is to be erased, and the snapshot covers the log up to \
         {covered}: bring a snapshot of the end of the log, because the side is restored from it"
    )
}

/// The text of an entry that waits for its handler is to be erased.
fn due(position: u64) -> String {
    format!(
        "the text of position {position} is to be erased, and the entry waits for its handler: have \
         it handled, or let it lapse"
    )
}

/// Checks that the text of an entry may be erased, where the snapshot covers the log up to `covered`.
pub(crate) fn check_erasable(entry: &Entry, covered: u64, lapses: bool) -> Result<(), String> {
    if entry.position > covered {
        return Err(uncovered(entry.position, covered));
    }
    if entry.is_due() && !lapses {
        return Err(due(entry.position));
    }
    Ok(())
}

/// Checks that the bytes of a put have the digest and the length that the put gives.
pub(crate) fn check_bytes(value: &Cold) -> Result<(), String> {
    let Some(bytes) = &value.bytes else {
        return Ok(());
    };
    let (digest, length) = (Hash::of(bytes), bytes.len() as u64);
    if (digest, length) == (value.digest, value.length) {
        return Ok(());
    }
    Err(format!(
        "key `{}` is put with digest {} and {} bytes, and its bytes have digest {digest} and are \
         {length}: fetch them again",
        value.key, value.digest, value.length
    ))
}

/// The likely reason, and the cure.
const TWICE: &str = "probably a second process has this side of the session open; close one of the \
                     two, then restore the session from its store";
