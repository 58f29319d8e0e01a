//! A store that several hubs share, as they share PostgreSQL: with fences and leases. The test sets the clock of
//! the leases.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use accp_session::{Batch, Entry, Stored};
use accp_store::{
    Committer, Erasure, Freed, Kept, Lease, MemoryStore, Retention, SideId, Store, StoreError,
    StoreErrorKind, Summary,
};

#[derive(Clone, Default)]
pub(crate) struct Database(Arc<(Mutex<Shared>, Condvar)>);

#[derive(Default)]
struct Shared {
    store: MemoryStore,
    fences: BTreeMap<SideId, u64>,
    leases: BTreeMap<SideId, (String, Duration)>,
    now: Duration,
    /// True while opening a side waits.
    is_slow: bool,
}

impl Database {
    /// Connects one more hub.
    pub(crate) fn connect(&self) -> Committer {
        Committer::inline(self.connection())
    }

    /// Connects one more hub. Its store works on a thread of its own, so the hub goes on while the store is slow.
    pub(crate) fn connect_apart(&self) -> Committer {
        Committer::new(self.connection()).expect("a thread")
    }

    fn connection(&self) -> Connection {
        Connection {
            database: self.clone(),
            held: BTreeMap::new(),
        }
    }

    /// While `is_slow` is true, opening a side waits.
    pub(crate) fn is_slow(&self, is_slow: bool) {
        self.lock().is_slow = is_slow;
        self.0.1.notify_all();
    }

    /// Lets time pass for the leases.
    pub(crate) fn pass(&self, time: Duration) {
        self.lock().now += time;
    }

    /// Returns who has the lease of the host's side of a session.
    pub(crate) fn holder(&self, session: &str) -> Option<String> {
        let leases = &self.lock().leases;
        Some(leases.get(&SideId::new(session, "hub"))?.0.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.0.lock().expect("no test panics in it")
    }
}

struct Connection {
    database: Database,
    held: BTreeMap<SideId, u64>,
}

impl Connection {
    fn fence(&self, side: &SideId) -> Result<(), StoreError> {
        let shared = self.database.lock();
        if shared.fences.get(side) == self.held.get(side) {
            return Ok(());
        }
        let error = StoreError::new(StoreErrorKind::Conflict, "another process runs the side");
        Err(error.in_side(side))
    }
}

impl Store for Connection {
    fn commit(&mut self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError> {
        for (side, _) in group {
            self.fence(side)?;
        }
        self.database.lock().store.commit(group)
    }

    fn load(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        self.database.lock().store.load(side)
    }

    fn open(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        let (lock, waiting) = (self.database.lock(), &self.database.0.1);
        let mut shared = waiting
            .wait_while(lock, |shared| shared.is_slow)
            .expect("no test panics in it");
        let fence = shared.fences.entry(side.clone()).or_default();
        *fence += 1;
        self.held.insert(side.clone(), *fence);
        shared.store.open(side)
    }

    fn lease(&mut self, side: &SideId, holder: &str, time: Duration) -> Result<Lease, StoreError> {
        let mut shared = self.database.lock();
        let now = shared.now;
        match shared.leases.get(side) {
            Some((other, until)) if other != holder && *until > now => Ok(Lease::Other {
                holder: other.clone(),
                left: until.saturating_sub(now),
            }),
            _ => {
                let lease = (holder.to_owned(), now + time);
                shared.leases.insert(side.clone(), lease);
                Ok(Lease::Held)
            }
        }
    }

    fn renew(
        &mut self,
        sides: &[SideId],
        holder: &str,
        time: Duration,
    ) -> Result<Vec<SideId>, StoreError> {
        let mut shared = self.database.lock();
        let until = shared.now + time;
        let mut lost = Vec::new();
        for side in sides {
            match shared.leases.get_mut(side) {
                Some((own, ends)) if own == holder => *ends = until,
                _ => lost.push(side.clone()),
            }
        }
        Ok(lost)
    }

    fn release(&mut self, sides: &[SideId], holder: &str) -> Result<(), StoreError> {
        let leases = &mut self.database.lock().leases;
        leases.retain(|side, (own, _)| own != holder || !sides.contains(side));
        Ok(())
    }

    fn erase(&mut self, group: &[(&SideId, &Erasure)]) -> Result<Freed, StoreError> {
        self.database.lock().store.erase(group)
    }

    fn entries(
        &mut self,
        side: &SideId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.database.lock().store.entries(side, from, limit)
    }

    fn entry(&mut self, side: &SideId, position: u64) -> Result<Option<Entry>, StoreError> {
        self.database.lock().store.entry(side, position)
    }

    fn cold(&mut self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError> {
        self.database.lock().store.cold(side, key)
    }

    fn cold_keys(&mut self, side: &SideId) -> Result<Vec<String>, StoreError> {
        self.database.lock().store.cold_keys(side)
    }

    fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        self.database.lock().store.list()
    }

    fn sides(&mut self, session: &str) -> Result<Vec<Summary>, StoreError> {
        self.database.lock().store.sides(session)
    }

    fn summary(&mut self, side: &SideId) -> Result<Option<Summary>, StoreError> {
        self.database.lock().store.summary(side)
    }

    fn delete(&mut self, side: &SideId) -> Result<bool, StoreError> {
        self.fence(side)?;
        self.database.lock().store.delete(side)
    }

    fn retain(&mut self, side: &SideId, retention: Retention) -> Result<Freed, StoreError> {
        self.database.lock().store.retain(side, retention)
    }

    fn verify(&mut self, side: &SideId) -> Result<(), StoreError> {
        self.database.lock().store.verify(side)
    }
}
