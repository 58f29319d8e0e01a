//! The rows of the tables `log` and `frame`, which together make an entry.

use std::sync::Arc;

use accp_registry::ErrorCode;
use accp_runtime::session::Time;
use accp_session::{Due, Entry, EntryKind, Seen};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::fault::Fault;
use super::row::{Columns, MidColumn, integer, text, write};

/// The number of columns of `log`. In a join, the columns of `frame` follow them.
pub(super) const LOG: usize = 12;
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
        &[ValueRef::Integer(side), position, text(&entry.text)],
    )
}

/// Writes the mark of an entry, which was read before.
pub(super) fn mark(conn: &Connection, side: i64, entry: &Entry) -> Result<(), Fault> {
    // The checksum covers the whole row, so the whole row is written. The key finds it.
    let sql = "UPDATE log SET at = ?3, kind = ?4, sender = ?5, mid = ?6, sequence = ?7, \
        tokens = ?8, cut = ?9, due = ?10, hash = ?11, crc = ?12 WHERE side = ?1 AND position = ?2";
    write_log(conn, sql, side, entry)
}

/// Reads an entry from a row that [`select`] gives.
pub(super) fn read(row: &Row<'_>) -> Result<Entry, Fault> {
    let mut entry = read_log(row)?;
    entry.text = read_text(row)?.ok_or_else(|| {
        Fault::Corrupt(format!(
            "table `frame` lacks the text of position {}",
            entry.position
        ))
    })?;
    Ok(entry)
}

/// Reads an entry without its text, from a row that begins with the columns of `log`.
pub(super) fn read_log(row: &Row<'_>) -> Result<Entry, Fault> {
    let mut columns = Columns::new(row, "log", 0, LOG)?;
    columns.integer()?; // the side
    let position = columns.number()?;
    if position == 0 {
        return Err(columns.wrong("a position, from 1"));
    }
    let entry = Entry {
        position,
        at: Time::from_millis(columns.integer()?),
        kind: kind_from(columns.integer()?).ok_or_else(|| columns.wrong("a kind of entry"))?,
        sender: columns.member()?,
        mid: columns.mid()?,
        sequence: columns.number()?,
        tokens: columns.number()?,
        cut: columns.flag()?,
        due: due_from(columns.integer()?).ok_or_else(|| columns.wrong("0, 1 or 2"))?,
        // Without an allocation: most readers of this table want no text.
        text: Arc::default(),
        hash: columns.optional_digest()?,
    };
    Ok(entry)
}

/// Reads the text from a row that [`select`] gives.
pub(super) fn read_text(row: &Row<'_>) -> Result<Option<Arc<str>>, Fault> {
    if row.get_ref(LOG)? == ValueRef::Null {
        return Ok(None);
    }
    let mut columns = Columns::new(row, "frame", LOG, FRAME)?;
    columns.integer()?; // the side
    columns.integer()?; // the position
    Ok(Some(Arc::from(columns.text()?)))
}

/// Returns the parts of an entry that the set of consumed ids needs.
pub(super) fn to_seen(entry: Entry) -> Seen {
    Seen {
        mid: entry.mid,
        sender: entry.sender,
        sequence: entry.sequence,
        dropped: entry.kind == EntryKind::Dropped,
    }
}

fn write_log(conn: &Connection, sql: &str, side: i64, entry: &Entry) -> Result<(), Fault> {
    let mid = MidColumn::new(&entry.mid);
    let columns = [
        ValueRef::Integer(side),
        integer(entry.position)?,
        ValueRef::Integer(entry.at.as_millis()),
        ValueRef::Integer(to_kind(entry.kind)?),
        ValueRef::Integer(entry.sender.number().into()),
        mid.value(),
        integer(entry.sequence)?,
        ValueRef::Integer(entry.tokens.into()),
        ValueRef::Integer(entry.cut.into()),
        ValueRef::Integer(to_due(entry.due)),
        entry
            .hash
            .as_ref()
            .map_or(ValueRef::Null, |hash| ValueRef::Blob(hash.as_bytes())),
    ];
    write(conn, sql, &columns)
}

const fn to_due(due: Due) -> i64 {
    match due {
        Due::No => 0,
        Due::Yes => 1,
        Due::Lapsed => 2,
    }
}

const fn due_from(due: i64) -> Option<Due> {
    Some(match due {
        0 => Due::No,
        1 => Due::Yes,
        2 => Due::Lapsed,
        _ => return None,
    })
}

const REFUSED: i64 = 10_000;

fn to_kind(kind: EntryKind) -> Result<i64, Fault> {
    Ok(match kind {
        EntryKind::Frame => 1,
        EntryKind::Control => 2,
        EntryKind::Part => 3,
        EntryKind::Dropped => 4,
        EntryKind::Lost => 5,
        EntryKind::Repeat => 6,
        EntryKind::Refused(code) => REFUSED + i64::from(code.number()),
        kind => {
            let text = format!("entries of kind {kind:?} are newer than this store: update it");
            return Err(Fault::Conflict(text));
        }
    })
}

fn kind_from(kind: i64) -> Option<EntryKind> {
    Some(match kind {
        1 => EntryKind::Frame,
        2 => EntryKind::Control,
        3 => EntryKind::Part,
        4 => EntryKind::Dropped,
        5 => EntryKind::Lost,
        6 => EntryKind::Repeat,
        REFUSED.. => {
            let code = u16::try_from(kind - REFUSED)
                .ok()
                .and_then(ErrorCode::new)?;
            EntryKind::Refused(code)
        }
        _ => return None,
    })
}
