//! Reads from the file. All of it runs inside a transaction, so that it sees one state.

use accp_registry::Hash;
use accp_session::{Entry, MemberId, Outgoing, Seen, Snapshot, Stored};
use rusqlite::Connection;

use super::commit::read_outgoing;
use super::fault::Fault;
use super::row::{all, columns, confirm};
use super::side::Side;
use super::{cold, entry, schema};
use crate::changes::{needs_older_rows, seen_in};
use crate::side::SideId;
use crate::table::{ascend, read_inbox, same_snapshot};

/// Reads the state from which a side is restored.
pub(super) fn load(conn: &Connection, id: &SideId) -> Result<Option<Stored>, Fault> {
    let Some(side) = Side::find(conn, id)? else {
        return Ok(None);
    };
    let covered = side.row.covered.unwrap_or(0);
    let mut stored = side.row.to_stored();
    stored.snapshot = snapshot(conn, &side)?;
    stored.entries = after(conn, side.number, covered)?;
    stored.due = due(conn, side.number, covered)?;
    if needs_older_rows(&stored) {
        let index = index(conn, &side, covered)?;
        same(&stored.entries, &index.after)?;
        same(&stored.due, &index.due)?;
        stored.seen = index.seen;
    } else {
        // The texts in `frame` have the same keys, so their number shows whether a row of `log` was lost.
        let params = (side.number, covered);
        confirm(conn, "log", stored.entries.len(), TEXTS_AFTER, params)?;
        side.row.check(&side.row.counted_after(&stored)?)?;
        stored.seen = seen_in(&stored.entries);
    }
    stored.outbox = outbox(conn, side.number)?;
    stored.inboxes = inboxes(conn, side.number)?;
    stored.registries = registries(conn, side.number)?;
    Ok(Some(stored))
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
    // An erased text is empty. A null is a text that was lost, which is damage.
    let kept = "l.position >= ?2 AND octet_length(text) IS NOT 0";
    let sql = entry::select("", kept) + " LIMIT ?3";
    let from = i64::try_from(from.max(side.row.first)).unwrap_or(i64::MAX);
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = all(conn, &sql, (side.number, from, most), entry::read)?;
    ascend("log", found.iter().map(|entry| entry.position))?;
    // A member's log has gaps, so a gap does not show that a row of `log` was lost. The texts in `frame` have the same
    // keys, so the number of texts shows whether a row was lost.
    let last = found.last().filter(|_| found.len() == limit);
    let last = last.map_or(i64::MAX as u64, |last| last.position);
    let sql = "SELECT count(*) FROM frame WHERE side = ?1 AND position BETWEEN ?2 AND ?3
        AND octet_length(text) > 0";
    if limit > 0 {
        confirm(conn, "log", found.len(), sql, (side.number, from, last))?;
    }
    Ok(found)
}

/// Reads an entry, without its text if that was deleted.
pub(super) fn entry(conn: &Connection, id: &SideId, position: u64) -> Result<Option<Entry>, Fault> {
    let Some(side) = Side::find(conn, id)? else {
        return Ok(None);
    };
    let Ok(at) = i64::try_from(position) else {
        return Ok(None);
    };
    let sql = entry::select("", "l.position = ?2");
    let is_kept = position >= side.row.first;
    let read = if is_kept {
        entry::read
    } else {
        entry::read_log
    };
    Ok(all(conn, &sql, (side.number, at), read)?.pop())
}

/// Reads the keys of a side.
pub(super) fn cold_keys(conn: &Connection, id: &SideId) -> Result<Vec<String>, Fault> {
    let Some(side) = Side::find(conn, id)? else {
        return Ok(Vec::new());
    };
    let sql = "SELECT * FROM cold WHERE side = ?1 ORDER BY key";
    let found = all(conn, sql, [side.number], |row| Ok(cold::read(row)?.0))?;
    ascend("cold", &found)?;
    Ok(found)
}

pub(super) fn snapshot(conn: &Connection, side: &Side) -> Result<Option<Snapshot>, Fault> {
    let sql = "SELECT * FROM snapshot WHERE side = ?1";
    let found = all(conn, sql, [side.number], |row| {
        let mut columns = columns(row, "snapshot", 0, 4)?;
        columns.integer()?; // the side
        Ok(Snapshot {
            position: columns.number()?,
            text: columns.text()?.into(),
        })
    })?;
    Ok(same_snapshot(&side.row, found.into_iter().next())?)
}

pub(super) fn outbox(conn: &Connection, side: i64) -> Result<Vec<Outgoing>, Fault> {
    let sql = "SELECT * FROM outbox WHERE side = ?1 ORDER BY place";
    let found = all(conn, sql, [side], read_outgoing)?;
    ascend("outbox", found.iter().map(|frame| frame.order))?;
    let sql = "SELECT count(*) FROM outbox INDEXED BY outbox_mid WHERE side = ?1";
    confirm(conn, "outbox", found.len(), sql, [side])?;
    Ok(found)
}

