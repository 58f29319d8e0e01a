//! Reads from the database. Each takes one round trip, and sees one state.

use std::sync::Arc;

use accp_registry::Hash;
use accp_session::{Entry, MemberId, Outgoing, Snapshot, Stored};
use tokio_postgres::Row;

use super::fault::Fault;
use super::fence;
use super::link::{FlightStep, Link};
use super::row::Table;
use super::schema::{COLD, FRAME, INBOX, LOG, OUTBOX, REGISTRY, SIDE, SNAPSHOT};
use super::text::{escaped, unescaped};
use crate::changes::{Key, SideRow, needs_older_rows, seen_in};
use crate::side::SideId;
use crate::store::Kept;
use crate::table::{
    self, ascend, lost_text, other_digest, read_inbox, read_outgoing, same_snapshot,
};

/// The columns of a side.
macro_rules! side_columns {
    () => {
        "s.session, s.agent, s.host, s.last, s.first, s.covered, s.entries, s.bytes, s.due, s.at,
        s.epoch, s.outbox_sequence, s.last_put, s.identity, s.secret, s.proof, s.crc"
    };
}

/// The columns of an entry without its text.
macro_rules! log_columns {
    () => {
        "l.session, l.agent, l.position, l.at, l.kind, l.sender, l.mid, l.sequence, l.tokens, l.cut,
        l.due, l.hash, l.crc"
    };
}

/// Selects entries with their texts. A condition on the join may leave out a text; then its columns
/// are null.
macro_rules! entries {
    ($condition:literal) => {
        concat!(
            "SELECT ",
            log_columns!(),
            ", f.session, f.agent, f.position, f.text, f.crc
            FROM accp_log l LEFT JOIN accp_frame f
            ON f.session = l.session AND f.agent = l.agent AND f.position = l.position",
            $condition,
            " WHERE l.session = $1 AND l.agent = $2"
        )
    };
}

pub(super) use {log_columns, side_columns};

/// The number of columns of `accp_log`. In a join, the columns of `accp_frame` follow them.
const TEXT: usize = 13;

const SIDES: &str = concat!("SELECT ", side_columns!(), " FROM accp_side s");
const OF_SESSION: &str = concat!(
    "SELECT ",
    side_columns!(),
    " FROM accp_side s WHERE s.session = $1"
);
pub(super) const OF_SIDE: &str = concat!(
    "SELECT ",
    side_columns!(),
    " FROM accp_side s WHERE s.session = $1 AND s.agent = $2"
);
pub(super) const SNAPSHOT_OF: &str = "SELECT session, agent, position, text, crc FROM accp_snapshot
    WHERE session = $1 AND agent = $2";
pub(super) const OUTBOX_OF: &str =
    "SELECT session, agent, place, mid, head, tail, crc FROM accp_outbox
    WHERE session = $1 AND agent = $2 ORDER BY place";
pub(super) const INBOXES_OF: &str = "SELECT session, agent, member, text, crc FROM accp_inbox
    WHERE session = $1 AND agent = $2 ORDER BY member";
pub(super) const REGISTRIES_OF: &str = "SELECT session, agent, digest, json, crc FROM accp_registry
    WHERE session = $1 AND agent = $2 ORDER BY digest";
pub(super) const KEYS_OF: &str =
    "SELECT session, agent, key, digest, length, state, crc FROM accp_cold
    WHERE session = $1 AND agent = $2";

