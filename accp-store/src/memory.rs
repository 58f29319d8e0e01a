//! Sessions in memory.

mod side;

use std::collections::BTreeMap;

use accp_runtime::session::{Batch, Entry, Stored};

use crate::{Freed, Kept, Retention, Store, StoreError, StoreErrorKind, Summary};
use side::{Session, Undo};

/// Keeps sessions for as long as it lives: for tests, and where a restart may forget.
///
/// It keeps the whole contract of [`Store`] but the durability, and fails with nothing but
/// conflicts.
#[derive(Debug, Default)]
pub struct MemoryStore {
    sessions: BTreeMap<String, Session>,
}

impl MemoryStore {
    /// A store without sessions.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn commit(&mut self, group: &[(&str, &Batch)]) -> Result<(), StoreError> {
        let mut done = Vec::new();
        for &(name, batch) in group.iter().filter(|(_, batch)| batch.is_durable()) {
            let is_new = !self.sessions.contains_key(name);
            let session = self
                .sessions
                .entry(name.into())
                .or_insert_with(Session::new);
            let mut undo = Vec::new();
            let result = session.apply(batch, &mut undo);
            done.push(Applied { name, is_new, undo });
            if let Err(text) = result {
                self.take_back(done);
                return Err(StoreError::new(StoreErrorKind::Conflict, text).in_session(name));
            }
        }
        Ok(())
    }

    fn load(&mut self, session: &str) -> Result<Option<Stored>, StoreError> {
        Ok(self.sessions.get(session).map(Session::to_stored))
    }

    fn entries(
        &mut self,
        session: &str,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let session = self.sessions.get(session);
        Ok(session.map_or_else(Vec::new, |session| session.entries(from, limit)))
    }

    fn cold(&mut self, session: &str, key: &str) -> Result<Option<Kept>, StoreError> {
        let session = self.sessions.get(session);
        Ok(session.and_then(|session| session.value(key)))
    }

    fn cold_keys(&mut self, session: &str) -> Result<Vec<String>, StoreError> {
        let session = self.sessions.get(session);
        Ok(session.map_or_else(Vec::new, Session::keys))
    }

    fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        let sessions = self.sessions.iter();
        let summaries = sessions.map(|(name, session)| session.to_summary(name));
        Ok(summaries.collect())
    }

    fn delete(&mut self, session: &str) -> Result<bool, StoreError> {
        Ok(self.sessions.remove(session).is_some())
    }

    fn retain(&mut self, session: &str, retention: Retention) -> Result<Freed, StoreError> {
        let session = self.sessions.get_mut(session);
        Ok(session.map_or_else(Freed::default, |session| session.retain(retention)))
    }

    fn verify(&mut self, _session: &str) -> Result<(), StoreError> {
        Ok(()) // what memory holds was checked as it came
    }
}

/// A batch that was applied, in whole or in part, and how to take it back.
struct Applied<'a> {
    name: &'a str,
    is_new: bool,
    undo: Vec<Undo>,
}

impl MemoryStore {
    fn take_back(&mut self, done: Vec<Applied<'_>>) {
        for Applied { name, is_new, undo } in done.into_iter().rev() {
            if let Some(session) = self.sessions.get_mut(name) {
                undo.into_iter().rev().for_each(|undo| undo(session));
            }
            if is_new {
                self.sessions.remove(name);
            }
        }
    }
}
