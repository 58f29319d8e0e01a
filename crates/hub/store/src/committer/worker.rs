//! The work of a committer: it commits batches in groups, and does all other jobs in their order.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvError};

use accp_session::{Batch, Stored};

use super::engine::{Engine, Submitted};
use crate::error::{StoreError, StoreErrorKind};
use crate::side::SideId;
use crate::store::Store;

/// The largest number of batches that are committed together.
const MOST_BATCHES: usize = 256;
/// The largest number of bytes of texts and values that are committed together. A larger batch is
/// committed alone.
const MOST_BYTES: usize = 4 << 20;

/// A job for the thread.
pub(super) enum Job<T: ?Sized> {
    Commit(Submitted<T>),
    /// Opens a side.
    Open(SideId, Opened),
    /// Closes an opening of a side. This opening will not commit again.
    Close(SideId, u64),
    Ask(Ask),
    /// Closes all sides of a session before a call on the store.
    Interrupt(String, Ask),
}

/// Takes the number of an opening and the stored state of its side.
pub(super) type Opened = Box<dyn FnOnce(Result<(u64, Option<Stored>), StoreError>) + Send>;

/// A call on the store other than a commit or an opening. The call gets the store, or the error with which the store
/// failed for good. The call returns its own error, if any.
pub(super) type Ask =
    Box<dyn FnOnce(Result<&mut dyn Store, StoreError>) -> Option<StoreError> + Send>;

/// Owns the store of a committer.
pub(super) struct Worker<T: ?Sized> {
    engine: Box<dyn Engine<T>>,
    sides: BTreeMap<SideId, Opening>,
    openings: u64,
    /// The error with which the store failed for good.
    broken: Option<StoreError>,
}

/// The last opening of a side.
struct Opening {
    number: u64,
    /// The error of the first batch that was not kept.
    failed: Option<StoreError>,
}

impl<T: ?Sized> Worker<T> {
    pub(super) fn new(engine: Box<dyn Engine<T>>) -> Self {
        Self {
            engine,
            sides: BTreeMap::new(),
            openings: 0,
            broken: None,
        }
    }

    /// Does jobs until all senders are gone.
    pub(super) fn run(mut self, jobs: &Receiver<Job<T>>) {
        let mut next = jobs.recv();
        while let Ok(job) = next {
            next = self.round(job, jobs);
        }
    }

    /// Takes `first` and the jobs that are waiting behind it. Commits their batches together, and then does their
    /// other jobs. Returns the next job, and waits for that job if there is none yet.
    fn round(&mut self, first: Job<T>, jobs: &Receiver<Job<T>>) -> Result<Job<T>, RecvError> {
        let (mut group, mut others) = (Vec::new(), Vec::new());
        let (mut bytes, mut count) = (0, 0);
        let mut next = Some(first);
        while let Some(job) = next.take() {
            if let Job::Commit(one) = &job {
                let more = size(&one.batch);
                if !group.is_empty() && bytes + more > MOST_BYTES {
                    next = Some(job);
                    break;
                }
                bytes += more;
            }
            match job {
                Job::Commit(one) => group.push(one),
                other => others.push(other),
            }
            count += 1;
            if count == MOST_BATCHES {
                break;
            }
            next = jobs.try_recv().ok();
        }
        self.commit_group(group);
        for job in others {
            self.work(job);
        }
        match next {
            Some(job) => Ok(job),
            None => jobs.recv(),
        }
    }

    /// Does one job.
    pub(super) fn work(&mut self, job: Job<T>) {
        match job {
            Job::Commit(one) => self.commit_group(vec![one]),
            Job::Open(side, opened) => opened(self.open(&side)),
            Job::Close(side, number) => {
                if self
                    .sides
                    .get(&side)
                    .is_some_and(|last| last.number == number)
                {
                    self.sides.remove(&side);
                }
            }
            Job::Interrupt(session, ask) => {
                self.sides.retain(|side, _| side.session() != session);
                self.work(Job::Ask(ask));
            }
            Job::Ask(ask) => {
                let store = match &self.broken {
                    Some(error) => Err(error.clone()),
                    None => Ok(self.engine.store()),
                };
                let failed = ask(store);
                self.note_failure(failed.as_ref());
            }
        }
    }

