//! The first round trip of a commit: it reads the rows that a group touches.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::Hash;
use accp_session::{Batch, Mid, OutboxChange};
use tokio_postgres::Row;

use super::fault::Fault;
use super::fence;
use super::link::{FlightStep, Param};
use super::read::{log_columns, read_key, read_log, read_side, side_columns};
use super::text::{escaped, unescaped};
use super::touched::TouchedRows;
use crate::side::SideId;

/// The values of a query for rows: their key columns and further values. Each array has one element for each row.
#[derive(Default)]
struct RowQuery<T> {
    sessions: Vec<String>,
    agents: Vec<String>,
    rest: Vec<T>,
}

impl<T> RowQuery<T>
where
    Vec<T>: tokio_postgres::types::ToSql + Send + Sync + 'static,
{
    fn add(&mut self, side: &SideId, one: T) {
        self.sessions.push(escaped(side.session()).into_owned());
        self.agents.push(escaped(side.agent()).into_owned());
        self.rest.push(one);
    }

    /// Returns the step that asks for the rows, unless there are none to ask for.
    fn into_step(self, sql: &'static str) -> Option<FlightStep<'static>> {
        if self.rest.is_empty() {
            return None;
        }
        let params: Vec<Param<'static>> = vec![
            Box::new(self.sessions),
            Box::new(self.agents),
            Box::new(self.rest),
        ];
        Some(FlightStep::Query(sql, params))
    }
}

/// Reads a row into the rows of its side.
type Reader = fn(&Row, &mut Touched) -> Result<(), Fault>;
type Touched = BTreeMap<SideId, TouchedRows>;

/// For each step, the function that reads its rows.
pub(super) struct Readers(Vec<Reader>);

