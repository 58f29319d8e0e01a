//! A committer without a thread, for a store that never blocks: the thread that submits a job does the job.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, TryLockError};

use super::worker::{Job, Worker};

/// A worker without a thread of its own.
pub(super) struct Inline<T: ?Sized> {
    worker: Mutex<Worker<T>>,
    /// The waiting jobs, in order. The code that gets the answer to a job may submit another job.
    jobs: Mutex<VecDeque<Job<T>>>,
}

impl<T: ?Sized> Inline<T> {
    pub(super) fn new(worker: Worker<T>) -> Self {
        Self {
            worker: Mutex::new(worker),
            jobs: Mutex::default(),
        }
    }

    /// Does a job, or leaves it to the thread that does jobs now.
    pub(super) fn submit(&self, job: Job<T>) {
        self.jobs().push_back(job);
        // The thread that holds the worker looks for jobs again after it has released the worker, so no job is left
        // behind.
        while !self.jobs().is_empty() {
            let mut worker = match self.worker.try_lock() {
                Ok(worker) => worker,
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
                worker.work(job);
            }
        }
    }

    fn jobs(&self) -> std::sync::MutexGuard<'_, VecDeque<Job<T>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
