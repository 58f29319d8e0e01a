//! The stores of a run: one store in memory for each side, or one store for all sides.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use accp_runtime::session::{Options, Rules, Session, Time};
use accp_session::{Batch, Output};
use accp_store::{Log, MemoryStore, Retention, SideId, SqliteStore, Store, Summary};
use accp_testkit::Shared;
use tempfile::TempDir;

use super::World;
use super::mirror::Mirrored;
use super::node::{Result, said};
use super::plan::RunPlan;
use super::queue::Queue;
use super::tape::{Disk, Kept};

/// The name of the file that has the stores of all sides.
const FILE: &str = "accp.db";

/// Makes a folder for the file of a run, in memory where the system has such a folder.
pub(super) fn folder() -> std::io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        return tempfile::tempdir_in(memory);
    }
    tempfile::tempdir()
}

/// The stores of all sides.
#[derive(Debug)]
pub(super) enum Disks {
    /// The stores by the index of their side. Copies of these stores can be put back.
    Memory(Vec<Shared>),
    /// One store in a file, beside a store in memory that takes the same calls.
    Sqlite(Arc<Mutex<SqliteStore>>, Shared, TempDir),
    /// One store behind a committer.
    Queue(Queue),
}

impl Disks {
    pub(super) fn new(plan: &RunPlan) -> Result<Self> {
        let in_sqlite = || SqliteStore::open_in_memory().map_err(said);
        Ok(match (plan.queued, plan.sqlite) {
            (true, true) => {
                let store = Mirrored::new(in_sqlite()?, MemoryStore::new());
                Self::Queue(Queue::new(store))
            }
            (true, false) => Self::Queue(Queue::new(MemoryStore::new())),
            (false, true) => {
                let folder = folder().map_err(said)?;
                let store = SqliteStore::open(folder.path().join(FILE)).map_err(said)?;
                Self::Sqlite(Arc::new(Mutex::new(store)), Shared::default(), folder)
            }
            (false, false) => Self::Memory(Vec::new()),
        })
    }

    /// Makes an empty store for a side, or gives the store of all sides.
    pub(super) fn open(&mut self, who: usize) -> Disk {
        match self {
            Self::Sqlite(store, mirror, _) => {
                Box::new(Mirrored::new(Arc::clone(store), Arc::clone(mirror)))
            }
            Self::Queue(queue) => Box::new(queue.clone()),
            Self::Memory(stores) => {
                let store = Shared::default();
                stores.resize_with(stores.len().max(who + 1), Shared::default);
                stores[who] = Arc::clone(&store);
                Box::new(store)
            }
        }
    }

    /// Opens the file again, if the stores are in a file.
    pub(super) fn reopen(&self) -> Result {
        if let Self::Sqlite(store, _, folder) = self {
            let again = SqliteStore::open(folder.path().join(FILE)).map_err(said)?;
            *store.lock().map_err(said)? = again;
        }
        Ok(())
    }

