//! Bugs, to see that they are found.

use std::fmt;
use std::str::FromStr;

use accp_runtime::session::{Batch, Entry, Stored};
use accp_store::{Freed, Kept, Retention, SideId, SqliteStore, Store, StoreError, Summary};

/// A bug in the store of the process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    /// A commit is said to be durable before it is.
    Early,
    /// Handled marks are committed after the replies, not with them.
    Apart,
}

impl fmt::Display for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Early => "early",
            Self::Apart => "apart",
        })
    }
}

impl FromStr for Plant {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let both = [Self::Early, Self::Apart];
        both.into_iter()
            .find(|plant| plant.to_string() == text)
            .ok_or(())
    }
}

/// A store with or without a bug.
pub(crate) struct Planted {
    store: SqliteStore,
    plant: Option<Plant>,
    /// What is committed next time.
    late: Batch,
}

impl Planted {
    pub(crate) fn new(store: SqliteStore, plant: Option<Plant>) -> Self {
        Self {
            store,
            plant,
            late: Batch::default(),
        }
    }
}

impl Store for Planted {
    fn commit(&mut self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError> {
        let Some(plant) = self.plant else {
            return self.store.commit(group);
        };
        for (side, batch) in group {
            let mut copy = Batch::clone(batch);
            match plant {
                Plant::Early => std::mem::swap(&mut self.late, &mut copy),
                Plant::Apart => std::mem::swap(&mut self.late.handled, &mut copy.handled),
            }
            self.store.commit(&[(side, &copy)])?;
        }
        Ok(())
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
        self.store.entries(side, from, limit)
    }

    fn cold(&mut self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError> {
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

    fn verify(&mut self, side: &SideId) -> Result<(), StoreError> {
        self.store.verify(side)
    }
}
