//! A store that never blocks: jobs are done by the thread that submits them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, TryLockError};

use super::keeper::{Job, Keeper};

/// A keeper without a thread of its own.
pub(super) struct Here<T: ?Sized> {
    keeper: Mutex<Keeper<T>>,
    /// Jobs in their order. The answer to a job may submit another one.
    jobs: Mutex<VecDeque<Job<T>>>,
}

impl<T: ?Sized> Here<T> {
    pub(super) fn new(keeper: Keeper<T>) -> Self {
        Self {
            keeper: Mutex::new(keeper),
            jobs: Mutex::default(),
        }
    }

    /// Does a job, or leaves it to the thread that does jobs now.
    pub(super) fn submit(&self, job: Job<T>) {
        self.jobs().push_back(job);
        // Who has the keeper looks for jobs again after it has let go, so none is left behind.
        while !self.jobs().is_empty() {
            let mut keeper = match self.keeper.try_lock() {
                Ok(keeper) => keeper,
                Err(TryLockError::WouldBlock) => return,
                // The store has panicked. Jobs that are dropped answer with an error.
                Err(TryLockError::Poisoned(_)) => {
                    let jobs = std::mem::take(&mut *self.jobs());
                    drop(jobs);
                    return;
                }
            };
            loop {
                let next = self.jobs().pop_front();
                let Some(job) = next else { break };
                keeper.work(job);
            }
        }
    }

    fn jobs(&self) -> std::sync::MutexGuard<'_, VecDeque<Job<T>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
