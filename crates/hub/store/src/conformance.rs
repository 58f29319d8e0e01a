//! The tests that every [`Store`] has to pass.
//!
//! [`run`] makes up scripts of commits, reopenings, retention, erasures and deletion. The store plays each script, and
//! after every step [`run`] compares everything in the store with a plain model. The scripts also contain batches that
//! a store must refuse.
//!
//! ```
//! use accp_store::{MemoryStore, conformance};
//!
//! // A store in memory loses nothing while it lives, so reopening it does nothing.
//! conformance::run(16, MemoryStore::new, |store| store);
//! ```

mod check;
mod committed;
mod model;
mod script;

use std::cell::RefCell;
use std::time::Duration;

use proptest::test_runner::TestCaseError;

use crate::error::StoreErrorKind;
use crate::side::SideId;
use crate::store::{Freed, Lease, Retention, Store};
use check::{compare, fail, good, play_all, same};
use model::Model;
use script::{Action, Script};

pub use committed::run_committed;

/// Plays `cases` scripts. `fresh` makes a store without sides. `reopen` closes a store and opens it
/// again.
///
/// # Panics
/// When the store is at fault. The message holds the shortest script found that shows the fault.
pub fn run<S: Store>(cases: u32, fresh: impl FnMut() -> S, reopen: impl FnMut(S) -> S) {
    let (fresh, reopen) = (RefCell::new(fresh), RefCell::new(reopen));
    play_all(cases, |script| {
        let store = (fresh.borrow_mut())();
        play(&script, store, &mut *reopen.borrow_mut())
    });
}

fn play<S: Store>(
    script: &Script,
    mut store: S,
    reopen: &mut impl FnMut(S) -> S,
) -> Result<(), TestCaseError> {
    let mut model = Model::default();
    for step in &script.steps {
        match step {
            Action::Commit(plans) => commit(plans, &mut store, &mut model)?,
            Action::Reopen => {
                store = reopen(store);
                for side in script::sides() {
                    same("open", &good(store.open(&side))?, &model.load(&side))?;
                    let lease = store.lease(&side, "suite", Duration::from_secs(60));
                    same("lease", &good(lease)?, &Lease::Held)?;
                    let sides = std::slice::from_ref(&side);
                    let lost = store.renew(sides, "suite", Duration::from_secs(60));
                    same("renew", &good(lost)?, &Vec::new())?;
                    good(store.release(sides, "suite"))?;
                }
            }
            Action::Retain { side, log_before } => {
                let retention = Retention {
                    log_before: *log_before,
                };
                let freed = good(store.retain(side, retention))?;
                same("retain", &freed, &model.retain(side, retention))?;
            }
            Action::Erase(plans) => erase(plans, &mut store, &mut model)?,
            Action::Delete(side) => {
                let deleted = good(store.delete(side))?;
                same("delete", &deleted, &model.delete(side))?;
            }
        }
        compare(&mut store, &model, script.window)?;
    }
    Ok(())
}

/// Erases from a group of sides. The erasure must fail as a whole when the model refuses one of them.
fn erase(
    plans: &[(SideId, script::Unwanted)],
    store: &mut (impl Store + ?Sized),
    model: &mut Model,
) -> Result<(), TestCaseError> {
    let mut after = model.clone();
    let mut at_fault = None;
    let mut freed = Freed::default();
    let mut erasures = Vec::new();
    for (side, plan) in plans {
        let erasure = plan.to_erasure(&after, side);
        match after.erase(side, &erasure) {
            Some(one) => {
                freed.entries += one.entries;
                freed.bytes += one.bytes;
            }
            None => at_fault = at_fault.or(Some(side)),
        }
        erasures.push((side, erasure));
    }
    let group: Vec<_> = erasures
        .iter()
        .map(|(side, erasure)| (*side, erasure))
        .collect();
    match (store.erase(&group), at_fault) {
        (Ok(found), None) => {
            *model = after;
            same("erase", &found, &freed)
        }
        (Err(error), Some(side)) => {
            same("kind of error", &error.kind(), &StoreErrorKind::Conflict)?;
            same("side at fault", &error.side(), &Some(side))
        }
        (Ok(_), Some(side)) => Err(fail(format!(
            "what may not be erased from `{side}` was erased: {group:?}"
        ))),
        (Err(error), None) => Err(fail(format!("{error:?} for {group:?}"))),
    }
}

/// Commits a group. The commit must fail as a whole when the model finds a conflict in the group.
fn commit(
    plans: &[(SideId, script::BatchPlan)],
    store: &mut impl Store,
    model: &mut Model,
) -> Result<(), TestCaseError> {
    let mut after = model.clone();
    let mut at_fault = None;
    let mut batches = Vec::new();
    for (side, plan) in plans {
        let batch = plan.to_batch(&after, side);
        if at_fault.is_none() && !after.apply(side, &batch) {
            at_fault = Some(side);
        }
        batches.push((side, batch));
    }
    let group: Vec<_> = batches.iter().map(|(side, batch)| (*side, batch)).collect();
    match (store.commit(&group), at_fault) {
        (Ok(()), None) => {
            *model = after;
            Ok(())
        }
        (Err(error), Some(side)) => {
            same("kind of error", &error.kind(), &StoreErrorKind::Conflict)?;
            same("side at fault", &error.side(), &Some(side))
        }
        (Ok(()), Some(side)) => Err(fail(format!(
            "a batch of `{side}` does not fit and was committed: {group:?}"
        ))),
        (Err(error), None) => Err(fail(format!("{error:?} for {group:?}"))),
    }
}
