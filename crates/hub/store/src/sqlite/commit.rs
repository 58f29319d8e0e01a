//! Writes to the file: batches, retention and deletion. All of it runs inside a transaction.

use accp_registry::Hash;
use accp_session::{Batch, Entry, Mid, Outgoing, Snapshot};
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::{columns, to_sql, write};
use super::side::Side;
use super::{cold, entry, schema};
use crate::changes::{Changes, Key, SideRows};
use crate::rows::WriteRows;
use crate::side::SideId;
use crate::store::{Freed, Retention};
use crate::table::{self, Cell, MidCell, integer, text};

/// Applies the durable part of a batch.
pub(super) fn batch(conn: &Connection, id: &SideId, batch: &Batch) -> Result<(), Fault> {
    let Side { number, row } = Side::find_or_new(conn, id, batch.host)?;
    let mut changes = Changes::new(row);
    changes.apply(&mut Rows { conn, side: number }, batch)?;
    save(conn, number, &changes)?;
    let row = changes.row;
    Side { number, row }.save(conn)
}

/// Writes the application's rows in a savepoint. If the release of the savepoint fails, the
/// application has ended the transaction.
pub(super) fn rows(conn: &Connection, rows: &mut WriteRows<'_, Connection>) -> Result<(), Fault> {
    conn.execute_batch("SAVEPOINT accp_rows")?;
    let written = rows(conn);
    conn.execute_batch("RELEASE accp_rows")
        .map_err(Fault::Ended)?;
    written.map_err(Fault::Rows)
}

/// Writes changes, except for the row of the side.
fn save(conn: &Connection, side: i64, changes: &Changes<'_>) -> Result<(), Fault> {
    for (digest, bytes) in &changes.bytes {
        cold::insert_bytes(conn, side, digest, bytes)?;
    }
    for (name, key) in &changes.keys {
        cold::save(conn, side, name, key)?;
    }
    for entry in changes.entries.values() {
        entry::insert(conn, side, entry)?;
    }
    for entry in changes.marked.values() {
        entry::mark(conn, side, entry)?;
    }
    for mid in &changes.removed {
        let sql = "DELETE FROM outbox WHERE side = ?1 AND mid = ?2";
        let mid = MidCell::new(mid);
        let mut statement = conn.prepare_cached(sql)?;
        statement.execute((side, to_sql(mid.cell())))?;
    }
    for frame in changes.outgoing.values() {
        insert_outgoing(conn, side, frame)?;
    }
    for (member, kept) in &changes.inboxes {
        let key = [Cell::Integer(side), Cell::Integer(member.number().into())];
        if kept.is_empty() {
            let sql = "DELETE FROM inbox WHERE side = ?1 AND member = ?2";
            conn.prepare_cached(sql)?.execute(key.map(to_sql))?;
        } else {
            let sql = "INSERT INTO inbox VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT DO UPDATE SET text = ?3, crc = ?4";
            write(conn, sql, &[key[0], key[1], text(kept)])?;
        }
    }
    for (digest, json) in &changes.registries {
        let sql = "INSERT INTO registry VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
        let digest = Cell::Bytes(digest.as_bytes());
        write(conn, sql, &[Cell::Integer(side), digest, text(json)])?;
    }
    match changes.snapshot {
        Some(snapshot) => save_snapshot(conn, side, snapshot),
        None => Ok(()),
    }
}

fn insert_outgoing(conn: &Connection, side: i64, frame: &Outgoing) -> Result<(), Fault> {
    let mid = MidCell::new(&frame.mid);
    let columns = [
        Cell::Integer(side),
        integer(frame.order)?,
        mid.cell(),
        text(&frame.head),
        text(&frame.tail),
    ];
    let sql = "INSERT INTO outbox VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    write(conn, sql, &columns)
}

pub(super) fn save_snapshot(
    conn: &Connection,
    side: i64,
    snapshot: &Snapshot,
) -> Result<(), Fault> {
    let sql = "INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT DO UPDATE SET position = ?2, text = ?3, crc = ?4";
    let position = integer(snapshot.position)?;
    write(
        conn,
        sql,
        &[Cell::Integer(side), position, text(&snapshot.text)],
    )
}

/// Deletes everything of a side, and returns whether there was anything.
pub(super) fn delete(conn: &Connection, id: &SideId) -> Result<bool, Fault> {
    let Some(side) = Side::find(conn, id)? else {
        return Ok(false);
    };
    for table in schema::of_a_side(conn)?.iter().chain(&["side"]) {
        let sql = format!("DELETE FROM {table} WHERE side = ?1");
        conn.execute(&sql, [side.number])?;
    }
    Ok(true)
}

/// Deletes data that is not needed any longer.
pub(super) fn retain(conn: &Connection, id: &SideId, keep: Retention) -> Result<Freed, Fault> {
    let Some(mut side) = Side::find(conn, id)? else {
        return Ok(Freed::default());
    };
    let mut freed = Freed {
        entries: 0,
        bytes: cold::drop_unused(conn, side.number)?,
    };
    let sql = "SELECT position FROM log INDEXED BY log_due
        WHERE side = ?1 AND due AND due = 1 ORDER BY position LIMIT 1";
    let due: Option<u64> = conn
        .query_row(sql, [side.number], |row| row.get(0))
        .optional()?;
    let first = side.row.first_kept(due, keep);
    if first > side.row.first {
        let sql = "DELETE FROM frame WHERE side = ?1 AND position < ?2
            RETURNING octet_length(text)";
        let mut statement = conn.prepare(sql)?;
        let mut rows = statement.query((side.number, first))?;
        while let Some(row) = rows.next()? {
            let bytes: u64 = row.get(0)?;
            freed.entries += u64::from(bytes > 0); // rows without bytes were erased before
            freed.bytes += bytes;
            side.row.bytes = side.row.bytes.saturating_sub(bytes);
        }
        side.row.first = first;
        side.save(conn)?;
    }
    Ok(freed)
}

/// The rows of one side.
struct Rows<'c> {
    conn: &'c Connection,
    side: i64,
}

impl SideRows for Rows<'_> {
    type Fault = Fault;

    fn key(&mut self, name: &str) -> Result<Option<Key>, Fault> {
        cold::find(self.conn, self.side, name)
    }

    fn length(&mut self, digest: &Hash) -> Result<Option<u64>, Fault> {
        cold::length(self.conn, self.side, digest)
    }

    fn position(&mut self, mid: &Mid) -> Result<Option<u64>, Fault> {
        let sql = "SELECT position FROM log WHERE side = ?1 AND mid = ?2 AND sequence > 0";
        let mut statement = self.conn.prepare_cached(sql)?;
        let mid = MidCell::new(mid);
        Ok(statement
            .query_row((self.side, to_sql(mid.cell())), |row| row.get(0))
            .optional()?)
    }

    fn entry(&mut self, position: u64) -> Result<Option<Entry>, Fault> {
        entry::find(self.conn, self.side, position)
    }

    fn outgoing(&mut self, place: u64) -> Result<Option<Mid>, Fault> {
        let sql = "SELECT * FROM outbox WHERE side = ?1 AND place = ?2";
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query((self.side, place))?;
        let kept = rows.next()?.map(read_outgoing).transpose()?;
        Ok(kept.map(|kept| kept.mid))
    }
}

/// Reads a frame of the outbox from a row of its table.
pub(super) fn read_outgoing(row: &rusqlite::Row<'_>) -> Result<Outgoing, Fault> {
    let mut columns = columns(row, "outbox", 0, 6)?;
    columns.integer()?; // the side
    Ok(table::read_outgoing(&mut columns)?)
}
