//! Erases data from the tables. The caller locks the sides, and runs everything in one transaction.

use std::collections::BTreeSet;

use accp_registry::Hash;
use accp_session::Due;

use super::fault::Fault;
use super::fence;
use super::link::{FlightStep, Link};
use super::read::{OF_SIDE, ask, first, log_columns, read_key, read_log, read_side};
use super::row::Rows;
use super::schema::{COLD, FRAME, LOG, SNAPSHOT};
use super::text::escaped;
use super::write::{self, KEYS, MARKS, SNAPSHOTS, push_log};
use crate::changes::{Conflict, State};
use crate::conflict;
use crate::side::SideId;
use crate::store::{Erasure, Freed};
use crate::table::{integer, no_key, text};

/// The column keeps some characters as U+0001 and a digit (see `text`). Without the U+0001, the length of the
/// column is the length of the text.
const ENTRIES: &str = concat!(
    "SELECT ",
    log_columns!(),
    r", octet_length(replace(f.text, E'\x01', ''))::bigint
    FROM unnest($3::bigint[]) u (position)
    JOIN accp_log l ON l.session = $1 AND l.agent = $2 AND l.position = u.position
    JOIN accp_frame f ON f.session = $1 AND f.agent = $2 AND f.position = u.position
    WHERE f.text <> '' ORDER BY l.position"
);
/// The index of the column with the length, after the columns of an entry.
const LENGTH: usize = 13;
const NAMED: &str = "SELECT c.session, c.agent, c.key, c.digest, c.length, c.state, c.crc
    FROM unnest($3::text[]) u (key)
    JOIN accp_cold c ON c.session = $1 AND c.agent = $2 AND c.key = u.key";
const TEXTS: &str = "UPDATE accp_frame f SET text = u.text, crc = u.crc FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[])
        u (session, agent, position, text, crc)
    WHERE f.session = u.session AND f.agent = u.agent AND f.position = u.position";
const BYTES: &str = "DELETE FROM accp_blob b USING unnest($3::bytea[]) u (digest)
    WHERE b.session = $1 AND b.agent = $2 AND b.digest = u.digest AND NOT EXISTS
        (SELECT FROM accp_cold c WHERE c.session = $1 AND c.agent = $2 AND c.digest = b.digest
            AND c.state < 2)
    RETURNING octet_length(b.bytes)::bigint";

/// Bytes under a digest that no key has.
const KEYLESS: &str = "SELECT b.digest FROM accp_blob b
    WHERE b.session = $1 AND b.agent = $2 AND NOT EXISTS
        (SELECT FROM accp_cold c WHERE c.session = $1 AND c.agent = $2 AND c.digest = b.digest)
    LIMIT 1";

/// Erases from one side. Refuses a side that has bytes without a key: they may be a value that is to be erased, and
/// its key was lost.
pub(super) fn side(link: &mut Link, id: &SideId, erasure: &Erasure) -> Result<Freed, Fault> {
    let positions = erasure.positions.iter();
    let positions: Vec<i64> = positions
        .filter_map(|position| i64::try_from(*position).ok())
        .collect();
    let names = erasure.keys.iter().map(|key| escaped(key).into_owned());
    let names: Vec<String> = names.collect();
    let (mut of_entries, mut of_keys) = (fence::name(id), fence::name(id));
    of_entries.push(Box::new(positions));
    of_keys.push(Box::new(names));
    let steps = [
        ask(OF_SIDE, id),
        FlightStep::Query(ENTRIES, of_entries),
        FlightStep::Query(NAMED, of_keys),
        ask(KEYLESS, id),
    ];
    let found = link.flight(&steps)?;
    let mut freed = Freed::default();
    let Some(row) = first(&found, 0) else {
        return Ok(freed);
    };
    if let Some(row) = first(&found, 3) {
        return Err(no_key(row.try_get(0)?).into());
    }
    let mut side = read_side(row)?;
    let mut snapshots = Rows::new(SNAPSHOTS, &SNAPSHOT);
    let mut marks = Rows::new(MARKS, &LOG);
    let mut frames = Rows::new(TEXTS, &FRAME);
    let mut keys = Rows::new(KEYS, &COLD);
    let (session, agent) = (text(id.session()), text(id.agent()));
    if let Some(snapshot) = &erasure.snapshot {
        side.cover(snapshot)?;
        let position = integer(snapshot.position)?;
        snapshots.push(&[session, agent, position, text(&snapshot.text)]);
    }
    let covered = side.covered.unwrap_or(0);
    for row in found.get(1).into_iter().flatten() {
        let (_, mut entry) = read_log(row)?;
        conflict::check_erasable(&entry, covered, erasure.lapses).map_err(Conflict)?;
        if entry.is_due() {
            entry.due = Due::Lapsed;
            push_log(&mut marks, id, &entry)?;
            side.due = side.due.saturating_sub(1);
        }
        let bytes = length(row.try_get(LENGTH)?)?;
        frames.push(&[session, agent, integer(entry.position)?, text("")]);
        side.bytes = side.bytes.saturating_sub(bytes);
        freed.entries += 1;
        freed.bytes += bytes;
    }
    let mut digests: BTreeSet<[u8; 32]> = BTreeSet::new();
    for row in found.get(2).into_iter().flatten() {
        let (_, name, mut key) = read_key(row)?;
        key.state = State::Expired;
        let [digest, length, state] = key.cells()?;
        keys.push(&[session, agent, text(&name), digest, length, state]);
        digests.insert(*Hash::as_bytes(&key.digest));
    }
    let mut steps = Vec::new();
    for rows in [snapshots, marks, frames, keys] {
        rows.into_steps(&mut steps);
    }
    steps.extend(write::side_step(&side)?);
    let digests: Vec<Vec<u8>> = digests.iter().map(|digest| digest.to_vec()).collect();
    let mut params = fence::name(id);
    params.push(Box::new(digests));
    steps.push(FlightStep::Query(BYTES, params));
    let written = link.flight(&steps)?;
    for row in written.last().into_iter().flatten() {
        freed.bytes += length(row.try_get(0)?)?;
    }
    Ok(freed)
}

fn length(length: i64) -> Result<u64, Fault> {
    u64::try_from(length).map_err(|_| Fault::Corrupt(format!("{length} is not a length")))
}
