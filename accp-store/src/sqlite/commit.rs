//! Writes to the file: batches, retention and deletion. All of it runs inside a transaction.

use accp_runtime::session::Mid;
use accp_session::{Batch, Cold, Due, Entry, OutboxChange, Outgoing};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::{Columns, MidColumn, integer, text, write};
use super::side::Side;
use super::{cold, entry, schema};
use crate::{Freed, Retention, SideId, conflict};

/// Applies the durable part of a batch.
pub(super) fn batch(conn: &Connection, id: &SideId, batch: &Batch) -> Result<(), Fault> {
    let mut side = Side::find_or_new(conn, id, batch.host)?;
    if side.host != batch.host {
        return Err(Fault::Conflict(conflict::host(side.host)));
    }
    for value in &batch.cold {
        put(conn, side.number, value)?;
    }
    for key in &batch.expired {
        cold::expire(conn, side.number, key)?;
    }
    for entry in &batch.entries {
        append(conn, &mut side, entry)?;
    }
    for &position in &batch.handled {
        mark(conn, &mut side, position, Due::No)?;
    }
    for &position in &batch.lapsed {
        mark(conn, &mut side, position, Due::Lapsed)?;
    }
    for change in &batch.outbox {
        match change {
            OutboxChange::Put(frame) => put_outgoing(conn, side.number, frame)?,
            OutboxChange::Remove(mid) => remove_outgoing(conn, side.number, mid)?,
        }
    }
    if let Some(sequence) = batch.outbox_sequence {
        side.outbox_sequence = sequence;
    }
    if let Some(number) = batch.last_put {
        side.last_put = number;
    }
    if let Some(epoch) = batch.epoch {
        if epoch <= side.epoch {
            return Err(Fault::Conflict(conflict::epoch(epoch, side.epoch)));
        }
        side.epoch = epoch;
    }
    if let Some(key) = &batch.key {
        side.key = Some(key.clone());
    }
    side.voucher = batch.voucher.or(side.voucher);
    for (digest, json) in &batch.registries {
        let sql = "INSERT INTO registry VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
        let digest = ValueRef::Blob(digest.as_bytes());
        write(
            conn,
            sql,
            &[ValueRef::Integer(side.number), digest, text(json)],
        )?;
    }
    if let Some(snapshot) = &batch.snapshot {
        let covered = side.covered.unwrap_or(0);
        if snapshot.position < covered {
            return Err(Fault::Conflict(conflict::snapshot(
                snapshot.position,
                covered,
            )));
        }
        let sql = "INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET position = ?2, text = ?3, crc = ?4";
        let position = integer(snapshot.position)?;
        write(
            conn,
            sql,
            &[
                ValueRef::Integer(side.number),
                position,
                text(&snapshot.text),
            ],
        )?;
        side.covered = Some(snapshot.position);
    }
    side.save(conn)
}

