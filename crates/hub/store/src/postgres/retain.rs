//! Deletes what retention allows. The caller locks the side, and runs everything in one transaction.

use tokio_postgres::Row;

use super::fault::Fault;
use super::fence;
use super::link::{FlightStep, Link};
use super::read::{OF_SIDE, ask, first, piece, read_side};
use super::write;
use crate::side::SideId;
use crate::store::{Freed, Retention};

/// The most texts and values that one transaction deletes, so that none takes long.
const MOST: usize = 10_000;

const FIRST_DUE: &str = "SELECT position FROM accp_log
    WHERE session = $1 AND agent = $2 AND due = 1 ORDER BY position LIMIT 1";
/// The position up to which one transaction deletes.
const BOUND: &str = "SELECT position FROM accp_frame
    WHERE session = $1 AND agent = $2 AND position < $3 ORDER BY position OFFSET $4 LIMIT 1";
/// The column has U+0001 before each character that it escapes, so this leaves out U+0001 to get the length of
/// the text.
const TEXTS: &str = r"DELETE FROM accp_frame WHERE session = $1 AND agent = $2 AND position < $3
    RETURNING octet_length(replace(text, E'\x01', ''))::bigint";
const VALUES: &str = "DELETE FROM accp_blob b USING (
        SELECT b.digest FROM accp_blob b WHERE b.session = $1 AND b.agent = $2 AND NOT EXISTS
            (SELECT FROM accp_cold c WHERE c.session = $1 AND c.agent = $2 AND c.digest = b.digest
                AND c.state < 2)
        LIMIT $3) gone
    WHERE b.session = $1 AND b.agent = $2 AND b.digest = gone.digest
    RETURNING octet_length(b.bytes)::bigint";

/// The steps to run after the lock of the side. [`delete`] takes their rows.
pub(super) fn steps(side: &SideId) -> [FlightStep<'_>; 2] {
    [ask(OF_SIDE, side), ask(FIRST_DUE, side)]
}

/// Deletes a part of the data that retention lets go. `rows` are the rows of [`steps`]. Returns what was deleted, and
/// whether there is more to delete.
pub(super) fn delete(
    link: &mut Link,
    id: &SideId,
    rows: &[Vec<Row>],
    keep: Retention,
) -> Result<(Freed, bool), Fault> {
    let Some(row) = first(rows, 0) else {
        link.flight(&[FlightStep::Plain("COMMIT")])?;
        return Ok((Freed::default(), false));
    };
    let mut side = read_side(row)?;
    let due = first(rows, 1).map(number).transpose()?;
    let last = side.first_kept(due, keep);
    let mut params = fence::name(id);
    params.push(Box::new(MOST as i64));
    let mut steps = vec![FlightStep::Query(VALUES, params)];
    if last > side.first {
        steps.push(piece(BOUND, id, last, MOST));
    }
    let rows = link.flight(&steps)?;
    let mut freed = Freed {
        entries: 0,
        bytes: sum(&rows, 0)?,
    };
    let values = rows.first().map_or(0, Vec::len);
    let bound = first(&rows, 1).map(number).transpose()?;
    let more = values == MOST || bound.is_some();
    let mut steps = Vec::new();
    if last > side.first {
        side.first = bound.unwrap_or(last);
        let mut params = fence::name(id);
        params.push(Box::new(side.first as i64)); // it fits: at most one above a stored position
        let rows = link.flight(&[FlightStep::Query(TEXTS, params)])?;
        let lengths = rows.first().into_iter().flatten().map(number);
        let lengths = lengths.collect::<Result<Vec<_>, _>>()?;
        // An empty text was erased before, so it is not counted again.
        freed.entries = lengths.iter().filter(|length| **length > 0).count() as u64;
        let bytes: u64 = lengths.iter().sum();
        freed.bytes += bytes;
        side.bytes = side.bytes.saturating_sub(bytes);
        steps = write::side_step(&side)?;
    }
    steps.push(FlightStep::Plain("COMMIT"));
    link.flight(&steps)?;
    Ok((freed, more))
}

fn number(row: &Row) -> Result<u64, Fault> {
    let number: i64 = row.try_get(0)?;
    u64::try_from(number).map_err(|_| Fault::Corrupt(format!("{number} is not a position")))
}

fn sum(rows: &[Vec<Row>], step: usize) -> Result<u64, Fault> {
    let rows = rows.get(step).map(Vec::as_slice).unwrap_or_default();
    rows.iter().try_fold(0, |sum, row| Ok(sum + number(row)?))
}