/// Reads the inboxes of a side. A file of an older format has no inboxes, until a program opens the file to write.
pub(super) fn inboxes(conn: &Connection, side: i64) -> Result<Vec<(MemberId, String)>, Fault> {
    if !schema::has_inboxes(conn)? {
        return Ok(Vec::new());
    }
    let found = all(conn, INBOXES, [side], |row| {
        let mut columns = columns(row, "inbox", 0, 4)?;
        columns.integer()?; // the side
        Ok(read_inbox(&mut columns)?)
    })?;
    ascend("inbox", found.iter().map(|(member, _)| *member))?;
    confirm(conn, "inbox", found.len(), INBOXES_AGAIN, [side])?;
    Ok(found)
}

pub(super) fn registries(conn: &Connection, side: i64) -> Result<Vec<(Hash, String)>, Fault> {
    let sql = "SELECT * FROM registry WHERE side = ?1 ORDER BY digest";
    let found = all(conn, sql, [side], |row| {
        let mut columns = columns(row, "registry", 0, 4)?;
        if columns.integer()? != side {
            return Err(columns.wrong("the side that its index names").into());
        }
        Ok((columns.digest()?, columns.text()?.into()))
    })?;
    ascend(
        "registry",
        found.iter().map(|(digest, _)| digest.as_bytes()),
    )?;
    Ok(found)
}

fn after(conn: &Connection, side: i64, covered: u64) -> Result<Vec<Entry>, Fault> {
    let sql = entry::select("", "l.position > ?2");
    all(conn, &sql, (side, covered), entry::read)
}

fn due(conn: &Connection, side: i64, covered: u64) -> Result<Vec<Entry>, Fault> {
    all(conn, &due_sql(), (side, covered), entry::read)
}

/// The contents of table `log`, without the texts.
struct Index {
    /// The message ids that entries have taken.
    seen: Vec<Seen>,
    /// The positions of the entries after the snapshot.
    after: Vec<u64>,
    /// The positions of the entries up to the snapshot that are due.
    due: Vec<u64>,
}

/// Reads the whole log in its order, from table `log` alone: it does not touch the texts. It checks
/// that no entry is missing.
fn index(conn: &Connection, side: &Side, covered: u64) -> Result<Index, Fault> {
    let mut index = Index {
        seen: Vec::new(),
        after: Vec::new(),
        due: Vec::new(),
    };
    let mut counted = side.row.without_log();
    let mut statement = conn.prepare_cached(INDEX)?;
    let mut rows = statement.query([side.number])?;
    while let Some(row) = rows.next()? {
        let entry = entry::read_log(row)?;
        counted.count(&entry)?;
        if entry.position > covered {
            index.after.push(entry.position);
        } else if entry.is_due() {
            index.due.push(entry.position);
        }
        index.seen.extend(seen_in([&entry]));
    }
    counted.bytes = side.row.bytes;
    side.row.check(&counted)?;
    Ok(index)
}

/// Checks that the entries have exactly these positions.
fn same(entries: &[Entry], positions: &[u64]) -> Result<(), Fault> {
    let found = entries.iter().map(|entry| entry.position);
    if found.eq(positions.iter().copied()) {
        return Ok(());
    }
    Err(Fault::Corrupt(format!(
        "table `log`: its keys are damaged, because one way to its entries finds {} of them and \
         another {}",
        positions.len(),
        entries.len()
    )))
}

fn due_sql() -> String {
    // Without the hint SQLite would read the whole log. The index also has the few lapsed entries,
    // so the condition names the value 1.
    entry::select(
        "INDEXED BY log_due",
        "l.due AND l.due = 1 AND l.position <= ?2",
    )
}

const INBOXES: &str = "SELECT * FROM inbox WHERE side = ?1 ORDER BY member";
const INBOXES_AGAIN: &str = "SELECT count(*) FROM inbox INDEXED BY inbox_member WHERE side = ?1";

const TEXTS_AFTER: &str = "SELECT count(*) FROM frame WHERE side = ?1 AND position > ?2";

const INDEX: &str = "SELECT * FROM log WHERE side = ?1 ORDER BY position";

#[cfg(test)]
mod tests {
    use super::*;

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
    fn inboxes_are_read_in_two_ways() {
        insta::assert_snapshot!(plan(INBOXES), @"SEARCH inbox USING PRIMARY KEY (side=?)");
        insta::assert_snapshot!(plan(INBOXES_AGAIN), @"SEARCH inbox USING COVERING INDEX inbox_member (side=?)");
    }

    #[test]
    fn ids_are_read_without_the_texts_and_without_sorting() {
        insta::assert_snapshot!(plan(INDEX), @"SEARCH log USING PRIMARY KEY (side=?)");
    }
}
