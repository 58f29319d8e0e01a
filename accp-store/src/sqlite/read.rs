//! Reads from the file. All of it runs inside a transaction, so that it sees one state.

use accp_registry::Hash;
use accp_session::{Entry, Outgoing, Seen, Snapshot, Stored};
use rusqlite::Connection;

use super::commit::read_outgoing;
use super::fault::Fault;
use super::row::{Columns, all};
use super::side::Side;
use super::{cold, entry};
use crate::SideId;

/// Reads the state from which a side is restored.
pub(super) fn load(conn: &Connection, id: &SideId) -> Result<Option<Stored>, Fault> {
    let Some(side) = Side::find(conn, id)? else {
        return Ok(None);
    };
    let covered = side.covered.unwrap_or(0);
    Ok(Some(Stored {
        host: side.host,
        snapshot: snapshot(conn, &side)?,
        entries: after(conn, side.number, covered)?,
        last: side.last,
        due: due(conn, side.number, covered)?,
        seen: seen(conn, side.number)?,
        outbox: outbox(conn, side.number)?,
        outbox_sequence: side.outbox_sequence,
        last_put: side.last_put,
        epoch: side.epoch,
        registries: registries(conn, side.number)?,
    }))
}

/// Reads entries from a position on.
pub(super) fn entries(
    conn: &Connection,
    id: &SideId,
    from: u64,
    limit: usize,
) -> Result<Vec<Entry>, Fault> {
    let Some(side) = Side::find(conn, id)? else {
        return Ok(Vec::new());
    };
    let sql = entry::select("", "l.position >= ?2") + " LIMIT ?3";
    let from = i64::try_from(from.max(side.first)).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    all(conn, &sql, (side.number, from, limit), entry::read)
}

/// Reads the keys of a side.
pub(super) fn cold_keys(conn: &Connection, id: &SideId) -> Result<Vec<String>, Fault> {
    let Some(side) = Side::find(conn, id)? else {
        return Ok(Vec::new());
    };
    let sql = "SELECT * FROM cold WHERE side = ?1 ORDER BY key";
    all(conn, sql, [side.number], |row| Ok(cold::read(row)?.0))
}

pub(super) fn snapshot(conn: &Connection, side: &Side) -> Result<Option<Snapshot>, Fault> {
    let sql = "SELECT * FROM snapshot WHERE side = ?1";
    let found = all(conn, sql, [side.number], |row| {
        let mut columns = Columns::new(row, "snapshot", 0, 4)?;
        columns.integer()?; // the side
        Ok(Snapshot {
            position: columns.number()?,
            text: columns.text()?.into(),
        })
    })?;
    let found = found.into_iter().next();
    let position = found.as_ref().map(|snapshot| snapshot.position);
    if position == side.covered {
        return Ok(found);
    }
    let words = |position: Option<u64>| match position {
        Some(position) => format!("one at position {position}"),
        None => "none".to_owned(),
    };
    Err(Fault::Corrupt(format!(
        "for the snapshot, table `side` says {}, and table `snapshot` has {}",
        words(side.covered),
        words(position)
    )))
}

pub(super) fn outbox(conn: &Connection, side: i64) -> Result<Vec<Outgoing>, Fault> {
    let sql = "SELECT * FROM outbox WHERE side = ?1 ORDER BY place";
    all(conn, sql, [side], read_outgoing)
}

pub(super) fn registries(conn: &Connection, side: i64) -> Result<Vec<(Hash, String)>, Fault> {
    let sql = "SELECT * FROM registry WHERE side = ?1 ORDER BY digest";
    all(conn, sql, [side], |row| {
        let mut columns = Columns::new(row, "registry", 0, 4)?;
        columns.integer()?; // the side
        Ok((columns.digest()?, columns.text()?.into()))
    })
}

fn after(conn: &Connection, side: i64, covered: u64) -> Result<Vec<Entry>, Fault> {
    let sql = entry::select("", "l.position > ?2");
    all(conn, &sql, (side, covered), entry::read)
}

fn due(conn: &Connection, side: i64, covered: u64) -> Result<Vec<Entry>, Fault> {
    all(conn, &due_sql(), (side, covered), entry::read)
}

/// Reads the ids in the order of the log, from table `log` alone: it does not touch the texts.
fn seen(conn: &Connection, side: i64) -> Result<Vec<Seen>, Fault> {
    let read = |row: &rusqlite::Row<'_>| entry::read_log(row).map(entry::to_seen);
    all(conn, SEEN, [side], read)
}

fn due_sql() -> String {
    // Without the hint SQLite would read the whole log.
    entry::select("INDEXED BY log_due", "l.due AND l.position <= ?2")
}

const SEEN: &str = "SELECT * FROM log WHERE side = ?1 AND sequence > 0 ORDER BY position";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    /// Returns the plan that SQLite makes for a query.
    fn plan(sql: &str) -> String {
        let conn = Connection::open_in_memory().unwrap();
        schema::create(&conn).unwrap();
        let sql = format!("EXPLAIN QUERY PLAN {}", sql.replace('?', ""));
        let plan = all(&conn, &sql, (), |row| Ok(row.get::<_, String>(3)?));
        plan.unwrap().join("; ")
    }

    #[test]
    fn what_is_due_is_found_without_reading_the_log() {
        insta::assert_snapshot!(plan(&due_sql()), @"SEARCH l USING INDEX log_due (side=? AND position<?); SEARCH f USING PRIMARY KEY (side=? AND position=?) LEFT-JOIN");
    }

    #[test]
    fn ids_are_read_without_the_texts_and_without_sorting() {
        insta::assert_snapshot!(plan(SEEN), @"SEARCH log USING PRIMARY KEY (side=?)");
    }
}
