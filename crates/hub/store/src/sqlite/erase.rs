//! Erasure: removes texts and values from the file, and not only from its tables.

use std::collections::BTreeSet;

use accp_registry::Hash;
use accp_session::Due;
use rusqlite::{Connection, OptionalExtension as _, Transaction};

use super::commit::save_snapshot;
use super::fault::Fault;
use super::row::write;
use super::side::Side;
use super::{cold, entry};
use crate::changes::{Conflict, State};
use crate::conflict;
use crate::open_file::OpenFile;
use crate::side::SideId;
use crate::store::{Erasure, Freed};
use crate::table::{Cell, integer, no_key, text};

/// Erases texts and values of a side, inside a transaction. The caller has checked that no row is of a side that does
/// not exist.
pub(super) fn side(conn: &Connection, id: &SideId, erasure: &Erasure) -> Result<Freed, Fault> {
    let mut freed = Freed::default();
    let Some(mut side) = Side::find(conn, id)? else {
        return Ok(freed);
    };
    check_keys(conn, side.number)?;
    if let Some(snapshot) = &erasure.snapshot {
        side.row.cover(snapshot)?;
        save_snapshot(conn, side.number, snapshot)?;
    }
    let covered = side.row.covered.unwrap_or(0);
    for &position in &erasure.positions {
        let Some(mut entry) = entry::find(conn, side.number, position)? else {
            continue;
        };
        let place = integer(position)?;
        let bytes = bytes_at(conn, side.number, position)?;
        if bytes == 0 {
            continue;
        }
        conflict::check_erasable(&entry, covered, erasure.lapses).map_err(Conflict)?;
        if entry.is_due() {
            entry.due = Due::Lapsed;
            entry::mark(conn, side.number, &entry)?;
            side.row.due = side.row.due.saturating_sub(1);
        }
        let sql = "UPDATE frame SET text = ?3, crc = ?4 WHERE side = ?1 AND position = ?2";
        write(conn, sql, &[Cell::Integer(side.number), place, text("")])?;
        side.row.bytes = side.row.bytes.saturating_sub(bytes);
        freed.entries += 1;
        freed.bytes += bytes;
    }
    let mut digests = BTreeSet::new();
    for name in &erasure.keys {
        if let Some(mut key) = cold::find(conn, side.number, name)? {
            key.state = State::Expired;
            cold::save(conn, side.number, name, &key)?;
            digests.insert(*key.digest.as_bytes());
        }
    }
    for digest in digests {
        freed.bytes += drop_bytes(conn, side.number, &Hash::from(digest))?;
    }
    side.save(conn)?;
    Ok(freed)
}

/// Sets whether SQLite overwrites with zeros what is deleted.
pub(super) fn overwrite(conn: &Connection, is_on: bool) -> Result<(), Fault> {
    Ok(conn.pragma_update(None, "secure_delete", is_on)?)
}

/// Commits an erasure. If this process ends between the commit and the end of [`scrub`], a mark beside the file tells the
/// next process that the erasure is due.
pub(super) fn commit(transaction: Transaction<'_>, file: Option<&OpenFile>) -> Result<(), Fault> {
    let Some(file) = file else {
        return Ok(transaction.commit()?);
    };
    let is_new = file.mark_erasure().map_err(Fault::Unmade)?;
    let committed = transaction.commit().map_err(Fault::from);
    // If SQLite has refused the commit, nothing was erased, and the mark would say otherwise. After any other error
    // nobody knows whether the commit was kept, so the mark stays.
    if is_new && committed.as_ref().is_err_and(Fault::is_refusal) {
        file.unmark_erasure();
    }
    committed
}

/// Writes the whole file anew and empties the write-ahead log. Without this, free pages, and the free room in pages,
/// could still hold deleted data: also copies that were left behind when a page was split.
pub(super) fn scrub(conn: &Connection) -> Result<(), Fault> {
    // VACUUM copies the database. The copy may be larger than the memory, so it goes into a file.
    conn.pragma_update(None, "temp_store", "FILE")?;
    let copied = conn.execute_batch("VACUUM");
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    copied.map_err(Fault::Uncopied)?;
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    let emptied = conn.query_row(sql, (), |row| row.get(0));
    let is_busy: bool = emptied.map_err(Fault::Uncopied)?;
    if is_busy {
        return Err(Fault::Unscrubbed);
    }
    Ok(())
}

/// Checks that all bytes of a side have a key. Bytes without a key may be a value that is to be erased, and its key was
/// lost.
fn check_keys(conn: &Connection, side: i64) -> Result<(), Fault> {
    let sql = "SELECT digest FROM blob WHERE side = ?1 AND digest NOT IN
        (SELECT digest FROM cold WHERE side = ?1) LIMIT 1";
    let mut statement = conn.prepare_cached(sql)?;
    let found: Option<Vec<u8>> = statement.query_row([side], |row| row.get(0)).optional()?;
    match found {
        Some(digest) => Err(no_key(&digest).into()),
        None => Ok(()),
    }
}

/// Returns how many bytes the text at a position has; 0 when it has none any more.
fn bytes_at(conn: &Connection, side: i64, position: u64) -> Result<u64, Fault> {
    let sql = "SELECT octet_length(text) FROM frame WHERE side = ?1 AND position = ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let found = statement.query_row((side, position), |row| row.get(0));
    Ok(found.optional()?.unwrap_or(0))
}

/// Deletes the bytes under a digest, unless a key needs them. Returns how many bytes it deleted.
fn drop_bytes(conn: &Connection, side: i64, digest: &Hash) -> Result<u64, Fault> {
    let sql = "DELETE FROM blob WHERE side = ?1 AND digest = ?2 AND NOT EXISTS
        (SELECT 1 FROM cold WHERE side = ?1 AND digest = ?2 AND state < 2)
        RETURNING octet_length(bytes)";
    let mut statement = conn.prepare_cached(sql)?;
    let deleted = statement.query_row((side, digest.as_bytes()), |row| row.get(0));
    Ok(deleted.optional()?.unwrap_or(0))
}