/// Returns the steps that ask for all rows that a group touches, and the readers of these rows.
pub(super) fn gather(group: &[(&SideId, &Batch)]) -> (Vec<FlightStep<'static>>, Readers) {
    let (mut mids, mut marks) = (RowQuery::default(), RowQuery::default());
    let (mut keys, mut digests) = (RowQuery::default(), RowQuery::default());
    let (mut gone, mut places) = (RowQuery::default(), RowQuery::default());
    for &(side, batch) in group {
        for value in &batch.cold {
            keys.add(side, escaped(&value.key).into_owned());
            digests.add(side, value.digest.as_bytes().to_vec());
        }
        for key in &batch.expired {
            keys.add(side, escaped(key).into_owned());
        }
        for entry in batch.entries.iter().filter(|entry| entry.sequence > 0) {
            mids.add(side, name(&entry.mid));
        }
        for &position in batch.handled.iter().chain(&batch.lapsed) {
            if let Ok(position) = i64::try_from(position) {
                marks.add(side, position);
            }
        }
        for change in &batch.outbox {
            match change {
                OutboxChange::Remove(mid) => gone.add(side, name(mid)),
                OutboxChange::Put(frame) => {
                    gone.add(side, name(&frame.mid));
                    if let Ok(place) = i64::try_from(frame.order) {
                        places.add(side, place);
                    }
                }
            }
        }
    }
    let sides: BTreeSet<&SideId> = group.iter().map(|(side, _)| *side).collect();
    let sides = FlightStep::Query(SIDES, fence::names(sides.into_iter()));
    let all: [(Option<FlightStep<'static>>, Reader); 7] = [
        (Some(sides), take_side),
        (mids.into_step(MIDS), take_mid),
        (marks.into_step(MARKS), take_mark),
        (keys.into_step(KEYS), take_key),
        (digests.into_step(LENGTHS), take_length),
        (gone.into_step(OUTBOX_MIDS), take_outgoing),
        (places.into_step(OUTBOX_PLACES), take_outgoing),
    ];
    let (mut steps, mut readers) = (Vec::new(), Vec::new());
    for (step, reader) in all {
        if let Some(step) = step {
            steps.push(step);
            readers.push(reader);
        }
    }
    (steps, Readers(readers))
}

impl Readers {
    /// Reads the rows of the steps.
    pub(super) fn read(&self, rows: &[Vec<Row>]) -> Result<Touched, Fault> {
        let mut touched = Touched::new();
        for (reader, rows) in self.0.iter().zip(rows) {
            for row in rows {
                reader(row, &mut touched)?;
            }
        }
        Ok(touched)
    }
}

/// Returns a message id as its column has it. Each id has only one spelling there.
pub(super) fn name(mid: &Mid) -> String {
    match mid.as_bits() {
        Some(bits) => format!("{bits:012x}"),
        None => escaped(&mid.to_string()).into_owned(),
    }
}

const SIDES: &str = concat!(
    "SELECT ",
    side_columns!(),
    " FROM unnest($1::text[], $2::text[]) u (session, agent)
    JOIN accp_side s ON s.session = u.session AND s.agent = u.agent"
);

fn take_side(row: &Row, touched: &mut Touched) -> Result<(), Fault> {
    let side = read_side(row)?;
    let rows = touched.entry(side.id.clone()).or_default();
    rows.side = Some(side);
    Ok(())
}

const MIDS: &str = "SELECT l.session, l.agent, l.mid, l.position
    FROM unnest($1::text[], $2::text[], $3::text[]) u (session, agent, mid)
    JOIN accp_log l ON l.session = u.session AND l.agent = u.agent AND l.mid = u.mid
        AND l.sequence > 0";

fn take_mid(row: &Row, touched: &mut Touched) -> Result<(), Fault> {
    let (mid, position) = (mid(row, 2)?, number(row, 3)?);
    touched
        .entry(fence::side(row)?)
        .or_default()
        .mids
        .insert(mid, position);
    Ok(())
}

const MARKS: &str = concat!(
    "SELECT ",
    log_columns!(),
    " FROM unnest($1::text[], $2::text[], $3::bigint[]) u (session, agent, position)
    JOIN accp_log l ON l.session = u.session AND l.agent = u.agent AND l.position = u.position"
);

fn take_mark(row: &Row, touched: &mut Touched) -> Result<(), Fault> {
    let (side, entry) = read_log(row)?;
    let rows = touched.entry(side).or_default();
    rows.log.insert(entry.position, entry);
    Ok(())
}

const KEYS: &str = "SELECT c.session, c.agent, c.key, c.digest, c.length, c.state, c.crc
    FROM unnest($1::text[], $2::text[], $3::text[]) u (session, agent, key)
    JOIN accp_cold c ON c.session = u.session AND c.agent = u.agent AND c.key = u.key";

fn take_key(row: &Row, touched: &mut Touched) -> Result<(), Fault> {
    let (side, name, key) = read_key(row)?;
    touched.entry(side).or_default().keys.insert(name, key);
    Ok(())
}

const LENGTHS: &str = "SELECT b.session, b.agent, b.digest, octet_length(b.bytes)::bigint
    FROM unnest($1::text[], $2::text[], $3::bytea[]) u (session, agent, digest)
    JOIN accp_blob b ON b.session = u.session AND b.agent = u.agent AND b.digest = u.digest";

fn take_length(row: &Row, touched: &mut Touched) -> Result<(), Fault> {
    let digest: [u8; 32] = row
        .try_get::<_, &[u8]>(2)?
        .try_into()
        .map_err(|_| Fault::Corrupt("table `blob` has a digest that is not of 32 bytes".into()))?;
    let rows = touched.entry(fence::side(row)?).or_default();
    rows.lengths.insert(Hash::from(digest), number(row, 3)?);
    Ok(())
}

const OUTBOX_MIDS: &str = "SELECT o.session, o.agent, o.mid, o.place
    FROM unnest($1::text[], $2::text[], $3::text[]) u (session, agent, mid)
    JOIN accp_outbox o ON o.session = u.session AND o.agent = u.agent AND o.mid = u.mid";

const OUTBOX_PLACES: &str = "SELECT o.session, o.agent, o.mid, o.place
    FROM unnest($1::text[], $2::text[], $3::bigint[]) u (session, agent, place)
    JOIN accp_outbox o ON o.session = u.session AND o.agent = u.agent AND o.place = u.place";

fn take_outgoing(row: &Row, touched: &mut Touched) -> Result<(), Fault> {
    let (mid, place) = (mid(row, 2)?, number(row, 3)?);
    let rows = touched.entry(fence::side(row)?).or_default();
    rows.outbox.insert(place, mid);
    Ok(())
}

fn mid(row: &Row, index: usize) -> Result<Mid, Fault> {
    let wrong = || Fault::Corrupt("a message id cannot be read".into());
    let name = unescaped(row.try_get(index)?).ok_or_else(wrong)?;
    Ok(Mid::parse(&name))
}

fn number(row: &Row, index: usize) -> Result<u64, Fault> {
    let number: i64 = row.try_get(index)?;
    u64::try_from(number).map_err(|_| Fault::Corrupt(format!("{number} is not a place or length")))
}
