//! Writes to the database. Each is one transaction that begins with the lock of its sides.

use std::collections::{BTreeMap, BTreeSet};

use accp_session::Mid;
use tokio_postgres::Row;

use super::fault::Fault;
use super::fence::{self, Fences};
use super::gather::gather;
use super::link::{FlightStep, Link};
use super::read::first;
use super::rows::PostgresRows;
use super::touched::{SIDE_NAME, check, check_name};
use super::{erase, retain, schema, write};
use crate::changes::{Changes, SideRow};
use crate::error::StoreError;
use crate::rows::Write;
use crate::side::SideId;
use crate::store::{Erasure, Freed, Retention};

/// With this isolation, whatever the default of the database, each statement after the lock sees everything
/// that was committed before the lock was taken.
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// A fault, and the side at fault.
#[derive(Debug)]
pub(super) enum Failure {
    Fault(Fault, Option<SideId>),
    /// Another process has opened the side since.
    Lost(StoreError),
}

impl<F: Into<Fault>> From<F> for Failure {
    fn from(fault: F) -> Self {
        Self::Fault(fault.into(), None)
    }
}

impl Failure {
    fn of(side: &SideId) -> impl Fn(Fault) -> Self + '_ {
        |fault| Self::Fault(fault, Some(side.clone()))
    }
}

/// The parts of the store that a write needs.
pub(super) struct Writer<'s> {
    pub rows: &'s mut PostgresRows,
    pub fences: &'s mut Fences,
    /// The name of the store.
    pub name: &'s str,
}