    /// Returns the bytes of all files, if the stores are in a file.
    pub(super) fn file_bytes(&self) -> Result<Option<Vec<u8>>> {
        let Self::Sqlite(_, _, folder) = self else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        for file in std::fs::read_dir(folder.path()).map_err(said)? {
            let file = file.map_err(said)?.path();
            // This file has locks, and only numbers of pages.
            if !file.to_string_lossy().ends_with("-shm") {
                bytes.extend(std::fs::read(file).map_err(said)?);
            }
        }
        Ok(Some(bytes))
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

/// Begins the session in the store of the host. The log of this session has no key. A driver would draw a key.
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
    /// Checks that every member holds the log up to the position that the host reports for all members.
    fn judge_replicated(&self) -> Result {
        let host = self.room.host.session();
        let (timeline, replicated) = (&self.observer.timeline, host.replicated());
        let members = host.state().members().filter(|(_, party)| party.present);
        for (id, _) in members.filter(|(id, _)| !timeline.has_lost() && !timeline.was_put_back(*id))
        {
            let side = self
                .observer
                .sides
                .iter()
                .skip(1)
                .find(|side| side.id == id);
            let side = side.filter(|side| side.plain.is_none());
            if let Some(side) = side.filter(|side| side.last < replicated) {
                let last = side.last;
                let what = format!("{id} has the log up to {last}, and the host says {replicated}");
                return Err(what);
            }
        }
        Ok(())
    }

    /// Lets the store of a side discard the entries that all members hold, or all entries that it may discard.
    pub(super) fn discard(&mut self) -> Result {
        self.judge_replicated()?;
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
        let id = side.driver.side().clone();
        let before = side.store.summary(&id).map_err(said)?;
        let retention = Retention { log_before };
        let freed = side.store.retain(&id, retention).map_err(said)?;
        let after = side.store.summary(&id).map_err(said)?;
        self.counts.discarded += freed.entries;
        self.observer.has_discarded |= who == 0 && freed.entries > 0;
        self.moves("discard", who);
        self.note(|| format!("{who} discards {} entries", freed.entries));
        let (Some(before), Some(after)) = (before, after) else {
            return Ok(());
        };
        let seen = &self.observer.sides[who];
        let due = seen.due.first().copied().unwrap_or(u64::MAX);
        let wanted = log_before.min(seen.covered + 1).min(due).max(before.first);
        let gone = seen.held.range(before.first..after.first);
        let (entries, bytes) = (
            gone.clone().count(),
            gone.map(|(_, bytes)| bytes).sum::<u64>(),
        );
        let is_right = after.first == wanted
            && after.last == seen.held.last_key_value().map_or(0, |(last, _)| *last)
            && after.due == seen.due.len() as u64
            && before.bytes - after.bytes == bytes
            && freed.bytes >= bytes
            && freed.entries == entries as u64;
        if is_right {
            return Ok(());
        }
        Err(format!(
            "{who} discards up to {wanted}, {bytes} bytes: {freed:?} from {before:?} to {after:?}"
        ))
    }

    /// Checks that the store of the host lists every value that was put.
    fn judge_keys(&mut self) -> Result {
        let host = &mut self.room.host;
        let listed = host.store.cold_keys(host.driver.side()).map_err(said)?;
        let keys = self.observer.keys();
        match keys.iter().find(|key| !listed.contains(key)) {
            Some(key) => Err(format!("the store of the host does not list {key}")),
            None => Ok(()),
        }
    }

    /// Checks every row of every store.
    pub(super) fn judge_stores(&mut self) -> Result {
        self.judge_keys()?;
        for node in &self.nodes {
            if let Some(side) = self.room.side(node.id) {
                let kept = side.store.verify(side.driver.side());
                kept.map_err(|error| format!("the store of {}: {error}", node.id))?;
                let id = side.driver.side();
                let all = side.store.list().map_err(said)?;
                let here = side.store.sides(id.session()).map_err(said)?;
                let is_it = |summary: &Summary| summary.side == *id;
                if !all.iter().any(is_it) || !here.iter().any(is_it) {
                    return Err(format!("the store does not list {}", node.id));
                }
            }
        }
        self.judge_log()?;
        self.judge_search()?;
        self.judge_erasure()?;
        self.judge_deletion()
    }

    /// Checks that the store of a member gives back the whole log that the member has kept.
    fn judge_log(&mut self) -> Result {
        let who = self.rng.below(self.nodes.len() as u64) as usize;
        let Some(side) = self
            .room
            .side(self.nodes[who].id)
            .filter(|_| !self.nodes[who].plain)
        else {
            return Ok(());
        };
        let id = side.driver.side().clone();
        let first = side
            .store
            .summary(&id)
            .map_err(said)?
            .map_or(0, |kept| kept.first);
        let positions =
            Log::new(&mut side.store, &id, 1).map(|entry| entry.map(|entry| entry.position));
        let positions: BTreeSet<u64> = positions
            .collect::<std::result::Result<_, _>>()
            .map_err(said)?;
        let held = self.observer.sides[who].held.keys();
        let wanted: BTreeSet<u64> = held.copied().filter(|at| *at >= first).collect();
        if positions == wanted {
            return Ok(());
        }
        let mut other = positions.symmetric_difference(&wanted);
        Err(format!("the log of {id} has {:?} otherwise", other.next()))
    }

    /// Deletes a session from the store of the host, and checks that the other sessions stay.
    fn judge_deletion(&mut self) -> Result {
        let host = &mut self.room.host;
        let hub = host.driver.side().agent();
        let [gone, kept] = ["other_4", "other_5"].map(|session| SideId::new(session, hub));
        let deleted = [&gone, &gone].map(|id| host.store.delete(id).map_err(said));
        let [gone, kept] = [gone, kept].map(|id| host.store.cold(&id, "k101_1").map_err(said));
        let is_right = deleted == [Ok(true), Ok(false)] && gone?.is_none() && kept?.is_some();
        if is_right {
            return Ok(());
        }
        Err(format!("other_4 is deleted as {deleted:?}"))
    }
}
