//! The second round trip of a commit: it writes the rows that a group has changed.

use std::collections::BTreeMap;

use accp_session::Entry;

use super::fault::Fault;
use super::fence;
use super::gather::name;
use super::link::{FlightStep, Param};
use super::row::Rows;
use super::schema::{COLD, FRAME, INBOX, LOG, OUTBOX, REGISTRY, SIDE, SNAPSHOT};
use super::text::escaped;
use crate::changes::{Changes, SideRow};
use crate::side::SideId;
use crate::table::{Cell, LOG as LOG_CELLS, MidCell, integer, log_cells, text};

const LOGS: &str = "INSERT INTO accp_log SELECT * FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
        $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bytea[], $13::bigint[])";

pub(super) const MARKS: &str = "UPDATE accp_log l SET due = u.due, crc = u.crc FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
        $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bytea[], $13::bigint[])
        u (session, agent, position, at, kind, sender, mid, sequence, tokens, cut, due, hash, crc)
    WHERE l.session = u.session AND l.agent = u.agent AND l.position = u.position";

const FRAMES: &str = "INSERT INTO accp_frame SELECT * FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[])";

pub(super) const KEYS: &str = "INSERT INTO accp_cold SELECT * FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[])
    ON CONFLICT (session, agent, key) DO UPDATE SET state = excluded.state, crc = excluded.crc";

const BYTES: &str = "INSERT INTO accp_blob VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";

const UNSENT: &str = "DELETE FROM accp_outbox o USING unnest($1::text[], $2::text[], $3::text[]) u (session, agent, mid)
    WHERE o.session = u.session AND o.agent = u.agent AND o.mid = u.mid";

const OUTGOING: &str = "INSERT INTO accp_outbox SELECT * FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[])";

const INBOXES: &str = "INSERT INTO accp_inbox SELECT * FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[])
    ON CONFLICT (session, agent, member) DO UPDATE SET text = excluded.text, crc = excluded.crc";

const NO_INBOX: &str =
    "DELETE FROM accp_inbox WHERE session = $1 AND agent = $2 AND member = ANY($3)";

const REGISTRIES: &str = "INSERT INTO accp_registry SELECT * FROM unnest(
        $1::text[], $2::text[], $3::bytea[], $4::text[], $5::bigint[])
    ON CONFLICT DO NOTHING";

pub(super) const SNAPSHOTS: &str = "INSERT INTO accp_snapshot SELECT * FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[])
    ON CONFLICT (session, agent) DO UPDATE
    SET position = excluded.position, text = excluded.text, crc = excluded.crc";

const SIDES: &str = "INSERT INTO accp_side SELECT * FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
        $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
        $13::bigint[], $14::bytea[], $15::bytea[], $16::bytea[], $17::bigint[])
    ON CONFLICT (session, agent) DO UPDATE SET
        last = excluded.last, first = excluded.first, covered = excluded.covered, entries =
        excluded.entries, bytes = excluded.bytes, due = excluded.due, at = excluded.at, epoch =
        excluded.epoch, outbox_sequence = excluded.outbox_sequence, last_put = excluded.last_put,
        identity = excluded.identity, secret = excluded.secret, proof = excluded.proof, crc =
        excluded.crc";