/// Selects the log, with the texts of the entries that a session is restored from: the entries after the snapshot, and
/// the entries that are due. If a host's snapshot holds the message ids ([`Snapshot::holds_ids`]), selects these
/// entries only.
const RESTORED: &str = concat!(
    entries!(
        " AND (l.due = 1 OR l.position > coalesce((SELECT covered FROM accp_side
            WHERE session = $1 AND agent = $2), 0))"
    ),
    " AND (l.due = 1 OR l.position > coalesce((SELECT s.covered FROM accp_side s, accp_snapshot p
            WHERE s.session = $1 AND s.agent = $2 AND s.host = 1 AND p.session = $1 AND p.agent = $2
            AND starts_with(p.text, '{\"version\":4,')), 0))
    ORDER BY l.position"
);
const FROM: &str = concat!(
    entries!(""),
    " AND f.text IS DISTINCT FROM '' AND l.position >= greatest($3, (SELECT first FROM accp_side WHERE session = $1 AND agent = $2))
    ORDER BY l.position LIMIT $4"
);
/// Entries from a position on, also those that have lost their text.
pub(super) const PIECE: &str = concat!(
    entries!(""),
    " AND l.position >= $3 ORDER BY l.position LIMIT $4"
);
const VALUE: &str = "SELECT c.session, c.agent, c.key, c.digest, c.length, c.state, c.crc, b.bytes
    FROM accp_cold c LEFT JOIN accp_blob b
    ON b.session = c.session AND b.agent = c.agent AND b.digest = c.digest AND c.state < 2
    WHERE c.session = $1 AND c.agent = $2 AND c.key = $3";

pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Returns a step that asks for rows of one side.
pub(super) fn ask<'s>(sql: &'static str, side: &'s SideId) -> FlightStep<'s> {
    FlightStep::Query(sql, fence::name(side))
}

/// Returns a step that asks for entries from a position on.
pub(super) fn piece<'s>(
    sql: &'static str,
    side: &'s SideId,
    from: u64,
    limit: usize,
) -> FlightStep<'s> {
    let mut params = fence::name(side);
    params.push(Box::new(i64::try_from(from).unwrap_or(i64::MAX)));
    params.push(Box::new(i64::try_from(limit).unwrap_or(i64::MAX)));
    FlightStep::Query(sql, params)
}

/// Reads the state from which a side is restored, after the steps `first`. Also returns the rows of the steps `first`.
pub(super) fn load(
    link: &mut Link,
    id: &SideId,
    first: Vec<FlightStep<'_>>,
) -> Result<(Vec<Vec<Row>>, Option<Stored>), Fault> {
    let before = first.len();
    let mut steps = first;
    steps.push(FlightStep::Plain(BEGIN));
    for sql in [
        OF_SIDE,
        SNAPSHOT_OF,
        RESTORED,
        OUTBOX_OF,
        INBOXES_OF,
        REGISTRIES_OF,
    ] {
        steps.push(ask(sql, id));
    }
    steps.push(FlightStep::Plain("COMMIT"));
    let mut rows = link.flight(&steps)?;
    let read = rows.split_off(before);
    let [_, side, snapshots, log, frames, inboxes, registries, _] = read.as_slice() else {
        return Err(Fault::Corrupt("an answer lacks rows".into()));
    };
    let Some(side) = side.first().map(read_side).transpose()? else {
        return Ok((rows, None));
    };
    let mut stored = side.to_stored();
    stored.snapshot = snapshot(&side, snapshots)?;
    stored.outbox = outbox(frames)?;
    stored.inboxes = self::inboxes(inboxes)?;
    stored.registries = self::registries(registries)?;
    let is_whole = needs_older_rows(&stored);
    let mut counted = side.without_log();
    for row in log {
        let (_, mut entry) = read_log(row)?;
        if is_whole {
            counted.count(&entry)?;
        }
        let is_after = entry.position > side.covered.unwrap_or(0);
        if is_after || entry.is_due() {
            entry.text = read_text(row)?.ok_or_else(|| lost_text(entry.position))?;
            let list = if is_after {
                &mut stored.entries
            } else {
                &mut stored.due
            };
            list.push(entry.clone());
        }
        if is_whole || is_after {
            stored.seen.extend(seen_in([&entry]));
        }
    }
    if is_whole {
        counted.bytes = side.bytes;
    } else {
        counted = side.counted_after(&stored)?;
    }
    side.check(&counted)?;
    Ok((rows, Some(stored)))
}

/// Reads entries from a position on.
pub(super) fn entries(
    link: &mut Link,
    id: &SideId,
    from: u64,
    limit: usize,
) -> Result<Vec<Entry>, Fault> {
    let rows = link.flight(&[piece(FROM, id, from, limit)])?;
    let found: Result<Vec<_>, Fault> = rows.iter().flatten().map(read_entry).collect();
    let found = found?;
    ascend("log", found.iter().map(|entry| entry.position))?;
    Ok(found)
}

