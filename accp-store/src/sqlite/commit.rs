//! What writes: batches, retention, deletion. All of it runs inside a transaction.

use accp_runtime::session::{Batch, Cold, Entry, Mid, OutboxChange, Outgoing};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::{Columns, MidColumn, integer, text, write};
use super::side::Session;
use super::{cold, entry};
use crate::{Freed, Retention, conflict};

/// Applies the durable part of a batch.
pub(super) fn batch(conn: &Connection, name: &str, batch: &Batch) -> Result<(), Fault> {
    let mut session = Session::find_or_new(conn, name)?;
    for value in &batch.cold {
        put(conn, session.id, value)?;
    }
    for key in &batch.expired {
        cold::expire(conn, session.id, key)?;
    }
    for entry in &batch.entries {
        append(conn, &mut session, entry)?;
    }
    for &position in &batch.handled {
        handle(conn, &mut session, position)?;
    }
    for change in &batch.outbox {
        match change {
            OutboxChange::Put(frame) => put_outgoing(conn, session.id, frame)?,
            OutboxChange::Remove(mid) => remove_outgoing(conn, session.id, mid)?,
        }
    }
    if let Some(sequence) = batch.outbox_sequence {
        session.outbox_sequence = sequence;
    }
    if let Some(number) = batch.last_put {
        session.last_put = number;
    }
    if let Some(epoch) = batch.epoch {
        if epoch <= session.epoch {
            return Err(Fault::Conflict(conflict::epoch(epoch, session.epoch)));
        }
        session.epoch = epoch;
    }
    for (digest, json) in &batch.registries {
        let sql = "INSERT INTO registry VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
        let digest = ValueRef::Blob(digest.as_bytes());
        write(
            conn,
            sql,
            &[ValueRef::Integer(session.id), digest, text(json)],
        )?;
    }
    if let Some(snapshot) = &batch.snapshot {
        let covered = session.covered.unwrap_or(0);
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
                ValueRef::Integer(session.id),
                position,
                text(&snapshot.text),
            ],
        )?;
        session.covered = Some(snapshot.position);
    }
    session.save(conn)
}

/// Deletes all that is kept of a session; whether there was anything.
pub(super) fn delete(conn: &Connection, name: &str) -> Result<bool, Fault> {
    let Some(session) = Session::find(conn, name)? else {
        return Ok(false);
    };
    for table in [
        "log", "frame", "cold", "blob", "outbox", "registry", "snapshot", "session",
    ] {
        let sql = format!("DELETE FROM {table} WHERE session = ?1");
        conn.execute(&sql, [session.id])?;
    }
    Ok(true)
}

/// Deletes what is not needed any more.
pub(super) fn retain(conn: &Connection, name: &str, keep: Retention) -> Result<Freed, Fault> {
    let Some(mut session) = Session::find(conn, name)? else {
        return Ok(Freed::default());
    };
    let mut freed = Freed {
        entries: 0,
        bytes: cold::drop_unused(conn, session.id)?,
    };
    let sql = "SELECT position FROM log INDEXED BY log_due
        WHERE session = ?1 AND due ORDER BY position LIMIT 1";
    let due: Option<u64> = conn
        .query_row(sql, [session.id], |row| row.get(0))
        .optional()?;
    let covered = session.covered.unwrap_or(0);
    let first = keep
        .log_before
        .min(covered + 1)
        .min(due.unwrap_or(u64::MAX));
    if first > session.first {
        let sql = "DELETE FROM frame WHERE session = ?1 AND position < ?2
            RETURNING octet_length(text)";
        let mut statement = conn.prepare(sql)?;
        let mut rows = statement.query((session.id, first))?;
        while let Some(row) = rows.next()? {
            let bytes: u64 = row.get(0)?;
            freed.entries += 1;
            freed.bytes += bytes;
            session.bytes = session.bytes.saturating_sub(bytes);
        }
        session.first = first;
        session.save(conn)?;
    }
    Ok(freed)
}