/// Deletes everything of a side, and returns whether there was anything.
pub(super) fn delete(conn: &Connection, id: &SideId) -> Result<bool, Fault> {
    let Some(side) = Side::find(conn, id)? else {
        return Ok(false);
    };
    for table in schema::OF_A_SIDE.iter().chain(&["side"]) {
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
    let covered = side.covered.unwrap_or(0);
    let first = keep
        .log_before
        .min(covered + 1)
        .min(due.unwrap_or(u64::MAX));
    if first > side.first {
        let sql = "DELETE FROM frame WHERE side = ?1 AND position < ?2
            RETURNING octet_length(text)";
        let mut statement = conn.prepare(sql)?;
        let mut rows = statement.query((side.number, first))?;
        while let Some(row) = rows.next()? {
            let bytes: u64 = row.get(0)?;
            freed.entries += 1;
            freed.bytes += bytes;
            side.bytes = side.bytes.saturating_sub(bytes);
        }
        side.first = first;
        side.save(conn)?;
    }
    Ok(freed)
}

fn put(conn: &Connection, side: i64, value: &Cold) -> Result<(), Fault> {
    conflict::check_bytes(value).map_err(Fault::Conflict)?;
    let kept = cold::find(conn, side, &value.key)?;
    if let Some(kept) = &kept {
        if (kept.digest, kept.length) != (value.digest, value.length) {
            let text = conflict::key(value, &kept.digest, kept.length);
            return Err(Fault::Conflict(text));
        }
        if kept.state != cold::State::Known {
            return Ok(());
        }
    }
    let is_held = match &value.bytes {
        Some(bytes) => {
            cold::insert_bytes(conn, side, &value.digest, bytes)?;
            true
        }
        None => cold::has_bytes(conn, side, value)?,
    };
    let state = if is_held {
        cold::State::Held
    } else {
        cold::State::Known
    };
    let row = cold::Key {
        digest: value.digest,
        length: value.length,
        state,
    };
    cold::save(conn, side, &value.key, &row)
}

fn append(conn: &Connection, side: &mut Side, entry: &Entry) -> Result<(), Fault> {
    let last = side.last.max(side.covered.unwrap_or(0));
    if entry.position <= last {
        return Err(Fault::Conflict(conflict::position(entry.position, last)));
    }
    if entry.sequence > 0
        && let Some(kept) = find_mid(conn, side.number, &entry.mid)?
    {
        return Err(Fault::Conflict(conflict::mid(
            &entry.mid,
            entry.position,
            kept,
        )));
    }
    entry::insert(conn, side.number, entry)?;
    side.last = entry.position;
    side.at = Some(entry.at);
    side.entries += 1;
    side.bytes += entry.text.len() as u64;
    side.due += u64::from(entry.is_due());
    Ok(())
}

/// Finds the position of the entry that consumed an id.
fn find_mid(conn: &Connection, side: i64, mid: &Mid) -> Result<Option<u64>, Fault> {
    let sql = "SELECT position FROM log WHERE side = ?1 AND mid = ?2 AND sequence > 0";
    let mut statement = conn.prepare_cached(sql)?;
    let mid = MidColumn::new(mid);
    Ok(statement
        .query_row((side, mid.to_sql()), |row| row.get(0))
        .optional()?)
}

fn mark(conn: &Connection, side: &mut Side, position: u64, mark: Due) -> Result<(), Fault> {
    let not_due = || Fault::Conflict(conflict::handled(position));
    let mut statement =
        conn.prepare_cached("SELECT * FROM log WHERE side = ?1 AND position = ?2")?;
    let key = i64::try_from(position).map_err(|_| not_due())?;
    let mut rows = statement.query((side.number, key))?;
    let mut entry = entry::read_log(rows.next()?.ok_or_else(not_due)?)?;
    drop(rows);
    if !entry.is_due() {
        return Err(not_due());
    }
    entry.due = mark;
    entry::mark(conn, side.number, &entry)?;
    side.due = side.due.saturating_sub(1);
    Ok(())
}

fn put_outgoing(conn: &Connection, side: i64, frame: &Outgoing) -> Result<(), Fault> {
    remove_outgoing(conn, side, &frame.mid)?;
    let place = integer(frame.order)?;
    let mut statement =
        conn.prepare_cached("SELECT * FROM outbox WHERE side = ?1 AND place = ?2")?;
    let mut rows = statement.query((side, frame.order))?;
    if let Some(row) = rows.next()? {
        let kept = read_outgoing(row)?;
        let text = conflict::place(frame.order, &frame.mid, &kept.mid);
        return Err(Fault::Conflict(text));
    }
    drop(rows);
    let mid = MidColumn::new(&frame.mid);
    let columns = [
        ValueRef::Integer(side),
        place,
        mid.value(),
        text(&frame.head),
        text(&frame.tail),
    ];
    write(
        conn,
        "INSERT INTO outbox VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &columns,
    )
}

fn remove_outgoing(conn: &Connection, side: i64, mid: &Mid) -> Result<(), Fault> {
    let sql = "DELETE FROM outbox WHERE side = ?1 AND mid = ?2";
    conn.prepare_cached(sql)?
        .execute((side, MidColumn::new(mid).to_sql()))?;
    Ok(())
}

/// Reads a frame of the outbox from a row of its table.
pub(super) fn read_outgoing(row: &rusqlite::Row<'_>) -> Result<Outgoing, Fault> {
    let mut columns = Columns::new(row, "outbox", 0, 6)?;
    columns.integer()?; // the side
    Ok(Outgoing {
        order: columns.number()?,
        mid: columns.mid()?,
        head: columns.text()?.into(),
        tail: columns.text()?.into(),
    })
}