impl Writer<'_> {
    fn link(&mut self) -> &mut Link {
        self.rows.link()
    }

    /// Rolls back a transaction that has failed, if the connection can still be used.
    fn roll_back<T>(&mut self, failed: Failure) -> Result<T, Failure> {
        let is_final = matches!(&failed, Failure::Fault(fault, _) if fault.is_final());
        if !is_final {
            self.link().flight(&[FlightStep::Plain("ROLLBACK")])?;
        }
        Err(failed)
    }

    /// Commits a group.
    pub(super) fn commit(&mut self, group: &mut [Write<'_, PostgresRows>]) -> Result<(), Failure> {
        let writes = group
            .iter()
            .filter(|one| one.batch.is_durable() || one.rows.is_some());
        let batches: Vec<_> = writes.map(|one| (one.side, one.batch)).collect();
        let sides: Vec<&SideId> = batches.iter().map(|(side, _)| *side).collect();
        let (steps, readers) = gather(&batches);
        let (opened, rows) = self.lock(&sides, Fences::lock, steps)?;
        let written = readers
            .read(&rows)
            .map_err(Failure::from)
            .and_then(|mut touched| {
                let mut by_side: BTreeMap<&SideId, Changes<'_>> = BTreeMap::new();
                for &(side, batch) in batches.iter().filter(|(_, batch)| batch.is_durable()) {
                    let rows = touched.entry(side.clone()).or_default();
                    let changes = by_side.entry(side).or_insert_with(|| {
                        let row = rows.side.take();
                        Changes::new(row.unwrap_or_else(|| SideRow::new(side, batch.host)))
                    });
                    let applied = changes.apply(rows, batch);
                    applied.map_err(Failure::of(side))?;
                }
                for (side, changes) in &mut by_side {
                    check(changes).map_err(Failure::of(side))?;
                    let outbox = touched.get(side).map(|rows| &rows.outbox);
                    let kept =
                        |mid: &Mid| outbox.is_some_and(|kept| kept.values().any(|one| one == mid));
                    changes.removed.retain(|mid| kept(mid));
                }
                let mut steps = write::steps(&by_side)?;
                if group.iter().all(|one| one.rows.is_none()) {
                    steps.push(FlightStep::Plain("COMMIT"));
                    return Ok(self.rows.link().flight(&steps).map(drop)?);
                }
                self.rows.link().flight(&steps)?;
                for one in group.iter_mut() {
                    if let Some(rows) = &mut one.rows {
                        self.rows.write(*rows).map_err(Failure::of(one.side))?;
                    }
                }
                Ok(self
                    .rows
                    .link()
                    .flight(&[FlightStep::Plain("COMMIT")])
                    .map(drop)?)
            });
        match written {
            Ok(()) => {
                self.fences.hold(opened);
                Ok(())
            }
            Err(failed) => self.roll_back(failed),
        }
    }

    /// Deletes a side, and returns whether there was one.
    pub(super) fn delete(&mut self, side: &SideId) -> Result<bool, Failure> {
        let (opened, _) = self.lock(&[side], Fences::lock, Vec::new())?;
        let mut steps: Vec<_> = schema::DELETE
            .iter()
            .map(|sql| FlightStep::Query(sql, fence::name(side)))
            .collect();
        steps.push(FlightStep::Plain("COMMIT"));
        match self.link().flight(&steps) {
            Ok(rows) => {
                self.fences.hold(opened);
                Ok(first(&rows, schema::DELETE.len() - 1).is_some())
            }
            Err(fault) => self.roll_back(fault.into()),
        }
    }

    /// Deletes data that is not needed any longer, piece by piece.
    pub(super) fn retain(&mut self, side: &SideId, keep: Retention) -> Result<Freed, Failure> {
        let mut freed = Freed::default();
        loop {
            // Retention deletes only what no process needs, so a store that has not opened the side may do it.
            let (_, rows) = self.lock(
                &[side],
                |_, sides| Fences::lock_only(sides),
                retain::steps(side).into(),
            )?;
            match retain::delete(self.link(), side, &rows, keep) {
                Ok((piece, more)) => {
                    freed.entries += piece.entries;
                    freed.bytes += piece.bytes;
                    if !more {
                        return Ok(freed);
                    }
                }
                Err(fault) => return self.roll_back(fault.into()),
            }
        }
    }

    /// Erases from sides. If this store has not opened a side, the erasure opens it, so that a process that runs the
    /// side loses it: the memory of that process still holds the erased data.
    pub(super) fn erase(&mut self, group: &[(&SideId, &Erasure)]) -> Result<Freed, Failure> {
        let sides: Vec<&SideId> = group.iter().map(|(side, _)| *side).collect();
        let (opened, _) = self.lock(&sides, Fences::lock, Vec::new())?;
        let mut freed = Freed::default();
        for &(side, erasure) in group {
            match erase::side(self.link(), side, erasure) {
                Ok(one) => {
                    freed.entries += one.entries;
                    freed.bytes += one.bytes;
                }
                Err(fault) => return self.roll_back(Failure::of(side)(fault)),
            }
        }
        match self.link().flight(&[FlightStep::Plain("COMMIT")]) {
            Ok(_) => {
                self.fences.hold(opened);
                Ok(freed)
            }
            Err(fault) => self.roll_back(fault.into()),
        }
    }

    /// Begins a transaction, locks the sides with the step `lock`, and then runs the steps `more`. Returns the new
    /// fences of the sides that the lock has opened, and the rows of the steps `more`.
    fn lock(
        &mut self,
        order: &[&SideId],
        lock: fn(&Fences, &BTreeSet<&SideId>) -> FlightStep<'static>,
        more: Vec<FlightStep<'_>>,
    ) -> Locked {
        for side in order {
            check_side(side)?;
        }
        let objection = |fences: &Fences, name| fences.objection(order.iter().copied(), name);
        if let Some(lost) = objection(self.fences, self.name) {
            return Err(Failure::Lost(lost));
        }
        let sides: BTreeSet<&SideId> = order.iter().copied().collect();
        let mut steps = vec![FlightStep::Plain(BEGIN), lock(self.fences, &sides)];
        steps.extend(more);
        let mut rows = match self.link().flight(&steps) {
            Ok(rows) => rows,
            Err(fault) => return self.roll_back(fault.into()),
        };
        let opened = match self.fences.compare(&sides, &rows[1]) {
            Ok(opened) => opened,
            Err(fault) => return self.roll_back(fault.into()),
        };
        if let Some(lost) = objection(self.fences, self.name) {
            return self.roll_back(Failure::Lost(lost));
        }
        Ok((opened, rows.split_off(2)))
    }
}

/// The fences of the sides that the lock has opened, and the rows of the steps after the lock.
type Locked = Result<(BTreeMap<SideId, i64>, Vec<Vec<Row>>), Failure>;

/// Checks that the names of a side fit into an index.
pub(super) fn check_side(side: &SideId) -> Result<(), Failure> {
    for name in [side.session(), side.agent()] {
        check_name(name, SIDE_NAME).map_err(Failure::of(side))?;
    }
    Ok(())
}
