//! Runs a workload on disks that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use accp_store::{SqliteStore, StoreError, StoreErrorKind};
use libsqlite3_sys::{SQLITE_FULL, SQLITE_IOERR_FSYNC, SQLITE_IOERR_WRITE};

use crate::shim::{self, Answer, Event};
use crate::workload::{StoreStep, Workload, state};
use crate::{check, file};

const STEPS: usize = 60;
const BYTES: usize = 3000;
const TALK: usize = 2;
/// One of this many writes is made to fail. Every sync is made to fail.
const EVERY: usize = 5;

#[derive(Debug, Clone, Copy)]
enum Fault {
    /// A write finds no room, once.
    Full,
    /// Every later write finds no room, until the disk is mended.
    StaysFull,
    /// A write stops half-way because there is no room.
    ShortWrite,
    /// A write fails.
    Write,
    /// A sync fails, once.
    Sync,
}

impl Fault {
    const ALL: [Self; 5] = [
        Self::Full,
        Self::StaysFull,
        Self::ShortWrite,
        Self::Write,
        Self::Sync,
    ];

    /// Returns the answer of the failing disk to an event; `None` if this fault does not concern the event.
    fn answer(self, event: &Event) -> Option<Answer> {
        let length = match event {
            Event::Write { bytes, .. } => Some(bytes.len()),
            _ => None,
        };
        let fails = |after, code| Some(Answer::Fails { after, code });
        match (self, length, event) {
            (Self::Full | Self::StaysFull, Some(_), _) => fails(0, SQLITE_FULL),
            (Self::ShortWrite, Some(length), _) => fails(length / 2, SQLITE_FULL),
            (Self::Write, Some(length), _) => fails(length / 2, SQLITE_IOERR_WRITE),
            (Self::Sync, _, Event::Sync(_)) => fails(0, SQLITE_IOERR_FSYNC),
            _ => None,
        }
    }

    fn stays(self) -> bool {
        matches!(self, Self::StaysFull)
    }

    fn kind(self) -> StoreErrorKind {
        match self {
            Self::Full | Self::StaysFull | Self::ShortWrite => StoreErrorKind::Full,
            Self::Write | Self::Sync => StoreErrorKind::Io,
        }
    }
}

/// Runs a workload on a failing disk, once for each kind of fault and each place.
pub(crate) fn run(seed: u64) {
    let workload = Workload::new(seed, STEPS, BYTES, TALK);
    for fault in Fault::ALL {
        let mut runs = 0;
        let mut refused = 0;
        let mut place = 0;
        // When a run ends before the fault, all places have been tried.
        while let Some(errors) = run_once(&workload, fault, place) {
            runs += 1;
            refused += usize::from(errors > 0);
            place += if matches!(fault, Fault::Sync) {
                1
            } else {
                EVERY
            };
        }
        println!("{fault:?}: {runs} places, {refused} of them failed a step");
        assert!(refused > 0, "some fault failed a step");
    }
}

/// Returns the number of failed steps when the disk fails at this place, or `None` if the disk
/// never failed.
fn run_once(workload: &Workload, fault: Fault, place: usize) -> Option<usize> {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = break_disk(fault, place);
    let open = || SqliteStore::open(file(folder.path()));
    let mut errors = 0;
    let mut failed = |error: &StoreError| {
        let broke = disk.broke.load(Ordering::Relaxed);
        assert!(
            broke,
            "{fault:?} {place}, though the disk is sound: {error}"
        );
        assert_eq!(error.kind(), fault.kind(), "{fault:?} {place}: {error}");
        errors += 1;
        disk.mended.store(true, Ordering::Relaxed);
    };
    let reopen = |failed: &mut dyn FnMut(&StoreError)| {
        open().unwrap_or_else(|error| {
            failed(&error);
            open().expect("the disk is mended")
        })
    };
    let mut store = reopen(&mut failed);
    for (step, states) in workload.steps.iter().zip(workload.states.windows(2)) {
        if matches!(step, StoreStep::Reopen) {
            drop(store);
            store = reopen(&mut failed);
        }
        let Err(error) = step.take(&mut store) else {
            continue;
        };
        failed(&error);
        // The store must have nothing of the failed step. The store works again as soon as the disk works.
        let found = state(&mut store).expect("it reads");
        assert!(
            found == states[0],
            "{fault:?} {place}: a step that failed is there"
        );
        if fault.kind() == StoreErrorKind::Io {
            drop(store);
            store = reopen(&mut failed);
            check(&mut store).expect("the file is sound");
        }
        let found = state(&mut store).expect("it reads");
        if found == states[0] {
            step.take(&mut store).expect("the disk is mended");
        } else {
            assert!(
                found == states[1],
                "{fault:?} {place}: a step is there in part"
            );
        }
    }
    drop(store);
    disk.mended.store(true, Ordering::Relaxed);
    let mut store = open().expect("the disk is mended");
    check(&mut store).expect("the file is sound");
    assert!(state(&mut store).expect("it reads") == workload.states[STEPS]);
    disk.broke.load(Ordering::Relaxed).then_some(errors)
}

#[derive(Debug, Default)]
struct Breakage {
    broke: AtomicBool,
    mended: AtomicBool,
}

/// Makes the disk fail at one event. `place` counts the events that can fail.
fn break_disk(fault: Fault, place: usize) -> Arc<Breakage> {
    let breakage = Arc::new(Breakage::default());
    let told = Arc::clone(&breakage);
    let mut seen = 0;
    shim::set_disk(move |event| {
        let sound = match event {
            // The real sync is skipped, because it takes time.
            Event::Sync(_) => Answer::DoneAlready,
            _ => Answer::Done,
        };
        let Some(answer) = fault.answer(event) else {
            return sound;
        };
        let is_there = seen == place || (fault.stays() && seen > place);
        seen += 1;
        if !is_there || told.mended.load(Ordering::Relaxed) {
            return sound;
        }
        told.broke.store(true, Ordering::Relaxed);
        answer
    });
    breakage
}
