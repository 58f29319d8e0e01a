//! The store operations of a side in one turn, and the place of its crash.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accp_session::Batch;
use accp_store::{SideId, Store, StoreError, StoreErrorKind};
use accp_testkit::{Rng, Tapped};

/// More batches than any turn of a session has.
const ENDLESS: usize = 1000;

/// A store of any kind.
pub(crate) type Disk = Box<dyn Store + Send>;

/// A store that writes its commits to the tape.
pub(crate) type Kept = Arc<Mutex<Tapped<Disk>>>;

/// The batches of a turn, each with its fate.
#[derive(Debug)]
pub(crate) struct Tape {
    rng: Rng,
    /// Crashes in a thousand batches.
    rate: u64,
    batches: Vec<(Batch, Fate)>,
    /// True if a read has failed.
    misread: bool,
    reads: u64,
}

/// The fate of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The side crashes before the batch is kept.
    Lost,
    /// The batch is kept, and the side crashes after it has sent this many of the batch's frames.
    Cut(usize),
    /// The batch is kept and all its frames are sent. Then the side crashes.
    Last,
    /// The batch is kept, and the side goes on.
    Kept,
}

impl Tape {
    pub(crate) fn new(rng: Rng) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            rng,
            rate: 0,
            batches: Vec::new(),
            misread: false,
            reads: 0,
        }))
    }

    /// Makes a store whose commits go on this tape.
    pub(crate) fn store(tape: &Arc<Mutex<Self>>, disk: Disk) -> Kept {
        let (tape, reads) = (Arc::clone(tape), Arc::clone(tape));
        let tapped = Tapped::new(disk, move |store, group| {
            let mut group = group.iter();
            group.try_for_each(|(side, batch)| held(&tape).commit(store, side, batch))
        });
        Arc::new(Mutex::new(tapped.reading(move || held(&reads).read())))
    }

    /// Begins a turn with this crash rate.
    pub(crate) fn begin(tape: &Mutex<Self>, rate: u64) {
        held(tape).rate = rate;
    }

    /// Ends the turn. Returns its batches, whether a read has failed, and the number of reads. If the side has crashed, the
    /// last fate is not `Kept`.
    pub(crate) fn end(tape: &Mutex<Self>) -> (Vec<(Batch, Fate)>, bool, u64) {
        let mut tape = held(tape);
        tape.rate = 0;
        let misread = std::mem::take(&mut tape.misread);
        let reads = std::mem::take(&mut tape.reads);
        (std::mem::take(&mut tape.batches), misread, reads)
    }

    fn read(&mut self) -> Result<(), StoreError> {
        self.reads += 1;
        self.misread = self.rng.per_mille(self.rate);
        if self.misread {
            return Err(StoreError::new(StoreErrorKind::Io, "the read fails"));
        }
        Ok(())
    }

    fn commit(&mut self, store: &mut Disk, side: &SideId, batch: &Batch) -> Result<(), StoreError> {
        let gone = |why| Err(StoreError::new(StoreErrorKind::Io, why));
        if self.batches.len() == ENDLESS {
            return gone("the turn has too many batches");
        }
        if self
            .batches
            .last()
            .is_some_and(|(_, fate)| *fate != Fate::Kept)
        {
            return gone("it has crashed");
        }
        if self.rng.per_mille(self.rate) {
            self.batches.push((batch.clone(), Fate::Lost));
            return gone("it crashes");
        }
        store.commit(&[(side, batch)])?;
        let fate = if self.rng.per_mille(self.rate) {
            Fate::Cut(self.rng.below(batch.sends.len() as u64 + 1) as usize)
        } else if batch.snapshot.is_some() && self.rate > 0 && self.rng.per_mille(500) {
            // A crash right after a snapshot shows what the snapshot left out.
            Fate::Last
        } else {
            Fate::Kept
        };
        self.batches.push((batch.clone(), fate));
        Ok(())
    }
}

fn held(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}