fn put(conn: &Connection, session: i64, value: &Cold) -> Result<(), Fault> {
    conflict::check_bytes(value).map_err(Fault::Conflict)?;
    let kept = cold::find(conn, session, &value.key)?;
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
            cold::insert_bytes(conn, session, &value.digest, bytes)?;
            true
        }
        None => cold::has_bytes(conn, session, value)?,
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
    cold::save(conn, session, &value.key, &row)
}

fn append(conn: &Connection, session: &mut Session, entry: &Entry) -> Result<(), Fault> {
    let last = session.last.max(session.covered.unwrap_or(0));
    if entry.position <= last {
        return Err(Fault::Conflict(conflict::position(entry.position, last)));
    }
    if entry.sequence > 0
        && let Some(kept) = find_mid(conn, session.id, &entry.mid)?
    {
        return Err(Fault::Conflict(conflict::mid(
            &entry.mid,
            entry.position,
            kept,
        )));
    }
    entry::insert(conn, session.id, entry)?;
    session.last = entry.position;
    session.at = Some(entry.at);
    session.entries += 1;
    session.bytes += entry.text.len() as u64;
    session.due += u64::from(entry.due);
    Ok(())
}

/// The position of the entry that consumed an id.
fn find_mid(conn: &Connection, session: i64, mid: &Mid) -> Result<Option<u64>, Fault> {
    let sql = "SELECT position FROM log WHERE session = ?1 AND mid = ?2 AND sequence > 0";
    let mut statement = conn.prepare_cached(sql)?;
    let mid = MidColumn::new(mid);
    Ok(statement
        .query_row((session, mid.to_sql()), |row| row.get(0))
        .optional()?)
}

fn handle(conn: &Connection, session: &mut Session, position: u64) -> Result<(), Fault> {
    let not_due = || Fault::Conflict(conflict::handled(position));
    let mut statement =
        conn.prepare_cached("SELECT * FROM log WHERE session = ?1 AND position = ?2")?;
    let key = i64::try_from(position).map_err(|_| not_due())?;
    let mut rows = statement.query((session.id, key))?;
    let mut entry = entry::read_log(rows.next()?.ok_or_else(not_due)?)?;
    drop(rows);
    if !entry.due {
        return Err(not_due());
    }
    entry.due = false;
    entry::mark(conn, session.id, &entry)?;
    session.due = session.due.saturating_sub(1);
    Ok(())
}

fn put_outgoing(conn: &Connection, session: i64, frame: &Outgoing) -> Result<(), Fault> {
    remove_outgoing(conn, session, &frame.mid)?;
    let place = integer(frame.order)?;
    let mut statement =
        conn.prepare_cached("SELECT * FROM outbox WHERE session = ?1 AND place = ?2")?;
    let mut rows = statement.query((session, frame.order))?;
    if let Some(row) = rows.next()? {
        let kept = read_outgoing(row)?;
        let text = conflict::place(frame.order, &frame.mid, &kept.mid);
        return Err(Fault::Conflict(text));
    }
    drop(rows);
    let mid = MidColumn::new(&frame.mid);
    let columns = [
        ValueRef::Integer(session),
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

fn remove_outgoing(conn: &Connection, session: i64, mid: &Mid) -> Result<(), Fault> {
    let sql = "DELETE FROM outbox WHERE session = ?1 AND mid = ?2";
    conn.prepare_cached(sql)?
        .execute((session, MidColumn::new(mid).to_sql()))?;
    Ok(())
}

/// A frame of the outbox, from a row of its table.
pub(super) fn read_outgoing(row: &rusqlite::Row<'_>) -> Result<Outgoing, Fault> {
    let mut columns = Columns::new(row, "outbox", 0, 6)?;
    columns.integer()?; // the session
    Ok(Outgoing {
        order: columns.number()?,
        mid: columns.mid()?,
        head: columns.text()?.into(),
        tail: columns.text()?.into(),
    })
}