/// Reads an entry, without its text if that was deleted.
pub(super) fn entry(link: &mut Link, id: &SideId, position: u64) -> Result<Option<Entry>, Fault> {
    if i64::try_from(position).is_err() {
        return Ok(None);
    }
    let steps = [
        FlightStep::Plain(BEGIN),
        ask(OF_SIDE, id),
        piece(PIECE, id, position, 1),
        FlightStep::Plain("COMMIT"),
    ];
    let rows = link.flight(&steps)?;
    let (Some(side), Some(row)) = (first(&rows, 1), first(&rows, 2)) else {
        return Ok(None);
    };
    let side = read_side(side)?;
    let (_, entry) = read_log(row)?;
    if entry.position != position {
        return Ok(None);
    }
    if position >= side.first {
        return read_entry(row).map(Some);
    }
    Ok(Some(entry))
}

/// Reads the value under a key.
pub(super) fn value(link: &mut Link, id: &SideId, name: &str) -> Result<Option<Kept>, Fault> {
    let mut params = fence::name(id);
    params.push(Box::new(escaped(name)));
    let rows = link.flight(&[FlightStep::Query(VALUE, params)])?;
    let Some(row) = first(&rows, 0) else {
        return Ok(None);
    };
    let (_, _, key) = read_key(row)?;
    let bytes: Option<&[u8]> = row.try_get(COLD.columns.len() + 1)?;
    if let Some(found) = bytes.map(Hash::of)
        && found != key.digest
    {
        return Err(other_digest(key.digest.as_bytes(), &found).into());
    }
    Ok(Some(key.into_kept(name, bytes.map(Arc::from))?))
}

/// Reads the keys of a side.
pub(super) fn keys(link: &mut Link, id: &SideId) -> Result<Vec<String>, Fault> {
    let rows = link.flight(&[ask(KEYS_OF, id)])?;
    let names = rows.iter().flatten().map(|row| Ok(read_key(row)?.1));
    let mut names = names.collect::<Result<Vec<_>, Fault>>()?;
    names.sort_unstable(); // the database sorts U+0000 elsewhere
    Ok(names)
}

/// Reads all sides, or those of one session.
pub(super) fn sides(link: &mut Link, session: Option<&str>) -> Result<Vec<SideRow>, Fault> {
    let step = match session {
        Some(session) => FlightStep::Query(OF_SESSION, vec![Box::new(escaped(session))]),
        None => FlightStep::Query(SIDES, Vec::new()),
    };
    let rows = link.flight(&[step])?;
    let sides: Result<Vec<_>, _> = rows.iter().flatten().map(read_side).collect();
    let mut sides = sides?;
    sides.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    ascend("side", sides.iter().map(|side| &side.id))?;
    Ok(sides)
}

/// A damaged row of a side: the name of the side, if it can be read, and the damage.
type DamagedRow = (Option<SideId>, Fault);

/// Reads all sides, and all damaged rows.
pub(super) fn survey(link: &mut Link) -> Result<(Vec<SideRow>, Vec<DamagedRow>), Fault> {
    let rows = link.flight(&[FlightStep::Query(SIDES, Vec::new())])?;
    let (mut sides, mut damaged) = (Vec::new(), Vec::new());
    for row in rows.iter().flatten() {
        match read_side(row) {
            Ok(side) => sides.push(side),
            Err(Fault::Corrupt(text)) => {
                let (session, agent): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
                let name = unescaped(session).zip(unescaped(agent));
                let name = name.map(|(session, agent)| SideId::new(session, agent));
                damaged.push((name, Fault::Corrupt(text)));
            }
            Err(fault) => return Err(fault),
        }
    }
    sides.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    ascend("side", sides.iter().map(|side| &side.id))?;
    Ok((sides, damaged))
}

/// Reads one side.
pub(super) fn side(link: &mut Link, id: &SideId) -> Result<Option<SideRow>, Fault> {
    let rows = link.flight(&[ask(OF_SIDE, id)])?;
    first(&rows, 0).map(read_side).transpose()
}

