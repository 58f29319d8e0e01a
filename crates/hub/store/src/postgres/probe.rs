//! A write and a read that change no side, to see whether the database can be used.

use super::commit::BEGIN;
use super::fault::Fault;
use super::link::{FlightStep, Link};
use super::read::first;

/// Increments a number in a row of `accp_lease` that belongs to no side: no side has the name U+0001.
const WRITE: &str = r"INSERT INTO accp_lease AS l (session, agent, fence) VALUES (E'\x01', E'\x01', 1)
    ON CONFLICT (session, agent) DO UPDATE SET fence = l.fence + 1 RETURNING fence";
const READ: &str = r"SELECT fence FROM accp_lease WHERE session = E'\x01' AND agent = E'\x01'";

/// Writes a row and reads it in a transaction that commits.
pub(super) fn write(link: &mut Link) -> Result<(), Fault> {
    let rows = link.flight(&[
        FlightStep::Plain(BEGIN),
        FlightStep::Query(WRITE, Vec::new()),
        FlightStep::Query(READ, Vec::new()),
        FlightStep::Plain("COMMIT"),
    ])?;
    let number = |step| first(&rows, step).map(|row| row.try_get::<_, i64>(0));
    match (number(1).transpose()?, number(2).transpose()?) {
        (Some(written), Some(read)) if written == read => Ok(()),
        _ => Err(Fault::Corrupt("a row that was written is not read".into())),
    }
}
