//! The steps that a store is asked to take, and the expected content after each step.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use accp_registry::Hash;
use accp_runtime::session::{Mid, Time};
use accp_session::{Batch, Cold, Due, Entry, OutboxChange, Outgoing, Snapshot};
use accp_store::{MemoryStore, Retention, SideId, Store, StoreError};

use crate::random::Random;
use crate::session::{self, Played};

/// A list of steps. The store takes each step as a whole or not at all.
pub(crate) struct Workload {
    pub(crate) steps: Vec<StoreStep>,
    /// The digest of the store before the first step, and after each step.
    pub(crate) states: Vec<Hash>,
    pub(crate) sums: Sums,
}

/// Sums over the steps of the played session.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Sums {
    pub(crate) entries: usize,
    /// Checkpoints of the host, and their copies.
    pub(crate) checkpoints: usize,
    pub(crate) snapshots: usize,
    /// Entries whose texts retention deletes.
    pub(crate) freed: u64,
}

pub(crate) enum StoreStep {
    Commit(Vec<(SideId, Batch)>),
    Retain(SideId, Retention),
    Delete(SideId),
    /// Closes the store and opens it again, which changes nothing in it.
    Reopen,
}

impl StoreStep {
    /// Takes the step. `Reopen` is the caller's work and does nothing here.
    pub(crate) fn take(&self, store: &mut impl Store) -> Result<(), StoreError> {
        match self {
            Self::Commit(group) => {
                let group: Vec<_> = group.iter().map(|(side, batch)| (side, batch)).collect();
                store.commit(&group)
            }
            Self::Retain(side, retention) => store.retain(side, *retention).map(drop),
            Self::Delete(side) => store.delete(side).map(drop),
            Self::Reopen => Ok(()),
        }
    }
}

/// Returns a digest of everything that the store gives back.
pub(crate) fn state(store: &mut impl Store) -> Result<Hash, StoreError> {
    let mut text = String::new();
    for summary in store.list()? {
        let side = summary.side.clone();
        let _ = write!(text, "{summary:?} {:?}", store.load(&side)?);
        let _ = write!(text, "{:?}", store.entries(&side, 0, usize::MAX)?);
        for key in store.cold_keys(&side)? {
            // The store has compared the bytes with their digest, so their length is enough here.
            let kept = store.cold(&side, &key)?.map(|mut kept| {
                let bytes = kept.value.bytes.take();
                (kept, bytes.map(|bytes| bytes.len()))
            });
            let _ = write!(text, "{kept:?}");
        }
    }
    Ok(Hash::of(text.as_bytes()))
}

/// Returns a side that the workload writes to. Two of the sides belong to the first session.
fn side(index: usize) -> SideId {
    let sides = [
        ("launch", "hub"),
        ("launch", "dev"),
        ("budget", "dev"),
        ("notes", "dev"),
    ];
    let (session, agent) = sides[index];
    SideId::new(session, agent)
}

impl Workload {
    /// Makes steps from a seed: batches that a writer makes up, with values of up to `bytes` bytes,
    /// and batches of a session that is played, in which an agent sends up to `talk` messages at a
    /// time.
    pub(crate) fn new(seed: u64, count: usize, bytes: usize, talk: usize) -> Self {
        let mut maker = Maker {
            random: Random::new(seed),
            writers: Default::default(),
            played: Played::new(talk),
            waiting: VecDeque::new(),
            bytes,
        };
        let steps: Vec<_> = (0..count).map(|_| maker.step()).collect();
        let mut model = MemoryStore::new();
        let mut states = vec![state(&mut model).expect("memory fails with conflicts only")];
        let mut sums = Sums::default();
        for step in &steps {
            step.take(&mut model).expect("every step fits");
            states.push(state(&mut model).expect("as above"));
            sums.add(step);
        }
        let logs = model.list().expect("as above").into_iter();
        let played = logs.filter(|summary| is_played(&summary.side));
        sums.freed = played.map(|side| side.first - 1).sum();
        Self {
            steps,
            states,
            sums,
        }
    }
}

impl Sums {
    /// Adds the sums of another workload.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.entries += other.entries;
        self.checkpoints += other.checkpoints;
        self.snapshots += other.snapshots;
        self.freed += other.freed;
    }

    fn add(&mut self, step: &StoreStep) {
        let StoreStep::Commit(group) = step else {
            return;
        };
        let played = group.iter().filter(|(side, _)| is_played(side));
        for (_, batch) in played {
            let is_checkpoint = |entry: &&Entry| entry.text.contains(">sync:checkpoint{");
            self.entries += batch.entries.len();
            self.checkpoints += batch.entries.iter().filter(is_checkpoint).count();
            self.snapshots += usize::from(batch.snapshot.is_some());
        }
    }
}

fn is_played(side: &SideId) -> bool {
    side.session() == session::SESSION
}

