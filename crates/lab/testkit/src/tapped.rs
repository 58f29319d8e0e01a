//! A store whose commits go through a closure.

use accp_session::{Batch, Entry, Stored};
use accp_store::{Erasure, Freed, Kept, Match, Retention, SideId, Store, StoreError, Summary};

/// Batches that are committed together.
type Group<'g> = [(&'g SideId, &'g Batch)];

/// Commits a group in place of the store, or refuses it.
type Commit<S> = dyn FnMut(&mut S, &Group<'_>) -> Result<(), StoreError> + Send;

/// Refuses a read of entries or of a value, or lets it pass.
type Look = dyn FnMut() -> Result<(), StoreError> + Send;

/// A store whose commits go through a closure, which can inspect a batch, lose it, or commit
/// another in its place. All other calls go to the store itself.
pub struct Tapped<S> {
    store: S,
    commit: Box<Commit<S>>,
    look: Box<Look>,
}

impl<S> Tapped<S> {
    /// Puts a closure before a store.
    pub fn new(
        store: S,
        commit: impl FnMut(&mut S, &Group<'_>) -> Result<(), StoreError> + Send + 'static,
    ) -> Self {
        Self {
            store,
            commit: Box::new(commit),
            look: Box::new(|| Ok(())),
        }
    }

    /// Calls a closure before each read of entries or of a value. If the closure fails, the read fails.
    #[must_use]
    pub fn reading(
        mut self,
        look: impl FnMut() -> Result<(), StoreError> + Send + 'static,
    ) -> Self {
        self.look = Box::new(look);
        self
    }
}

impl<S> Tapped<S> {
    /// Returns the store itself.
    pub fn inner_mut(&mut self) -> &mut S {
        &mut self.store
    }
}

impl<S: Store> Store for Tapped<S> {
    fn commit(&mut self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError> {
        (self.commit)(&mut self.store, group)
    }

    fn load(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        self.store.load(side)
    }

    fn entries(
        &mut self,
        side: &SideId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        (self.look)()?;
        self.store.entries(side, from, limit)
    }

    fn entry(&mut self, side: &SideId, position: u64) -> Result<Option<Entry>, StoreError> {
        (self.look)()?;
        self.store.entry(side, position)
    }

    fn search(
        &mut self,
        side: &SideId,
        words: &str,
        limit: usize,
    ) -> Result<Vec<Match>, StoreError> {
        (self.look)()?;
        self.store.search(side, words, limit)
    }

    fn cold(&mut self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError> {
        (self.look)()?;
        self.store.cold(side, key)
    }

    fn cold_keys(&mut self, side: &SideId) -> Result<Vec<String>, StoreError> {
        self.store.cold_keys(side)
    }

    fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        self.store.list()
    }

    fn sides(&mut self, session: &str) -> Result<Vec<Summary>, StoreError> {
        self.store.sides(session)
    }

    fn summary(&mut self, side: &SideId) -> Result<Option<Summary>, StoreError> {
        self.store.summary(side)
    }

    fn delete(&mut self, side: &SideId) -> Result<bool, StoreError> {
        self.store.delete(side)
    }

    fn retain(&mut self, side: &SideId, retention: Retention) -> Result<Freed, StoreError> {
        self.store.retain(side, retention)
    }

    fn erase(&mut self, group: &[(&SideId, &Erasure)]) -> Result<Freed, StoreError> {
        self.store.erase(group)
    }

    fn verify(&mut self, side: &SideId) -> Result<(), StoreError> {
        self.store.verify(side)
    }
}
