//! Checks a side for damage. The checks read the side in pieces, and all of them see one state.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::Hash;

use super::fault::Fault;
use super::fence;
use super::link::{FlightStep, Link};
use super::read::{
    BEGIN, INBOXES_OF, KEYS_OF, OF_SIDE, OUTBOX_OF, PIECE, REGISTRIES_OF, SNAPSHOT_OF, ask,
    inboxes, outbox, piece, read_entry, read_key, read_log, read_side, registries, snapshot,
};
use crate::changes::SideRow;
use crate::side::SideId;
use crate::table::{no_key, other_digest, same_count};

/// The number of entries that are read at once.
const ENTRIES: usize = 1_000;
/// The number of values that are read at once.
const VALUES: usize = 16;

const TEXTS: &str = "SELECT count(*) FROM accp_frame WHERE session = $1 AND agent = $2";
const BLOBS: &str = "SELECT digest, bytes FROM accp_blob
    WHERE session = $1 AND agent = $2 AND digest > $3 ORDER BY digest LIMIT $4";

/// Checks everything in a side.
pub(super) fn side(link: &mut Link, id: &SideId) -> Result<(), Fault> {
    let checked = check(link, id);
    if checked.as_ref().is_err_and(Fault::is_final) {
        return checked;
    }
    link.flight(&[FlightStep::Plain("ROLLBACK")])?; // nothing was written
    checked
}

fn check(link: &mut Link, id: &SideId) -> Result<(), Fault> {
    let steps = [
        FlightStep::Plain(BEGIN),
        ask(OF_SIDE, id),
        ask(SNAPSHOT_OF, id),
        ask(OUTBOX_OF, id),
        ask(INBOXES_OF, id),
        ask(REGISTRIES_OF, id),
        ask(KEYS_OF, id),
        ask(TEXTS, id),
    ];
    let rows = link.flight(&steps)?;
    let [_, sides, snapshots, frames, boxes, all, keys, texts] = rows.as_slice() else {
        return Err(Fault::Corrupt("an answer lacks rows".into()));
    };
    let Some(side) = sides.first().map(read_side).transpose()? else {
        return Ok(());
    };
    snapshot(&side, snapshots)?;
    outbox(frames)?;
    inboxes(boxes)?;
    registries(all)?;
    let count = texts.first().map_or(Ok(0), |row| row.try_get(0))?;
    log(link, &side, count)?;
    let lengths = bytes(link, id)?;
    let mut named = BTreeSet::new();
    for row in keys {
        let (_, name, key) = read_key(row)?;
        key.check(&name, lengths.get(&key.digest).copied())?;
        named.insert(key.digest);
    }
    match lengths.keys().find(|digest| !named.contains(digest)) {
        Some(digest) => Err(no_key(digest.as_bytes()).into()),
        None => Ok(()),
    }
}

/// Checks that every entry can be read, that no text is lost, and that the sums are right.
fn log(link: &mut Link, side: &SideRow, texts: i64) -> Result<(), Fault> {
    let mut counted = side.without_log();
    let (mut found, mut next) = (0, 0);
    loop {
        let rows = link.flight(&[piece(PIECE, &side.id, next, ENTRIES)])?;
        let rows = rows.first().map(Vec::as_slice).unwrap_or_default();
        for row in rows {
            let (_, entry) = read_log(row)?;
            if entry.position >= side.first {
                let read = read_entry(row)?;
                side.check_erased(&read)?;
                counted.bytes += read.text.len() as u64;
                found += 1;
            }
            counted.count(&entry)?;
            next = entry.position.saturating_add(1);
        }
        if rows.len() < ENTRIES {
            break;
        }
    }
    side.check(&counted)?;
    Ok(same_count("frame", found, texts)?)
}

/// Checks that all bytes have their digest, and returns their lengths.
fn bytes(link: &mut Link, id: &SideId) -> Result<BTreeMap<Hash, u64>, Fault> {
    let mut lengths = BTreeMap::new();
    let mut last: Vec<u8> = Vec::new();
    loop {
        let mut params = fence::name(id);
        params.push(Box::new(last.clone()));
        params.push(Box::new(VALUES as i64));
        let rows = link.flight(&[FlightStep::Query(BLOBS, params)])?;
        let count = rows.first().map_or(0, Vec::len);
        for row in rows.iter().flatten() {
            let (digest, bytes): (&[u8], &[u8]) = (row.try_get(0)?, row.try_get(1)?);
            let found = Hash::of(bytes);
            if found.as_bytes() != digest {
                return Err(other_digest(digest, &found).into());
            }
            last = digest.to_vec();
            lengths.insert(found, bytes.len() as u64);
        }
        if count < VALUES {
            return Ok(lengths);
        }
    }
}