/// Returns the steps that write what has changed. The caller commits.
pub(super) fn steps<'c>(
    changed: &'c BTreeMap<&SideId, Changes<'c>>,
) -> Result<Vec<FlightStep<'c>>, Fault> {
    let mut logs = Rows::new(LOGS, &LOG);
    let mut marks = Rows::new(MARKS, &LOG);
    let mut frames = Rows::new(FRAMES, &FRAME);
    let mut keys = Rows::new(KEYS, &COLD);
    let mut outgoing = Rows::new(OUTGOING, &OUTBOX);
    let mut inboxes = Rows::new(INBOXES, &INBOX);
    let mut registries = Rows::new(REGISTRIES, &REGISTRY);
    let mut snapshots = Rows::new(SNAPSHOTS, &SNAPSHOT);
    let mut sides = Rows::new(SIDES, &SIDE);
    let mut gone: [Vec<String>; 3] = Default::default();
    let mut steps = Vec::new();
    for (&id, changes) in changed {
        let (session, agent) = (text(id.session()), text(id.agent()));
        for entry in changes.entries.values() {
            push_log(&mut logs, id, entry)?;
            let position = integer(entry.position)?;
            frames.push(&[session, agent, position, text(&entry.text)]);
        }
        for entry in changes.marked.values() {
            push_log(&mut marks, id, entry)?;
        }
        for (name, key) in &changes.keys {
            let [digest, length, state] = key.cells()?;
            keys.push(&[session, agent, text(name), digest, length, state]);
        }
        for (digest, bytes) in &changes.bytes {
            let mut params = fence::name(id);
            params.push(Box::new(&digest.as_bytes()[..]));
            params.push(Box::new(&***bytes));
            steps.push(FlightStep::Query(BYTES, params));
        }
        for mid in &changes.removed {
            let row = [
                escaped(id.session()).into_owned(),
                escaped(id.agent()).into_owned(),
                name(mid),
            ];
            for (column, one) in gone.iter_mut().zip(row) {
                column.push(one);
            }
        }
        for (place, frame) in &changes.outgoing {
            let mid = MidCell::new(&frame.mid);
            let (head, tail) = (text(&frame.head), text(&frame.tail));
            outgoing.push(&[session, agent, integer(*place)?, mid.cell(), head, tail]);
        }
        let mut removed: Vec<i16> = Vec::new();
        for (member, kept) in &changes.inboxes {
            if kept.is_empty() {
                removed.push(member.number() as i16); // at most 9999
            } else {
                inboxes.push(&[
                    session,
                    agent,
                    Cell::Integer(member.number().into()),
                    text(kept),
                ]);
            }
        }
        if !removed.is_empty() {
            let mut params = fence::name(id);
            params.push(Box::new(removed));
            steps.push(FlightStep::Query(NO_INBOX, params));
        }
        for (digest, json) in &changes.registries {
            let digest = Cell::Bytes(digest.as_bytes());
            registries.push(&[session, agent, digest, text(json)]);
        }
        if let Some(snapshot) = &changes.snapshot {
            let position = integer(snapshot.position)?;
            snapshots.push(&[session, agent, position, text(&snapshot.text)]);
        }
        changes.row.cells(|cells| {
            sides.push(&cells);
            Ok::<_, Fault>(())
        })?;
    }
    let [sessions, agents, mids] = gone;
    if !mids.is_empty() {
        let params: Vec<Param<'_>> = vec![Box::new(sessions), Box::new(agents), Box::new(mids)];
        steps.push(FlightStep::Query(UNSENT, params));
    }
    for rows in [
        logs, frames, marks, keys, outgoing, inboxes, registries, snapshots, sides,
    ] {
        rows.into_steps(&mut steps);
    }
    Ok(steps)
}

/// Returns the step that writes the row of a side.
pub(super) fn side_step(side: &SideRow) -> Result<Vec<FlightStep<'static>>, Fault> {
    let (mut rows, mut steps) = (Rows::new(SIDES, &SIDE), Vec::new());
    side.cells(|cells| {
        rows.push(&cells);
        Ok::<_, Fault>(())
    })?;
    rows.into_steps(&mut steps);
    Ok(steps)
}

pub(super) fn push_log(rows: &mut Rows, id: &SideId, entry: &Entry) -> Result<(), Fault> {
    let mid = MidCell::new(&entry.mid);
    let mut cells = [Cell::Null; 2 + LOG_CELLS];
    cells[..2].copy_from_slice(&[text(id.session()), text(id.agent())]);
    cells[2..].copy_from_slice(&log_cells(entry, &mid)?);
    rows.push(&cells);
    Ok(())
}
