//! Writes to the file: batches, retention and deletion. All of it runs inside a transaction.

use std::sync::Arc;

use accp_registry::Hash;
use accp_session::{Batch, Cold, Entry, MemberId, Mid, Outgoing, Snapshot};
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::{columns, to_sql, write};
use super::side::Side;
use super::{cold, entry, schema};
use crate::side::SideId;
use crate::store::{Freed, Retention};
use crate::table::{self, Cell, Key, MidCell, Tables, apply, first_kept, integer, text};

/// Applies the durable part of a batch.
pub(super) fn batch(conn: &Connection, id: &SideId, batch: &Batch) -> Result<(), Fault> {
    let mut side = Side::find_or_new(conn, id, batch.host)?;
    let mut rows = Rows {
        conn,
        side: side.number,
    };
    apply(&mut rows, &mut side.row, batch)?;
    side.save(conn)
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
    let first = first_kept(&side.row, due, keep);
    if first > side.row.first {
        let sql = "DELETE FROM frame WHERE side = ?1 AND position < ?2
            RETURNING octet_length(text)";
        let mut statement = conn.prepare(sql)?;
        let mut rows = statement.query((side.number, first))?;
        while let Some(row) = rows.next()? {
            let bytes: u64 = row.get(0)?;
            freed.entries += u64::from(bytes > 0); // the others were erased before
            freed.bytes += bytes;
            side.row.bytes = side.row.bytes.saturating_sub(bytes);
        }
        side.row.first = first;
        side.save(conn)?;
    }
    Ok(freed)
}

/// The rows of one side.
pub(super) struct Rows<'c> {
    pub conn: &'c Connection,
    pub side: i64,
}

impl Tables for Rows<'_> {
    type Fault = Fault;

    fn key(&mut self, name: &str) -> Result<Option<Key>, Fault> {
        cold::find(self.conn, self.side, name)
    }

    fn save_key(&mut self, name: &str, key: &Key) -> Result<(), Fault> {
        cold::save(self.conn, self.side, name, key)
    }

    fn has_bytes(&mut self, value: &Cold) -> Result<bool, Fault> {
        cold::has_bytes(self.conn, self.side, value)
    }

    fn insert_bytes(&mut self, digest: &Hash, bytes: &Arc<[u8]>) -> Result<(), Fault> {
        cold::insert_bytes(self.conn, self.side, digest, bytes)
    }

    fn find_mid(&mut self, mid: &Mid) -> Result<Option<u64>, Fault> {
        let sql = "SELECT position FROM log WHERE side = ?1 AND mid = ?2 AND sequence > 0";
        let mut statement = self.conn.prepare_cached(sql)?;
        let mid = MidCell::new(mid);
        Ok(statement
            .query_row((self.side, to_sql(mid.cell())), |row| row.get(0))
            .optional()?)
    }

    fn insert_entry(&mut self, entry: &Entry) -> Result<(), Fault> {
        entry::insert(self.conn, self.side, entry)
    }

    fn entry(&mut self, position: u64) -> Result<Option<Entry>, Fault> {
        let Ok(position) = i64::try_from(position) else {
            return Ok(None);
        };
        let sql = "SELECT * FROM log WHERE side = ?1 AND position = ?2";
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query((self.side, position))?;
        rows.next()?.map(entry::read_log).transpose()
    }

    fn mark(&mut self, entry: &Entry) -> Result<(), Fault> {
        entry::mark(self.conn, self.side, entry)
    }

    fn outgoing(&mut self, place: u64) -> Result<Option<Mid>, Fault> {
        let sql = "SELECT * FROM outbox WHERE side = ?1 AND place = ?2";
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query((self.side, place))?;
        let kept = rows.next()?.map(read_outgoing).transpose()?;
        Ok(kept.map(|kept| kept.mid))
    }

    fn insert_outgoing(&mut self, frame: &Outgoing) -> Result<(), Fault> {
        let mid = MidCell::new(&frame.mid);
        let columns = [
            Cell::Integer(self.side),
            integer(frame.order)?,
            mid.cell(),
            text(&frame.head),
            text(&frame.tail),
        ];
        let sql = "INSERT INTO outbox VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        write(self.conn, sql, &columns)
    }

    fn remove_outgoing(&mut self, mid: &Mid) -> Result<(), Fault> {
        let sql = "DELETE FROM outbox WHERE side = ?1 AND mid = ?2";
        let mid = MidCell::new(mid);
        let mut statement = self.conn.prepare_cached(sql)?;
        statement.execute((self.side, to_sql(mid.cell())))?;
        Ok(())
    }

    fn save_inbox(&mut self, member: MemberId, kept: &str) -> Result<(), Fault> {
        let key = [
            Cell::Integer(self.side),
            Cell::Integer(member.number().into()),
        ];
        if kept.is_empty() {
            let sql = "DELETE FROM inbox WHERE side = ?1 AND member = ?2";
            let mut statement = self.conn.prepare_cached(sql)?;
            statement.execute(key.map(to_sql))?;
            return Ok(());
        }
        let sql = "INSERT INTO inbox VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET text = ?3, crc = ?4";
        write(self.conn, sql, &[key[0], key[1], text(kept)])
    }

    fn insert_registry(&mut self, digest: &Hash, json: &str) -> Result<(), Fault> {
        let sql = "INSERT INTO registry VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
        let digest = Cell::Bytes(digest.as_bytes());
        write(
            self.conn,
            sql,
            &[Cell::Integer(self.side), digest, text(json)],
        )
    }

    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Fault> {
        let sql = "INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET position = ?2, text = ?3, crc = ?4";
        let position = integer(snapshot.position)?;
        let columns = [Cell::Integer(self.side), position, text(&snapshot.text)];
        write(self.conn, sql, &columns)
    }
}

/// Reads a frame of the outbox from a row of its table.
pub(super) fn read_outgoing(row: &rusqlite::Row<'_>) -> Result<Outgoing, Fault> {
    let mut columns = columns(row, "outbox", 0, 6)?;
    columns.integer()?; // the side
    Ok(table::read_outgoing(&mut columns)?)
}