pub(super) fn first(rows: &[Vec<Row>], step: usize) -> Option<&Row> {
    rows.get(step).and_then(|rows| rows.first())
}

pub(super) fn snapshot(side: &SideRow, rows: &[Row]) -> Result<Option<Snapshot>, Fault> {
    let found = rows.first().map(|row| {
        let decoded = SNAPSHOT.decode(row, 0)?;
        let (_, mut columns) = decoded.columns()?;
        Ok::<_, Fault>(Snapshot {
            position: columns.number()?,
            text: columns.text()?.into(),
        })
    });
    Ok(same_snapshot(side, found.transpose()?)?)
}

pub(super) fn outbox(rows: &[Row]) -> Result<Vec<Outgoing>, Fault> {
    let read = |row| {
        let decoded = OUTBOX.decode(row, 0)?;
        let (_, mut columns) = decoded.columns()?;
        Ok(read_outgoing(&mut columns)?)
    };
    let found = rows.iter().map(read).collect::<Result<Vec<_>, Fault>>()?;
    ascend("outbox", found.iter().map(|frame| frame.order))?;
    Ok(found)
}

pub(super) fn inboxes(rows: &[Row]) -> Result<Vec<(MemberId, String)>, Fault> {
    let read = |row| {
        let decoded = INBOX.decode(row, 0)?;
        let (_, mut columns) = decoded.columns()?;
        Ok(read_inbox(&mut columns)?)
    };
    let found = rows.iter().map(read).collect::<Result<Vec<_>, Fault>>()?;
    ascend("inbox", found.iter().map(|(member, _)| *member))?;
    Ok(found)
}

pub(super) fn registries(rows: &[Row]) -> Result<Vec<(Hash, String)>, Fault> {
    let read = |row| {
        let decoded = REGISTRY.decode(row, 0)?;
        let (_, mut columns) = decoded.columns()?;
        Ok((columns.digest()?, columns.text()?.into()))
    };
    let found = rows.iter().map(read).collect::<Result<Vec<_>, Fault>>()?;
    let digests = found.iter().map(|(digest, _)| digest.as_bytes());
    ascend("registry", digests)?;
    Ok(found)
}

/// Reads a side from a row that begins with its columns.
pub(super) fn read_side(row: &Row) -> Result<SideRow, Fault> {
    let decoded = SIDE.decode(row, 0)?;
    let (id, mut columns) = decoded.columns()?;
    Ok(SideRow::read(id, &mut columns)?)
}

/// Reads an entry without its text, and its side.
pub(super) fn read_log(row: &Row) -> Result<(SideId, Entry), Fault> {
    let decoded = LOG.decode(row, 0)?;
    let (side, mut columns) = decoded.columns()?;
    Ok((side, table::read_log(&mut columns)?))
}

/// Reads an entry whose text must be there.
pub(super) fn read_entry(row: &Row) -> Result<Entry, Fault> {
    let (_, mut entry) = read_log(row)?;
    entry.text = read_text(row)?.ok_or_else(|| lost_text(entry.position))?;
    Ok(entry)
}

fn read_text(row: &Row) -> Result<Option<Arc<str>>, Fault> {
    if row.try_get::<_, Option<&str>>(TEXT)?.is_none() {
        return Ok(None);
    }
    let table: &'static Table = &FRAME;
    let decoded = table.decode(row, TEXT)?;
    let (_, mut columns) = decoded.columns()?;
    columns.integer()?; // the position
    Ok(Some(Arc::from(columns.text()?)))
}

/// Reads the side, the name and the rest of the row of a key.
pub(super) fn read_key(row: &Row) -> Result<(SideId, String, Key), Fault> {
    let decoded = COLD.decode(row, 0)?;
    let (side, mut columns) = decoded.columns()?;
    let (name, key) = Key::read(&mut columns)?;
    Ok((side, name, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_and_the_code_agree_about_snapshots_with_ids() {
        let condition = format!("starts_with(p.text, '{}')", Snapshot::WITH_IDS);
        assert!(RESTORED.contains(&condition), "{RESTORED}");
    }
}
