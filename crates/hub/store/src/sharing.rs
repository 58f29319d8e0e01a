//! One store for several drivers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use accp_session::{Batch, Entry, Stored};

use crate::error::{StoreError, StoreErrorKind};
use crate::rows::{Transactional, Write};
use crate::search::Match;
use crate::side::SideId;
use crate::store::{Erasure, Freed, Kept, Lease, Retention, Store, Summary};

/// Implements [`Store`] for a pointer to a store.
macro_rules! forward {
    ($self:ident => $store:expr) => {
        fn commit(&mut $self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError> {
            $store.commit(group)
        }

        fn load(&mut $self, side: &SideId) -> Result<Option<Stored>, StoreError> {
            $store.load(side)
        }

        fn open(&mut $self, side: &SideId) -> Result<Option<Stored>, StoreError> {
            $store.open(side)
        }

        fn lease(
            &mut $self,
            side: &SideId,
            holder: &str,
            time: Duration,
        ) -> Result<Lease, StoreError> {
            $store.lease(side, holder, time)
        }

        fn renew(
            &mut $self,
            sides: &[SideId],
            holder: &str,
            time: Duration,
        ) -> Result<Vec<SideId>, StoreError> {
            $store.renew(sides, holder, time)
        }

        fn release(&mut $self, sides: &[SideId], holder: &str) -> Result<(), StoreError> {
            $store.release(sides, holder)
        }

        fn entries(
            &mut $self,
            side: &SideId,
            from: u64,
            limit: usize,
        ) -> Result<Vec<Entry>, StoreError> {
            $store.entries(side, from, limit)
        }

        fn entry(&mut $self, side: &SideId, position: u64) -> Result<Option<Entry>, StoreError> {
            $store.entry(side, position)
        }

        fn search(
            &mut $self,
            side: &SideId,
            words: &str,
            limit: usize,
        ) -> Result<Vec<Match>, StoreError> {
            $store.search(side, words, limit)
        }

        fn cold(&mut $self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError> {
            $store.cold(side, key)
        }

        fn cold_keys(&mut $self, side: &SideId) -> Result<Vec<String>, StoreError> {
            $store.cold_keys(side)
        }

        fn list(&mut $self) -> Result<Vec<Summary>, StoreError> {
            $store.list()
        }

        fn survey(&mut $self) -> Result<Vec<Result<Summary, StoreError>>, StoreError> {
            $store.survey()
        }

        fn sides(&mut $self, session: &str) -> Result<Vec<Summary>, StoreError> {
            $store.sides(session)
        }

        fn summary(&mut $self, side: &SideId) -> Result<Option<Summary>, StoreError> {
            $store.summary(side)
        }

        fn delete(&mut $self, side: &SideId) -> Result<bool, StoreError> {
            $store.delete(side)
        }

        fn retain(&mut $self, side: &SideId, retention: Retention) -> Result<Freed, StoreError> {
            $store.retain(side, retention)
        }

        fn erase(&mut $self, group: &[(&SideId, &Erasure)]) -> Result<Freed, StoreError> {
            $store.erase(group)
        }

        fn verify(&mut $self, side: &SideId) -> Result<(), StoreError> {
            $store.verify(side)
        }

        fn probe(&mut $self) -> Result<(), StoreError> {
            $store.probe()
        }
    };
}

impl<S: Store + ?Sized> Store for &mut S {
    forward!(self => (**self));
}

impl<S: Store + ?Sized> Store for Box<S> {
    forward!(self => (**self));
}

/// Lets several drivers share a store. A call waits until the calls of the other drivers are done.
impl<S: Store + ?Sized> Store for Arc<Mutex<S>> {
    forward!(self => self.lock().map_err(|_| poisoned())?);
}

/// Implements [`Transactional`] for a pointer to a store.
macro_rules! forward_rows {
    ($self:ident => $store:expr) => {
        type Transaction = S::Transaction;

        fn commit_with(
            &mut $self,
            group: &mut [Write<'_, S::Transaction>],
        ) -> Result<(), StoreError> {
            $store.commit_with(group)
        }
    };
}

impl<S: Transactional + ?Sized> Transactional for &mut S {
    forward_rows!(self => (**self));
}

impl<S: Transactional + ?Sized> Transactional for Box<S> {
    forward_rows!(self => (**self));
}

impl<S: Transactional + ?Sized> Transactional for Arc<Mutex<S>> {
    forward_rows!(self => self.lock().map_err(|_| poisoned())?);
}

fn poisoned() -> StoreError {
    let text = "another thread panicked while it used the store: open the store anew";
    StoreError::new(StoreErrorKind::Io, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;
    use crate::memory::MemoryStore;

    #[test]
    fn a_store_behind_a_pointer_keeps_the_contract() {
        let new = MemoryStore::new;
        conformance::run(32, || Arc::new(Mutex::new(new())), |store| store);
        conformance::run(32, || Box::new(new()), |store| store);
        conformance::run(32, || Box::leak(Box::new(new())), |store| store);
    }
}
