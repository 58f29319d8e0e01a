//! One store for several drivers.

use std::sync::{Arc, Mutex};

use accp_runtime::session::{Batch, Entry, Stored};

use crate::{Freed, Kept, Retention, Store, StoreError, StoreErrorKind, Summary};

/// A store behind a pointer is a store.
macro_rules! forward {
    ($self:ident => $store:expr) => {
        fn commit(&mut $self, group: &[(&str, &Batch)]) -> Result<(), StoreError> {
            $store.commit(group)
        }

        fn load(&mut $self, session: &str) -> Result<Option<Stored>, StoreError> {
            $store.load(session)
        }

        fn entries(
            &mut $self,
            session: &str,
            from: u64,
            limit: usize,
        ) -> Result<Vec<Entry>, StoreError> {
            $store.entries(session, from, limit)
        }

        fn cold(&mut $self, session: &str, key: &str) -> Result<Option<Kept>, StoreError> {
            $store.cold(session, key)
        }

        fn cold_keys(&mut $self, session: &str) -> Result<Vec<String>, StoreError> {
            $store.cold_keys(session)
        }

        fn list(&mut $self) -> Result<Vec<Summary>, StoreError> {
            $store.list()
        }

        fn delete(&mut $self, session: &str) -> Result<bool, StoreError> {
            $store.delete(session)
        }

        fn retain(&mut $self, session: &str, retention: Retention) -> Result<Freed, StoreError> {
            $store.retain(session, retention)
        }

        fn verify(&mut $self, session: &str) -> Result<(), StoreError> {
            $store.verify(session)
        }
    };
}

impl<S: Store + ?Sized> Store for &mut S {
    forward!(self => (**self));
}

impl<S: Store + ?Sized> Store for Box<S> {
    forward!(self => (**self));
}

/// Shared by several drivers. Each call waits for those of the others.
impl<S: Store + ?Sized> Store for Arc<Mutex<S>> {
    forward!(self => self.lock().map_err(|_| poisoned())?);
}

fn poisoned() -> StoreError {
    let text = "another thread panicked while it used the store: open the store anew";
    StoreError::new(StoreErrorKind::Io, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryStore, conformance};

    #[test]
    fn a_store_behind_a_pointer_keeps_the_contract() {
        let new = MemoryStore::new;
        conformance::run(32, || Arc::new(Mutex::new(new())), |store| store);
        conformance::run(32, || Box::new(new()), |store| store);
        conformance::run(32, || Box::leak(Box::new(new())), |store| store);
    }
}
