//! The rows of the tables `cold` and `blob`: keys and their bytes.

use std::sync::Arc;

use accp_registry::Hash;
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::{columns, write};
use crate::changes::{Key, State};
use crate::store::Kept;
use crate::table::{Cell, other_digest, text};

pub(super) fn find(conn: &Connection, side: i64, key: &str) -> Result<Option<Key>, Fault> {
    let sql = "SELECT * FROM cold WHERE side = ?1 AND key = ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query((side, key))?;
    Ok(rows.next()?.map(read).transpose()?.map(|(_, key)| key))
}

pub(super) fn save(conn: &Connection, side: i64, key: &str, row: &Key) -> Result<(), Fault> {
    let sql = "INSERT INTO cold VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT DO UPDATE SET state = ?5, crc = ?6";
    let [digest, length, state] = row.cells()?;
    let columns = [Cell::Integer(side), text(key), digest, length, state];
    write(conn, sql, &columns)
}

/// Reads the name of a key and the rest of its row.
pub(super) fn read(row: &rusqlite::Row<'_>) -> Result<(String, Key), Fault> {
    let mut columns = columns(row, "cold", 0, 6)?;
    columns.integer()?; // the side
    Ok(Key::read(&mut columns)?)
}

/// Returns the value under a key.
pub(super) fn value(conn: &Connection, side: i64, key: &str) -> Result<Option<Kept>, Fault> {
    let Some(row) = find(conn, side, key)? else {
        return absent(conn, side, key).map(|()| None);
    };
    let bytes = if row.state == State::Expired {
        None
    } else {
        bytes(conn, side, &row.digest)?
    };
    Ok(Some(row.into_kept(key, bytes)?))
}

/// Checks that no row has this key, after the search did not find it. Every row is read, because a
/// damaged row may be the row of the key, or may mislead the search.
fn absent(conn: &Connection, side: i64, key: &str) -> Result<(), Fault> {
    let mut statement = conn.prepare_cached("SELECT * FROM cold")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let (name, _) = read(row)?;
        if name == key && row.get::<_, i64>(0)? == side {
            let text = format!("table `cold` has key `{key}` where a search does not find it");
            return Err(Fault::Corrupt(text));
        }
    }
    // A damaged page can also lose rows, so SQLite checks the whole table.
    let found: String = conn.query_row("PRAGMA quick_check(cold)", (), |row| row.get(0))?;
    if found != "ok" {
        return Err(Fault::Corrupt(found));
    }
    Ok(())
}

pub(super) fn insert_bytes(
    conn: &Connection,
    side: i64,
    digest: &Hash,
    bytes: &[u8],
) -> Result<(), Fault> {
    let sql = "INSERT INTO blob VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    conn.prepare_cached(sql)?
        .execute((side, digest.as_bytes(), bytes))?;
    Ok(())
}

/// Returns the length of the bytes with this digest, if they are there.
pub(super) fn length(conn: &Connection, side: i64, digest: &Hash) -> Result<Option<u64>, Fault> {
    let sql = "SELECT octet_length(bytes) FROM blob WHERE side = ?1 AND digest = ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let found = statement.query_row((side, digest.as_bytes()), |row| row.get(0));
    Ok(found.optional()?)
}

/// Reads the bytes with this digest, and checks the digest.
fn bytes(conn: &Connection, side: i64, digest: &Hash) -> Result<Option<Arc<[u8]>>, Fault> {
    let sql = "SELECT bytes FROM blob WHERE side = ?1 AND digest = ?2";
    let bytes: Option<Arc<[u8]>> = conn
        .prepare_cached(sql)?
        .query_row((side, digest.as_bytes()), |row| row.get(0))
        .optional()?;
    let found = bytes.as_deref().map(Hash::of);
    match found.filter(|found| found != digest) {
        Some(found) => Err(other_digest(digest.as_bytes(), &found).into()),
        None => Ok(bytes),
    }
}

/// Deletes the bytes that only expired keys need, and returns how many bytes it deleted.
pub(super) fn drop_unused(conn: &Connection, side: i64) -> Result<u64, Fault> {
    let sql = "DELETE FROM blob WHERE side = ?1 AND digest NOT IN
        (SELECT digest FROM cold WHERE side = ?1 AND state < 2)
        RETURNING octet_length(bytes)";
    let mut statement = conn.prepare(sql)?;
    let mut lengths = statement.query_map([side], |row| row.get::<_, u64>(0))?;
    lengths.try_fold(0, |sum, length| Ok(sum + length?))
}
