//! Batches of many sides, committed together.

use crate::common;

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accp_session::Batch;
use accp_store::{
    Committer, MemoryStore, OpenSide, Pending, SideId, SqliteStore, Store, StoreError,
    StoreErrorKind, conformance,
};
use accp_testkit::Tapped;
use insta::assert_snapshot;

use crate::common::entry;

/// A store in memory that records the sizes of its groups, and fails when the test wants it.
#[derive(Clone, Default)]
struct Watched {
    groups: Arc<Mutex<Vec<usize>>>,
    fails: Arc<Mutex<Option<StoreErrorKind>>>,
    slow: Duration,
}

impl Watched {
    fn store(&self) -> Tapped<MemoryStore> {
        let watched = self.clone();
        Tapped::new(MemoryStore::new(), move |store, group| {
            std::thread::sleep(watched.slow);
            watched.groups.lock().unwrap().push(group.len());
            match *watched.fails.lock().unwrap() {
                Some(kind) => Err(StoreError::new(kind, "as the test wants it")),
                None => store.commit(group),
            }
        })
    }
}

fn open(committer: &Committer, agent: &str) -> OpenSide {
    committer.open(&SideId::new("s", agent)).wait().unwrap().0
}

fn batch(position: u64) -> Box<Batch> {
    Box::new(Batch::new(false).with(|batch| batch.entries = vec![entry(position)]))
}

/// Holds up the thread of the committer until the returned sender is dropped.
fn hold_up(committer: &Committer) -> (Sender<()>, Pending<bool>) {
    let ((go, wait), (begins, begun)) = (mpsc::channel(), mpsc::channel());
    let held_up = committer.ask(move |_| {
        begins.send(()).unwrap();
        Ok(wait.recv().is_err())
    });
    begun.recv().unwrap();
    (go, held_up)
}

fn last(committer: &Committer, agent: &str) -> u64 {
    let side = SideId::new("s", agent);
    let summary = committer.ask(move |store| store.summary(&side)).wait();
    summary.unwrap().map_or(0, |summary| summary.last)
}

#[test]
fn what_is_committed_together_is_kept_as_if_it_were_alone() {
    conformance::run_committed(128, MemoryStore::new);
    conformance::run_committed(128, || SqliteStore::open_in_memory().unwrap());
}

#[test]
fn what_arrives_during_a_commit_makes_one_group() {
    let watched = Watched::default();
    let committer = Committer::new(watched.store()).unwrap();
    let sides = ["a", "b", "c"].map(|agent| open(&committer, agent));
    let (go, held_up) = hold_up(&committer);
    let pending: Vec<_> = (1..=200)
        .flat_map(|position| sides.each_ref().map(|side| side.commit(batch(position))))
        .collect();
    drop(go);
    held_up.wait().unwrap();
    for pending in pending {
        pending.wait().unwrap();
    }
    assert_eq!(*watched.groups.lock().unwrap(), [256, 256, 88]);

    // A group also has a maximum number of bytes.
    watched.groups.lock().unwrap().clear();
    let (go, held_up) = hold_up(&committer);
    let pending: Vec<_> = (201..=206)
        .map(|position| {
            let mut batch = batch(position);
            batch.entries[0].text = "x".repeat(1 << 20).into();
            sides[0].commit(batch)
        })
        .collect();
    let huge = common::cold("k101_1", &vec![0; 5 << 20]);
    let huge = sides[1].commit(Box::new(
        Batch::new(false).with(|batch| batch.cold = vec![huge]),
    ));
    let after = sides[2].commit(batch(201));
    drop(go);
    held_up.wait().unwrap();
    for pending in pending.into_iter().chain([huge, after]) {
        pending.wait().unwrap();
    }
    assert_eq!(*watched.groups.lock().unwrap(), [4, 2, 1, 1]);
}

#[test]
fn only_the_guilty_fails_and_nothing_is_committed_over_a_hole() {
    let committer = Committer::new(MemoryStore::new()).unwrap();
    let [good, bad, other] = ["good", "bad", "other"].map(|agent| open(&committer, agent));
    let (go, held_up) = hold_up(&committer);
    let kept = [
        good.commit(batch(1)),
        bad.commit(batch(1)),
        good.commit(batch(2)),
    ];
    let refused = bad.commit(batch(1));
    let over_a_hole = bad.commit(batch(3));
    let after = [other.commit(batch(1)), good.commit(batch(3))];
    drop(go);
    held_up.wait().unwrap();
    for pending in kept.into_iter().chain(after) {
        pending.wait().unwrap();
    }
    assert_snapshot!(refused.wait().unwrap_err(), @"side `s@bad`: an entry at position 1, where the log stands at 1: probably a second process has this side of the session open; close one of the two, then restore the session from its store");
    assert_snapshot!(over_a_hole.wait().unwrap_err(), @"side `s@bad`: a batch before this one was not kept (side `s@bad`: an entry at position 1, where the log stands at 1: probably a second process has this side of the session open; close one of the two, then restore the session from its store): open the side again");
    assert_eq!(
        ["good", "bad", "other"].map(|agent| last(&committer, agent)),
        [3, 1, 1]
    );
    // Later batches fail too.
    let error = bad.commit(batch(4)).wait().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Conflict);

    let again = open(&committer, "bad");
    again.commit(batch(4)).wait().unwrap();
    assert_snapshot!(bad.commit(batch(5)).wait().unwrap_err(), @"side `s@bad`: the side was opened again: only the last opening may commit");
    // Dropping the earlier handle does not affect the new one.
    drop(bad);
    again.commit(batch(5)).wait().unwrap();
    assert_eq!(last(&committer, "bad"), 5);
}

