//! What reads. All of it runs inside a transaction, so that it sees one state.

use accp_registry::Hash;
use accp_runtime::session::{Entry, Outgoing, Seen, Snapshot, Stored};
use rusqlite::{Connection, Params};

use super::commit::read_outgoing;
use super::fault::Fault;
use super::row::Columns;
use super::side::Session;
use super::{cold, entry};

/// All that a session is restored from.
pub(super) fn load(conn: &Connection, name: &str) -> Result<Option<Stored>, Fault> {
    let Some(session) = Session::find(conn, name)? else {
        return Ok(None);
    };
    let covered = session.covered.unwrap_or(0);
    Ok(Some(Stored {
        snapshot: snapshot(conn, &session)?,
        entries: after(conn, session.id, covered)?,
        last: session.last,
        due: due(conn, session.id, covered)?,
        seen: seen(conn, session.id)?,
        outbox: outbox(conn, session.id)?,
        outbox_sequence: session.outbox_sequence,
        last_put: session.last_put,
        epoch: session.epoch,
        registries: registries(conn, session.id)?,
    }))
}

/// Entries from a position on.
pub(super) fn entries(
    conn: &Connection,
    name: &str,
    from: u64,
    limit: usize,
) -> Result<Vec<Entry>, Fault> {
    let Some(session) = Session::find(conn, name)? else {
        return Ok(Vec::new());
    };
    let sql = entry::select("", "l.position >= ?2") + " LIMIT ?3";
    let from = i64::try_from(from.max(session.first)).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    all(conn, &sql, (session.id, from, limit), entry::read)
}

/// The keys of a session.
pub(super) fn cold_keys(conn: &Connection, name: &str) -> Result<Vec<String>, Fault> {
    let Some(session) = Session::find(conn, name)? else {
        return Ok(Vec::new());
    };
    let sql = "SELECT * FROM cold WHERE session = ?1 ORDER BY key";
    all(conn, sql, [session.id], |row| Ok(cold::read(row)?.0))
}

pub(super) fn snapshot(conn: &Connection, session: &Session) -> Result<Option<Snapshot>, Fault> {
    let sql = "SELECT * FROM snapshot WHERE session = ?1";
    let found = all(conn, sql, [session.id], |row| {
        let mut columns = Columns::new(row, "snapshot", 0, 4)?;
        columns.integer()?; // the session
        Ok(Snapshot {
            position: columns.number()?,
            text: columns.text()?.into(),
        })
    })?;
    let found = found.into_iter().next();
    let position = found.as_ref().map(|snapshot| snapshot.position);
    if position == session.covered {
        return Ok(found);
    }
    let words = |position: Option<u64>| match position {
        Some(position) => format!("one at position {position}"),
        None => "none".to_owned(),
    };
    Err(Fault::Corrupt(format!(
        "of snapshots, table `session` says {}, and table `snapshot` has {}",
        words(session.covered),
        words(position)
    )))
}

pub(super) fn outbox(conn: &Connection, session: i64) -> Result<Vec<Outgoing>, Fault> {
    let sql = "SELECT * FROM outbox WHERE session = ?1 ORDER BY place";
    all(conn, sql, [session], read_outgoing)
}

pub(super) fn registries(conn: &Connection, session: i64) -> Result<Vec<(Hash, String)>, Fault> {
    let sql = "SELECT * FROM registry WHERE session = ?1 ORDER BY digest";
    all(conn, sql, [session], |row| {
        let mut columns = Columns::new(row, "registry", 0, 4)?;
        columns.integer()?; // the session
        Ok((columns.digest()?, columns.text()?.into()))
    })
}

/// Every row of a query.
pub(super) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&rusqlite::Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

fn after(conn: &Connection, session: i64, covered: u64) -> Result<Vec<Entry>, Fault> {
    let sql = entry::select("", "l.position > ?2");
    all(conn, &sql, (session, covered), entry::read)
}

fn due(conn: &Connection, session: i64, covered: u64) -> Result<Vec<Entry>, Fault> {
    all(conn, &due_sql(), (session, covered), entry::read)
}

/// The ids in the order of the log, from its table alone: the texts are not touched.
fn seen(conn: &Connection, session: i64) -> Result<Vec<Seen>, Fault> {
    let read = |row: &rusqlite::Row<'_>| entry::read_log(row).map(entry::to_seen);
    all(conn, SEEN, [session], read)
}

fn due_sql() -> String {
    // Left to itself, SQLite reads the log.
    entry::select("INDEXED BY log_due", "l.due AND l.position <= ?2")
}

const SEEN: &str = "SELECT * FROM log WHERE session = ?1 AND sequence > 0 ORDER BY position";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    /// How SQLite goes about a query.
    fn plan(sql: &str) -> String {
        let conn = Connection::open_in_memory().unwrap();
        schema::create(&conn).unwrap();
        let sql = format!("EXPLAIN QUERY PLAN {}", sql.replace('?', ""));
        let plan = all(&conn, &sql, (), |row| Ok(row.get::<_, String>(3)?));
        plan.unwrap().join("; ")
    }

    #[test]
    fn what_is_due_is_found_without_reading_the_log() {
        insta::assert_snapshot!(plan(&due_sql()), @"SEARCH l USING INDEX log_due (session=? AND position<?); SEARCH f USING PRIMARY KEY (session=? AND position=?) LEFT-JOIN");
    }

    #[test]
    fn ids_are_read_without_the_texts_and_without_sorting() {
        insta::assert_snapshot!(plan(SEEN), @"SEARCH log USING PRIMARY KEY (session=?)");
    }
}
