//! The rows of the tables `log` and `frame`, which together make an entry.

use std::sync::Arc;

use accp_session::Entry;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::fault::Fault;
use super::row::{columns, write};
use crate::table::{Cell, MidCell, integer, log_cells, lost_text, read_log as read_columns, text};

/// The number of columns of `log`. In a join, the columns of `frame` follow them.
pub(super) const LOG: usize = 1 + crate::table::LOG + 1;
const FRAME: usize = 4;

/// Returns a query for the entries of side `?1` that meet a condition on `l`, ascending. `by` may
/// name the index to use.
pub(super) fn select(by: &str, condition: &str) -> String {
    format!(
        "SELECT l.side, l.position, at, kind, sender, mid, sequence, tokens, cut, due, hash, l.crc,
            f.side, f.position, text, f.crc
        FROM log l {by} LEFT JOIN frame f ON f.side = l.side AND f.position = l.position
        WHERE l.side = ?1 AND {condition} ORDER BY l.position"
    )
}

/// Adds an entry to the log.
pub(super) fn insert(conn: &Connection, side: i64, entry: &Entry) -> Result<(), Fault> {
    let sql = "INSERT INTO log VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    write_log(conn, sql, side, entry)?;
    let sql = "INSERT INTO frame VALUES (?1, ?2, ?3, ?4)";
    let position = integer(entry.position)?;
    write(
        conn,
        sql,
        &[Cell::Integer(side), position, text(&entry.text)],
    )
}

/// Returns an entry of the log, without its text.
pub(super) fn find(conn: &Connection, side: i64, position: u64) -> Result<Option<Entry>, Fault> {
    let Ok(position) = i64::try_from(position) else {
        return Ok(None);
    };
    let sql = "SELECT * FROM log WHERE side = ?1 AND position = ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query((side, position))?;
    rows.next()?.map(read_log).transpose()
}

/// Writes an entry that was read before, with its new mark.
pub(super) fn mark(conn: &Connection, side: i64, entry: &Entry) -> Result<(), Fault> {
    // The checksum covers the whole row, so the whole row is written. The statement finds the row
    // by its key.
    let sql = "UPDATE log SET at = ?3, kind = ?4, sender = ?5, mid = ?6, sequence = ?7, \
        tokens = ?8, cut = ?9, due = ?10, hash = ?11, crc = ?12 WHERE side = ?1 AND position = ?2";
    write_log(conn, sql, side, entry)
}

/// Reads an entry from a row that [`select`] gives.
pub(super) fn read(row: &Row<'_>) -> Result<Entry, Fault> {
    let mut entry = read_log(row)?;
    entry.text = read_text(row)?.ok_or_else(|| lost_text(entry.position))?;
    Ok(entry)
}

/// Reads an entry without its text, from a row that begins with the columns of `log`.
pub(super) fn read_log(row: &Row<'_>) -> Result<Entry, Fault> {
    let mut columns = columns(row, "log", 0, LOG)?;
    columns.integer()?; // the side
    Ok(read_columns(&mut columns)?)
}

/// Reads the text from a row that [`select`] gives.
pub(super) fn read_text(row: &Row<'_>) -> Result<Option<Arc<str>>, Fault> {
    if row.get_ref(LOG)? == ValueRef::Null {
        return Ok(None);
    }
    let mut columns = columns(row, "frame", LOG, FRAME)?;
    columns.integer()?; // the side
    columns.integer()?; // the position
    Ok(Some(Arc::from(columns.text()?)))
}

fn write_log(conn: &Connection, sql: &str, side: i64, entry: &Entry) -> Result<(), Fault> {
    let mid = MidCell::new(&entry.mid);
    let mut columns = [Cell::Integer(side); LOG - 1];
    columns[1..].copy_from_slice(&log_cells(entry, &mid)?);
    write(conn, sql, &columns)
}