#[test]
fn a_store_that_is_busy_fails_the_group_and_goes_on() {
    let watched = Watched::default();
    let committer = Committer::new(watched.store()).unwrap();
    let sides = ["a", "b"].map(|agent| open(&committer, agent));
    *watched.fails.lock().unwrap() = Some(StoreErrorKind::Busy);
    let errors = sides
        .each_ref()
        .map(|side| side.commit(batch(1)).wait().unwrap_err());
    assert!(
        errors
            .iter()
            .all(|error| error.kind() == StoreErrorKind::Busy)
    );
    *watched.fails.lock().unwrap() = None;
    // The session of this side may be ahead of the store, so the side has to be opened again.
    let error = sides[0].commit(batch(2)).wait().unwrap_err();
    assert_snapshot!(error, @"side `s@a`: a batch before this one was not kept (as the test wants it): open the side again");
    open(&committer, "a").commit(batch(1)).wait().unwrap();
}

#[test]
fn a_disk_that_fails_ends_everything() {
    let watched = Watched::default();
    let committer = Committer::new(watched.store()).unwrap();
    let sides = ["a", "b"].map(|agent| open(&committer, agent));
    *watched.fails.lock().unwrap() = Some(StoreErrorKind::Io);
    let error = sides[0].commit(batch(1)).wait().unwrap_err();
    assert_snapshot!(error, @"as the test wants it");
    *watched.fails.lock().unwrap() = None;
    let error = sides[1].commit(batch(1)).wait().unwrap_err();
    assert_snapshot!(error, @"the store has failed (as the test wants it): open it anew");
    let read = committer.ask(|store| store.list()).wait().unwrap_err();
    let open = committer.open(&SideId::new("s", "a")).wait().unwrap_err();
    let entries = sides[1].entries(0, 9).wait().unwrap_err();
    for error in [error, read, open, entries] {
        assert_eq!(error.kind(), StoreErrorKind::Io);
    }
}

#[test]
fn dropping_it_finishes_what_was_submitted() {
    let watched = Watched {
        slow: Duration::from_millis(20),
        ..Watched::default()
    };
    let mut store = Arc::new(Mutex::new(watched.store()));
    let committer = Committer::new(Arc::clone(&store)).unwrap();
    let side = open(&committer, "a");
    let pending: Vec<_> = (1..=3)
        .map(|position| side.commit(batch(position)))
        .collect();
    drop(committer);
    drop(side);
    let kept = store.load(&SideId::new("s", "a")).unwrap().unwrap();
    assert_eq!(kept.last, 3);
    for pending in pending {
        pending.wait().unwrap();
    }
}

#[test]
fn a_store_that_panics_leaves_nobody_waiting() {
    let committer = Committer::new(MemoryStore::new()).unwrap();
    let side = open(&committer, "a");
    let (go, held_up) = hold_up(&committer);
    let asked = committer.ask(|_| -> Result<(), StoreError> { panic!("as the test wants it") });
    let read = side.cold("k101_1");
    drop(go);
    held_up.wait().unwrap();
    let ended = "the thread that has the store has ended: open the store anew";
    assert_eq!(asked.wait().unwrap_err().to_string(), ended);
    assert_eq!(read.wait().unwrap_err().to_string(), ended);
    assert_eq!(side.commit(batch(1)).wait().unwrap_err().to_string(), ended);
}

/// 100 sides share one executor thread, which must go on while the store takes its time.
#[test]
fn tokio_awaits_it_without_a_thread_a_session() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let watched = Watched {
        slow: Duration::from_millis(5),
        ..Watched::default()
    };
    let committer = Committer::new(watched.store()).unwrap();
    runtime.block_on(async {
        let ticks = tokio::spawn(async {
            let mut clock = tokio::time::interval(Duration::from_millis(1));
            let mut ticks = 0_u32;
            while ticks < 20 {
                clock.tick().await;
                ticks += 1;
            }
        });
        let mut tasks = Vec::new();
        for agent in 0..100 {
            let committer = committer.clone();
            tasks.push(tokio::spawn(async move {
                let side = SideId::new("s", format!("a{agent}"));
                let (side, _) = committer.open(&side).await.unwrap();
                for position in 1..=20 {
                    side.commit(batch(position)).await.unwrap();
                    assert_eq!(side.entries(position, 9).await.unwrap().len(), 1);
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert!(ticks.is_finished(), "the executor stood still");
    });
    let groups = watched.groups.lock().unwrap().clone();
    assert_eq!(groups.iter().sum::<usize>(), 2000);
    assert!(groups.len() < 200, "{} commits", groups.len());
}

#[test]
fn without_a_thread_who_submits_does_the_work_and_nobody_is_left_waiting() {
    let committer = Committer::inline(MemoryStore::new());
    let threads: Vec<_> = (0..4)
        .map(|agent| {
            let committer = committer.clone();
            std::thread::spawn(move || {
                let side = open(&committer, &format!("a{agent}"));
                let pending: Vec<_> = (1..=200).map(|at| side.commit(batch(at))).collect();
                for pending in pending {
                    pending.wait().unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(
        ["a0", "a3"].map(|agent| last(&committer, agent)),
        [200, 200]
    );

    // A store without a thread of its own also ends when a job panics.
    let side = open(&committer, "a");
    let asks = committer.clone();
    let panicked = std::thread::spawn(move || {
        drop(asks.ask(|_| -> Result<(), StoreError> { panic!("planted") }));
    });
    assert!(panicked.join().is_err());
    assert!(side.commit(batch(1)).wait().is_err());
}
