//! The stores of a run: one in memory for each side, or one for all.

use std::sync::{Arc, Mutex, PoisonError};

use accp_runtime::session::{Options, Rules, Session, Time};
use accp_session::{Batch, Output};
use accp_store::{MemoryStore, Retention, SideId, SqliteStore, Store};
use accp_testkit::Shared;

use super::World;
use super::node::{Result, said};
use super::plan::Plan;
use super::queue::Queue;
use super::tape::{Disk, Kept};

/// The stores of all sides.
#[derive(Debug)]
pub(super) enum Disks {
    /// By the index of the side. Copies of such stores can be put back.
    Memory(Vec<Shared>),
    Sqlite(Arc<Mutex<SqliteStore>>),
    /// One store behind a committer.
    Queue(Queue),
}

impl Disks {
    pub(super) fn new(plan: &Plan) -> Result<Self> {
        let in_sqlite = || SqliteStore::open_in_memory().map_err(said);
        Ok(match (plan.queued, plan.sqlite) {
            (true, true) => Self::Queue(Queue::new(in_sqlite()?).map_err(said)?),
            (true, false) => Self::Queue(Queue::new(MemoryStore::new()).map_err(said)?),
            (false, true) => Self::Sqlite(Arc::new(Mutex::new(in_sqlite()?))),
            (false, false) => Self::Memory(Vec::new()),
        })
    }

    /// Makes an empty store for a side, or gives the store of all sides.
    pub(super) fn open(&mut self, who: usize) -> Disk {
        match self {
            Self::Sqlite(store) => Box::new(Arc::clone(store)),
            Self::Queue(queue) => Box::new(queue.clone()),
            Self::Memory(stores) => {
                let store = Shared::default();
                stores.resize_with(stores.len().max(who + 1), Shared::default);
                stores[who] = Arc::clone(&store);
                Box::new(store)
            }
        }
    }

    /// Copies the store of a side, if it is in memory.
    pub(super) fn copy(&self, who: usize) -> Option<MemoryStore> {
        let Self::Memory(stores) = self else {
            return None;
        };
        let store = stores.get(who)?.lock();
        Some(store.unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Puts a copy of the store of a side back.
    pub(super) fn put_back(&self, who: usize, copy: MemoryStore) {
        if let Self::Memory(stores) = self
            && let Some(store) = stores.get(who)
        {
            *store.lock().unwrap_or_else(PoisonError::into_inner) = copy;
        }
    }
}

/// Begins the session in the store of the host, with a log that has no key. A driver would draw one.
pub(super) fn begin_without_key(
    store: &Kept,
    options: &Options,
    rules: &Rules,
    now: Time,
) -> Result<Vec<Batch>> {
    let side = SideId::new(&options.session, &options.agent);
    let mut session = Session::host(options.clone(), rules.clone(), now);
    let mut store = store.lock().map_err(said)?;
    let store = store.inner_mut();
    store.load(&side).map_err(said)?;
    let mut begun = Vec::new();
    while let Some(output) = session.poll() {
        if let Output::Batch(batch) = output {
            store.commit(&[(&side, &batch)]).map_err(said)?;
            begun.push(*batch);
        }
    }
    Ok(begun)
}

impl World {
    /// Lets the store of a side discard what the others hold, or all that it may discard.
    pub(super) fn discard(&mut self) -> Result {
        let who = self.rng.below(self.nodes.len() as u64) as usize;
        let discards_all = self.rng.per_mille(300);
        let Some(side) = self.room.side(self.nodes[who].id) else {
            return Ok(());
        };
        let session = side.session();
        let log_before = if discards_all {
            session.position()
        } else {
            session.replicated()
        };
        let retention = Retention { log_before };
        let freed = side.store.retain(side.driver.side(), retention);
        let freed = freed.map_err(said)?;
        self.counts.discarded += freed.entries;
        self.note(|| format!("{who} discards {} entries", freed.entries));
        Ok(())
    }

    /// Checks every row of every store.
    pub(super) fn judge_stores(&mut self) -> Result {
        for node in &self.nodes {
            if let Some(side) = self.room.side(node.id) {
                let kept = side.store.verify(side.driver.side());
                kept.map_err(|error| format!("the store of {}: {error}", node.id))?;
            }
        }
        Ok(())
    }
}
