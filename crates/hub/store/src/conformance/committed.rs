//! The suite for a store behind a committer. The committer must show the same behaviour as the store alone.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;

use proptest::test_runner::TestCaseError;

use super::check::{compare, fail, good, play_all, same};
use super::model::Model;
use super::script::{self, Action, Script};
use crate::committer::{Committer, OpenSide};
use crate::error::StoreErrorKind;
use crate::side::SideId;
use crate::store::{Retention, Store};

/// Plays `cases` scripts through a [`Committer`]. A group that is committed together must leave the
/// same data as its batches committed one by one. Only a batch that does not fit may be refused,
/// with the later batches of its side.
///
/// # Panics
/// When the store or the committer is at fault. The message holds the shortest script found that
/// shows the fault.
pub fn run_committed<S: Store + Send + 'static>(cases: u32, fresh: impl FnMut() -> S) {
    let fresh = RefCell::new(fresh);
    play_all(cases, |script| {
        let store = (fresh.borrow_mut())();
        play(&script, store)
    });
}

struct Players {
    committer: Committer,
    sides: BTreeMap<SideId, OpenSide>,
}

fn play<S: Store + Send + 'static>(script: &Script, store: S) -> Result<(), TestCaseError> {
    let mut players = Players {
        committer: good(Committer::new(store))?,
        sides: BTreeMap::new(),
    };
    for side in script::sides() {
        players.open(&side)?;
    }
    let mut model = Model::default();
    for step in &script.steps {
        match step {
            Action::Commit(plans) => players.commit(plans, &mut model)?,
            Action::Reopen => {
                for side in script::sides() {
                    players.open(&side)?;
                }
            }
            Action::Retain { side, log_before } => {
                let retention = Retention {
                    log_before: *log_before,
                };
                let kept = side.clone();
                let freed = players
                    .committer
                    .ask(move |store| store.retain(&kept, retention));
                same(
                    "retain",
                    &good(freed.wait())?,
                    &model.retain(side, retention),
                )?;
            }
            Action::Erase(plans) => {
                let (plans, mut after) = (plans.clone(), model.clone());
                let erased = players.committer.ask(move |store| {
                    let erased = super::erase(&plans, store, &mut after);
                    Ok(erased.map(|()| after))
                });
                model = good(erased.wait())??;
            }
            Action::Delete(side) => {
                let kept = side.clone();
                let deleted = players.committer.ask(move |store| store.delete(&kept));
                same("delete", &good(deleted.wait())?, &model.delete(side))?;
            }
        }
        let (expected, window) = (model.clone(), script.window);
        let compared = players
            .committer
            .ask(move |store| Ok(compare(store, &expected, window)));
        good(compared.wait())??;
    }
    Ok(())
}

impl Players {
    fn open(&mut self, side: &SideId) -> Result<(), TestCaseError> {
        let (open, _) = good(self.committer.open(side).wait())?;
        self.sides.insert(side.clone(), open);
        Ok(())
    }

    /// Submits batches while the committer is held up, so that they make one group.
    fn commit(
        &mut self,
        plans: &[(SideId, script::BatchPlan)],
        model: &mut Model,
    ) -> Result<(), TestCaseError> {
        let (go, wait) = mpsc::channel::<()>();
        let (begins, begun) = mpsc::channel();
        let held_up = self.committer.ask(move |_| {
            drop(begins);
            Ok(wait.recv().is_err())
        });
        let begun: Result<(), _> = begun.recv();
        same("the committer is held up", &begun.is_err(), &true)?;
        let mut submitted = Vec::new();
        let mut failed = BTreeSet::new();
        for (side, plan) in plans {
            let batch = plan.to_batch(model, side);
            let mut after = model.clone();
            let fits = !failed.contains(side) && after.apply(side, &batch);
            if fits {
                *model = after;
            } else {
                failed.insert(side);
            }
            let open = self.sides.get(side);
            let open = open.ok_or_else(|| fail(format!("`{side}` was not opened")))?;
            submitted.push((side, fits, open.commit(Box::new(batch))));
        }
        drop(go);
        good(held_up.wait())?;
        for (side, fits, pending) in submitted {
            match (pending.wait(), fits) {
                (Ok(_), true) => {}
                (Err(error), false) => {
                    same("kind of error", &error.kind(), &StoreErrorKind::Conflict)?;
                    same("side at fault", &error.side(), &Some(side))?;
                }
                (found, _) => {
                    let found = found.map(drop);
                    return Err(fail(format!("`{side}`: {found:?}, and it fits: {fits}")));
                }
            }
        }
        for side in failed {
            self.open(side)?;
        }
        Ok(())
    }
}