/// Makes the steps of a workload.
struct Maker {
    random: Random,
    writers: [Writer; 4],
    played: Played,
    /// Batches of the played session that no step has yet.
    waiting: VecDeque<(SideId, Batch)>,
    bytes: usize,
}

impl Maker {
    fn step(&mut self) -> StoreStep {
        let random = &mut self.random;
        match random.below(40) {
            0 => StoreStep::Reopen,
            1 => {
                let log_before = random.below(200) as u64;
                StoreStep::Retain(side(random.below(4)), Retention { log_before })
            }
            2 if random.once_in(4) => {
                let index = random.below(4);
                self.writers[index] = Writer::default();
                StoreStep::Delete(side(index))
            }
            3..5 => {
                let (side, retention) = self.played.retention(random);
                StoreStep::Retain(side, retention)
            }
            5..16 => StoreStep::Commit(self.said()),
            _ => StoreStep::Commit(self.written()),
        }
    }

    /// Returns the next batches of the played session.
    fn said(&mut self) -> Vec<(SideId, Batch)> {
        while self.waiting.is_empty() {
            self.waiting.extend(self.played.round(&mut self.random));
        }
        let most = self.waiting.len().min(16);
        let group = 1 + self.random.below(most);
        self.waiting.drain(..group).collect()
    }

    fn written(&mut self) -> Vec<(SideId, Batch)> {
        let random = &mut self.random;
        let group = 1 + random.below(4);
        let indexes: Vec<_> = (0..group).map(|_| random.below(4)).collect();
        let batch = |index: usize| {
            let mut batch = self.writers[index].batch(random, self.bytes);
            batch.host = index == 0;
            (side(index), batch)
        };
        indexes.into_iter().map(batch).collect()
    }
}

/// Writes batches that fit the side's log.
#[derive(Default)]
struct Writer {
    position: u64,
    due: Vec<u64>,
    keys: u64,
    places: u64,
    outbox: Vec<u64>,
    epoch: u32,
}

impl Writer {
    fn batch(&mut self, random: &mut Random, bytes: usize) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..random.below(3) {
            self.keys += 1;
            batch.cold.push(value(self.keys, random, bytes));
        }
        if self.keys > 0 && random.once_in(4) {
            let key = 1 + random.below(self.keys as usize);
            batch.expired.push(format!("k101_{key}"));
        }
        for _ in 0..=random.below(3) {
            self.position += 1;
            let entry = entry(self.position, random);
            if entry.is_due() {
                self.due.push(entry.position);
            }
            batch.entries.push(entry);
        }
        if random.once_in(2) {
            batch.handled = self.due.drain(..self.due.len() / 2).collect();
            batch.lapsed = self.due.drain(..self.due.len().min(1)).collect();
        }
        if random.once_in(2) {
            self.places += 1;
            self.outbox.push(self.places);
            batch.outbox.push(OutboxChange::Put(outgoing(self.places)));
        }
        if self.outbox.len() > 5 {
            let place = self.outbox.remove(0);
            batch.outbox.push(OutboxChange::Remove(outgoing(place).mid));
            batch.outbox_sequence = Some(place + 1);
        }
        if random.once_in(10) {
            self.epoch += 1;
            batch.epoch = Some(self.epoch);
            let json = format!(r#"{{"version":{}}}"#, self.epoch);
            batch.registries.push((Hash::of(json.as_bytes()), json));
        }
        if random.once_in(8) {
            batch.snapshot = Some(Snapshot {
                position: self.position,
                text: "s".repeat(random.below(bytes)),
            });
        }
        batch
    }
}

fn value(number: u64, random: &mut Random, bytes: usize) -> Cold {
    // The range is small, so that some values are equal.
    let byte = random.below(256) as u8;
    let bytes = vec![byte; random.below(3) * bytes / 2];
    Cold {
        key: format!("k101_{number}"),
        digest: Hash::of(&bytes),
        length: bytes.len() as u64,
        bytes: Some(Arc::from(bytes)),
    }
}

fn entry(position: u64, random: &mut Random) -> Entry {
    let mid = format!("101{position:09}");
    let padding = "x".repeat(random.below(400));
    Entry::new(
        position,
        Time::from_millis(1_714_000_000_000 + position as i64),
        Mid::parse(&mid),
        format!("@planner>req:plan{{task:{padding}}}[mid:{mid},seq:{position}]"),
    )
    .with(|entry| {
        entry.sequence = position;
        entry.tokens = 40;
        entry.cut = random.once_in(9);
        entry.due = if random.once_in(2) { Due::Yes } else { Due::No };
    })
}

fn outgoing(place: u64) -> Outgoing {
    Outgoing {
        order: place,
        mid: Mid::parse(&format!("102{place:09}")),
        head: "@dev>done:plan{}".into(),
        tail: ",ts:1714000000".into(),
    }
}
