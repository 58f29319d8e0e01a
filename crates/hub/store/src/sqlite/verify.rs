//! Checks a file and its sides for damage.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::Hash;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::all;
use super::side::Side;
use super::{cold, entry, read, schema};
use crate::side::SideId;
use crate::table::{no_key, other_digest};

/// Runs SQLite's own check of the file (pages, indexes and constraints), and checks that the tables
/// are those of the format and have rows of known sides only.
pub(super) fn file(conn: &Connection) -> Result<(), Fault> {
    schema::check(conn)?;
    let found: String = conn.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0))?;
    if found != "ok" {
        return Err(Fault::Corrupt(found));
    }
    sides(conn)
}

/// Checks that the tables have rows of known sides only.
pub(super) fn sides(conn: &Connection) -> Result<(), Fault> {
    for table in schema::of_a_side(conn)? {
        let sql =
            format!("SELECT side FROM {table} WHERE side NOT IN (SELECT side FROM side) LIMIT 1");
        let lost: Option<i64> = conn.query_row(&sql, (), |row| row.get(0)).optional()?;
        if let Some(side) = lost {
            let text = format!("table `{table}` has a row of side {side}, which does not exist");
            return Err(Fault::Corrupt(text));
        }
    }
    Ok(())
}

/// Checks everything in a side.
pub(super) fn side(conn: &Connection, id: &SideId) -> Result<(), Fault> {
    let Some(side) = Side::find(conn, id)? else {
        return Ok(());
    };
    log(conn, &side)?;
    read::snapshot(conn, &side)?;
    values(conn, side.number)?;
    read::outbox(conn, side.number)?;
    read::inboxes(conn, side.number)?;
    read::registries(conn, side.number)?;
    Ok(())
}

/// Checks that every entry can be read, that no text is lost, and that the sums are right.
fn log(conn: &Connection, side: &Side) -> Result<(), Fault> {
    let mut found = side.row.without_log();
    let mut texts = 0;
    let sql = entry::select("", "true");
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([side.number])?;
    while let Some(row) = rows.next()? {
        let entry = entry::read_log(row)?;
        if entry.position >= side.row.first {
            let read = entry::read(row)?;
            side.row.check_erased(&read)?;
            found.bytes += read.text.len() as u64;
            texts += 1;
        }
        found.count(&entry)?;
    }
    side.row.check(&found)?;
    let sql = "SELECT count(*) FROM frame WHERE side = ?1";
    let all: u64 = conn.query_row(sql, [side.number], |row| row.get(0))?;
    if all != texts {
        return Err(Fault::Corrupt(format!(
            "table `frame` has {all} texts, and table `log` knows {texts}"
        )));
    }
    Ok(())
}

/// Checks that every key can be read. If a key must have its bytes, checks that they are there and have the digest of
/// the key.
fn values(conn: &Connection, side: i64) -> Result<(), Fault> {
    let mut lengths: BTreeMap<Hash, u64> = BTreeMap::new();
    let mut statement = conn.prepare("SELECT digest, bytes FROM blob WHERE side = ?1")?;
    let mut rows = statement.query([side])?;
    while let Some(row) = rows.next()? {
        let (ValueRef::Blob(digest), ValueRef::Blob(bytes)) = (row.get_ref(0)?, row.get_ref(1)?)
        else {
            return Err(Fault::Corrupt(
                "table `blob` holds a value that is not bytes".into(),
            ));
        };
        let found = Hash::of(bytes);
        if found.as_bytes() != digest {
            return Err(other_digest(digest, &found).into());
        }
        lengths.insert(found, bytes.len() as u64);
    }
    let sql = "SELECT * FROM cold WHERE side = ?1 ORDER BY key";
    let mut named = BTreeSet::new();
    for (name, key) in all(conn, sql, [side], cold::read)? {
        key.check(&name, lengths.get(&key.digest).copied())?;
        named.insert(key.digest);
    }
    match lengths.keys().find(|digest| !named.contains(digest)) {
        Some(digest) => Err(no_key(digest.as_bytes()).into()),
        None => Ok(()),
    }
}
