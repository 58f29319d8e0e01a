//! A store behind a committer, which commits for all sides.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accp_session::{Batch, Entry, Stored};
use accp_store::{
    Committer, Erasure, Freed, Kept, OpenSide, Retention, SideId, Store, StoreError,
    StoreErrorKind, Summary,
};

/// A store whose calls all go through a committer. Each call waits for the answer of the committer, so that a seed
/// always gives the same run.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    committer: Committer,
    /// For each side, the handle from the last time that the side was opened.
    open: Arc<Mutex<BTreeMap<SideId, OpenSide>>>,
}

impl Queue {
    /// The committer has no thread of its own, because the way to a thread and back takes longer than all else here.
    pub(super) fn new(store: impl Store + Send + 'static) -> Self {
        Self {
            committer: Committer::inline(store),
            open: Arc::default(),
        }
    }

    fn ask<A: Send + 'static>(
        &self,
        side: &SideId,
        ask: impl FnOnce(&mut dyn Store, &SideId) -> Result<A, StoreError> + Send + 'static,
    ) -> Result<A, StoreError> {
        let side = side.clone();
        self.committer.ask(move |store| ask(store, &side)).wait()
    }

    fn opened(&self) -> MutexGuard<'_, BTreeMap<SideId, OpenSide>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Queue {
    fn commit(&mut self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError> {
        let open = self.opened();
        let submit = |(side, batch): &(&SideId, &Batch)| match open.get(*side) {
            Some(open) => Ok(open.commit(Box::new((*batch).clone()))),
            None => Err(StoreError::new(StoreErrorKind::Conflict, "it is not open")),
        };
        let pending: Vec<_> = group.iter().map(submit).collect::<Result<_, _>>()?;
        pending
            .into_iter()
            .try_for_each(|batch| batch.wait().map(drop))
    }

    fn load(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        let (open, stored) = self.committer.open(side).wait()?;
        self.opened().insert(side.clone(), open);
        Ok(stored)
    }

    fn entries(
        &mut self,
        side: &SideId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        if let Some(open) = self.opened().get(side) {
            return open.entries(from, limit).wait();
        }
        self.ask(side, move |store, side| store.entries(side, from, limit))
    }

    fn entry(&mut self, side: &SideId, position: u64) -> Result<Option<Entry>, StoreError> {
        if let Some(open) = self.opened().get(side) {
            return open.entry(position).wait();
        }
        self.ask(side, move |store, side| store.entry(side, position))
    }

    fn cold(&mut self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError> {
        if let Some(open) = self.opened().get(side) {
            return open.cold(key).wait();
        }
        let key = key.to_owned();
        self.ask(side, move |store, side| store.cold(side, &key))
    }

    fn cold_keys(&mut self, side: &SideId) -> Result<Vec<String>, StoreError> {
        self.ask(side, |store, side| store.cold_keys(side))
    }

    fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        let list = |store: &mut dyn Store| store.list();
        self.committer.ask(list).wait()
    }

    fn sides(&mut self, session: &str) -> Result<Vec<Summary>, StoreError> {
        let session = session.to_owned();
        self.committer
            .ask(move |store| store.sides(&session))
            .wait()
    }

    fn summary(&mut self, side: &SideId) -> Result<Option<Summary>, StoreError> {
        self.ask(side, |store, side| store.summary(side))
    }

    fn delete(&mut self, side: &SideId) -> Result<bool, StoreError> {
        self.ask(side, |store, side| store.delete(side))
    }

    fn retain(&mut self, side: &SideId, retention: Retention) -> Result<Freed, StoreError> {
        self.ask(side, move |store, side| store.retain(side, retention))
    }

    fn erase(&mut self, group: &[(&SideId, &Erasure)]) -> Result<Freed, StoreError> {
        let Some((side, _)) = group.first() else {
            return Ok(Freed::default());
        };
        let all: Vec<_> = group
            .iter()
            .map(|(side, erasure)| (SideId::clone(side), Erasure::clone(erasure)))
            .collect();
        self.ask(side, move |store, _| {
            let group: Vec<_> = all.iter().map(|(side, erasure)| (side, erasure)).collect();
            store.erase(&group)
        })
    }

    fn verify(&mut self, side: &SideId) -> Result<(), StoreError> {
        self.ask(side, |store, side| store.verify(side))
    }
}