    fn open(&mut self, side: &SideId) -> Result<(u64, Option<Stored>), StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let loaded = self.engine.store().open(side);
        self.note_failure(loaded.as_ref().err());
        let stored = loaded?;
        self.openings += 1;
        let opening = Opening {
            number: self.openings,
            failed: None,
        };
        self.sides.insert(side.clone(), opening);
        Ok((self.openings, stored))
    }

    /// Commits a group. When the store refuses the group because of one side, the batches of that
    /// side are taken out and committed one by one, and the rest is tried again.
    fn commit_group(&mut self, group: Vec<Submitted<T>>) {
        let mut group = self.admit(group);
        while let Some(error) = self.commit(&mut group) {
            let guilty = error.side().filter(|side| {
                let theirs = group.iter().filter(|one| one.side == **side);
                self.broken.is_none() && group.len() > 1 && theirs.count() > 0
            });
            let Some(guilty) = guilty.cloned() else {
                for one in group {
                    self.refuse(one, error.clone());
                }
                return;
            };
            let (theirs, others) = group.into_iter().partition(|one| one.side == guilty);
            group = others;
            self.commit_one_by_one(theirs);
        }
        for one in group {
            one.promise.answer(Ok(one.batch));
        }
    }

    fn commit_one_by_one(&mut self, batches: Vec<Submitted<T>>) {
        for one in batches {
            for mut one in self.admit(vec![one]).into_iter().map(|one| [one]) {
                let failed = self.commit(&mut one);
                let [one] = one;
                match failed {
                    Some(error) => self.refuse(one, error),
                    None => one.promise.answer(Ok(one.batch)),
                }
            }
        }
    }

    /// Returns the batches that may be committed, and answers the others with an error.
    fn admit(&self, group: Vec<Submitted<T>>) -> Vec<Submitted<T>> {
        let mut admitted = Vec::new();
        for one in group {
            match self.objection(&one) {
                Some(error) => one.promise.answer(Err(error)),
                None => admitted.push(one),
            }
        }
        admitted
    }

    /// Returns the error for a batch that cannot be committed because of its opening or because of the store.
    fn objection(&self, one: &Submitted<T>) -> Option<StoreError> {
        if let Some(error) = &self.broken {
            return Some(error.clone());
        }
        let last = self.sides.get(&one.side);
        let Some(current) = last.filter(|last| last.number == one.opening) else {
            let text = match last {
                Some(_) => "the side was opened again: only the last opening may commit",
                None => "the session was interrupted: open the side again",
            };
            return Some(StoreError::new(StoreErrorKind::Conflict, text).in_side(&one.side));
        };
        let failed = current.failed.as_ref()?;
        let text = format!("a batch before this one was not kept ({failed}): open the side again");
        Some(StoreError::new(failed.kind(), text).in_side(&one.side))
    }

    fn commit(&mut self, group: &mut [Submitted<T>]) -> Option<StoreError> {
        if group.is_empty() {
            return None;
        }
        let error = self.engine.commit(group).err()?;
        self.note_failure(Some(&error));
        Some(error)
    }

    fn refuse(&mut self, one: Submitted<T>, error: StoreError) {
        if let Some(last) = self.sides.get_mut(&one.side) {
            last.failed.get_or_insert_with(|| error.clone());
        }
        one.promise.answer(Err(error));
    }

    /// Marks the store as broken after an error of the disk, since its content is then unknown.
    fn note_failure(&mut self, error: Option<&StoreError>) {
        if let Some(error) = error.filter(|error| error.kind() == StoreErrorKind::Io) {
            let text = format!("the store has failed ({error}): open it anew");
            self.broken
                .get_or_insert_with(|| StoreError::new(StoreErrorKind::Io, text));
        }
    }
}

/// Returns how many bytes of texts and values a batch brings.
fn size(batch: &Batch) -> usize {
    let values = batch.cold.iter().filter_map(|value| value.bytes.as_ref());
    let values: usize = values.map(|bytes| bytes.len()).sum();
    let texts: usize = batch.entries.iter().map(|entry| entry.text.len()).sum();
    let snapshot = batch.snapshot.as_ref();
    values + texts + snapshot.map_or(0, |snapshot| snapshot.text.len())
}
