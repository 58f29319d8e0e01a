//! Cuts the power under a store, and checks what the store has afterwards.

use std::path::Path;
use std::sync::Arc;

use accp_registry::Hash;
use accp_store::{SqliteStore, StoreError};

use crate::disk::{Disk, instants};
use crate::log::{Log, sound};
use crate::random::Random;
use crate::shim::{self, Event};
use crate::workload::{StoreStep, Sums, Workload, state};
use crate::{check, file, session};

/// The number of recorded runs. The cuts are shared among the runs.
const RUNS: usize = 8;
/// Enough steps for SQLite to fold the log into the file several times in each run.
const STEPS: usize = 250;
/// With at least this many cuts, some must fall in the middle of each kind of step.
const MANY: usize = 1000;
const BYTES: usize = 9000;
/// Enough messages for the host of the played session to take snapshots, without which retention
/// deletes nothing.
const TALK: usize = 20;

/// A run as the disk saw it.
#[derive(Clone)]
struct Recording {
    workload: Arc<Workload>,
    events: Vec<Event>,
    /// For each step, the number of events after which it was acknowledged.
    acknowledged: Vec<usize>,
}

/// The results of the cuts.
#[derive(Debug, Default)]
struct Counts {
    events: usize,
    syncs: usize,
    cuts: usize,
    torn: usize,
    /// Cuts during a step, after which the whole step was there (`kept`) or nothing of it (`lost`).
    kept: usize,
    lost: usize,
    /// Cuts during a step that deletes what nobody needs any longer.
    retaining: usize,
    sums: Sums,
}

/// Records runs, and cuts each run at many instants.
pub(crate) fn run(cuts: usize, seed: u64) {
    let mut counts = Counts::default();
    for run in 0..RUNS {
        let seed = seed.wrapping_mul(1000).wrapping_add(run as u64);
        let recording = record(seed);
        counts.events += recording.events.len();
        counts.sums.merge(&recording.workload.sums);
        let is_sync = |event: &&Event| matches!(event, Event::Sync(_));
        counts.syncs += recording.events.iter().filter(is_sync).count();
        let result = cut(&recording, cuts.div_ceil(RUNS), seed, &mut counts);
        result.unwrap_or_else(|error| panic!("{error}"));
        if run == 0 {
            prove(&recording, seed);
        }
    }
    println!("power cuts: {counts:?}");
    let Counts {
        torn,
        kept,
        lost,
        retaining,
        sums,
        ..
    } = counts;
    assert!(
        torn > 0 && kept > 0 && lost > 0,
        "some cuts fell in the middle of something"
    );
    assert!(
        sums.checkpoints > 0 && sums.snapshots > 0 && sums.freed > 0,
        "the steps have checkpoints, snapshots and retention"
    );
    assert!(
        retaining > 0 || cuts < MANY,
        "some cuts fell in the middle of retention"
    );
}

fn record(seed: u64) -> Recording {
    let workload = Arc::new(Workload::new(seed, STEPS, BYTES, TALK));
    let folder = tempfile::tempdir().expect("a folder");
    let log = Log::default();
    log.tell_of_sqlite(Event::clone);
    let open = || SqliteStore::open(file(folder.path())).expect("it opens");
    let mut acknowledged = Vec::new();
    let mut store = open();
    for step in &workload.steps {
        if matches!(step, StoreStep::Reopen) {
            drop(store);
            store = open();
        }
        step.take(&mut store).expect("the disk is sound");
        acknowledged.push(log.len());
    }
    drop(store);
    Recording {
        workload,
        events: log.take(),
        acknowledged,
    }
}

/// Cuts the power again and again. Fails with the first fault.
fn cut(recording: &Recording, cuts: usize, seed: u64, counts: &mut Counts) -> Result<(), String> {
    shim::set_disk(sound);
    let mut random = Random::new(seed);
    let events = &recording.events;
    let is_sync = |event: &Event| matches!(event, Event::Sync(_));
    let mut disk = Disk::default();
    for instant in instants(events, 0, cuts, &mut random, is_sync) {
        let (folder, torn) = disk.cut_at(instant, events, &mut random);
        let done = recording.acknowledged.partition_point(|&at| at <= instant);
        let states = &recording.workload.states[done..];
        let found = recover(&recording.workload, done, folder.path()).map_err(|error| {
            format!("seed {seed}, cut after {instant} events and {done} steps: {error}")
        })?;
        counts.cuts += 1;
        counts.torn += usize::from(torn);
        let step = recording.workload.steps.get(done);
        counts.retaining += usize::from(matches!(step, Some(StoreStep::Retain(..))));
        // If a step changes nothing, the state does not show whether the step was kept or lost. The
        // test does not count such a step.
        if states.len() > 1 && states[0] != states[1] {
            counts.kept += usize::from(found == states[1]);
            counts.lost += usize::from(found == states[0]);
        }
    }
    Ok(())
}

/// Opens the files that a cut left, checks them against the acknowledged steps, and takes the remaining steps.
/// Returns the digest of the store as the cut left it.
fn recover(workload: &Workload, done: usize, folder: &Path) -> Result<Hash, String> {
    let words = |error: StoreError| error.to_string();
    let mut store = SqliteStore::open(file(folder)).map_err(words)?;
    check(&mut store).map_err(words)?;
    session::check(&mut store)?;
    let found = state(&mut store).map_err(words)?;
    let last = workload.states.len().min(done + 2);
    let ahead = workload.states[done..last]
        .iter()
        .position(|state| *state == found);
    let ahead = ahead.ok_or("a step is there in part, or an acknowledged step is missing")?;
    if let Some(step) = workload.steps.get(done + ahead) {
        step.take(&mut store).map_err(words)?;
        if state(&mut store).map_err(words)? != workload.states[done + ahead + 1] {
            return Err("the next step did not have the expected effect".into());
        }
    }
    Ok(found)
}

/// Checks that planted mistakes are found: a disk that forgets its syncs, and steps that are
/// acknowledged before they are committed.
fn prove(recording: &Recording, seed: u64) {
    let mut counts = Counts::default();
    let mut found = |what: &str, recording: &Recording| {
        let result = cut(recording, 100, seed, &mut counts);
        let error = result.expect_err("a planted mistake is found");
        println!("planted: {what}; found: {error}");
    };
    let is_kept = |event: &&Event| !matches!(event, Event::Sync(_) | Event::SyncFolder(_));
    let count = |events: &[Event]| events.iter().filter(is_kept).count();
    let acknowledged = recording.acknowledged.iter();
    let forgetful = Recording {
        workload: Arc::clone(&recording.workload),
        events: recording.events.iter().filter(is_kept).cloned().collect(),
        acknowledged: acknowledged
            .map(|&at| count(&recording.events[..at]))
            .collect(),
    };
    found("a disk that forgets its syncs", &forgetful);
    let mut hasty = recording.clone();
    hasty.acknowledged.rotate_right(1);
    hasty.acknowledged[0] = 0;
    found(
        "steps that are acknowledged before they are committed",
        &hasty,
    );
}
