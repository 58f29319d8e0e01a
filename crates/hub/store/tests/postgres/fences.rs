//! Two processes never run one side.

use accp_session::{Batch, Snapshot};
use accp_store::{Committer, Retention, SideId, Store, StoreError, StoreErrorKind};

use crate::server::{Schema, entry, launch};

fn is_stale(error: &StoreError, side: &SideId) {
    assert_eq!(error.kind(), StoreErrorKind::Conflict);
    assert_eq!(error.side(), Some(side));
    let text = error.to_string();
    assert!(
        text.contains("another process has opened this side since"),
        "{text}"
    );
}

#[test]
fn what_has_lost_its_side_writes_nothing_more() {
    let schema = Schema::new();
    let (mut old, mut new) = (schema.open(), schema.open());
    let side = launch();
    assert_eq!(old.open(&side).unwrap(), None);
    // A side that was opened without a commit is not listed.
    assert_eq!(old.list().unwrap(), []);
    old.commit(&[(&side, &entry(1))]).unwrap();
    assert_eq!(new.open(&side).unwrap().unwrap().entries.len(), 1);

    let snapshot = Batch::new(true).with(|batch| {
        batch.snapshot = Some(Snapshot {
            position: 1,
            text: "{}".into(),
        });
    });
    for batch in [entry(2), snapshot] {
        is_stale(&old.commit(&[(&side, &batch)]).unwrap_err(), &side);
    }
    is_stale(&old.retain(&side, Retention::default()).unwrap_err(), &side);
    is_stale(&old.delete(&side).unwrap_err(), &side);
    assert_eq!(old.load(&side).unwrap().unwrap().last, 1, "it still reads");
    new.commit(&[(&side, &entry(2))]).unwrap();

    // The old store may take the side back. Then the new store has lost it.
    assert_eq!(old.open(&side).unwrap().unwrap().last, 2);
    old.commit(&[(&side, &entry(3))]).unwrap();
    is_stale(&new.retain(&side, Retention::default()).unwrap_err(), &side);
    is_stale(&new.commit(&[(&side, &entry(4))]).unwrap_err(), &side);
}

#[test]
fn the_number_of_a_side_outlives_the_side() {
    let schema = Schema::new();
    let (mut old, mut new) = (schema.open(), schema.open());
    let side = launch();
    old.open(&side).unwrap();
    old.commit(&[(&side, &entry(1))]).unwrap();
    assert!(new.delete(&side).unwrap());
    let mut third = schema.open();
    third.open(&side).unwrap();
    is_stale(&old.commit(&[(&side, &entry(1))]).unwrap_err(), &side);
    is_stale(&new.commit(&[(&side, &entry(1))]).unwrap_err(), &side);
    third.commit(&[(&side, &entry(1))]).unwrap();
}

#[test]
fn a_store_that_commits_without_opening_opens_the_side() {
    let schema = Schema::new();
    let (mut running, mut tool) = (schema.open(), schema.open());
    let side = launch();
    running.open(&side).unwrap();
    running.commit(&[(&side, &entry(1))]).unwrap();
    // Retention works without opening the side, so the running store keeps it.
    tool.retain(&side, Retention { log_before: 9 }).unwrap();
    running.commit(&[(&side, &entry(2))]).unwrap();
    // After a refused commit the running store still has the side.
    tool.commit(&[(&side, &entry(2))]).unwrap_err();
    running.commit(&[(&side, &entry(3))]).unwrap();
    tool.commit(&[(&side, &entry(4))]).unwrap();
    is_stale(&running.commit(&[(&side, &entry(5))]).unwrap_err(), &side);
}

#[test]
fn only_lost_sides_fail_in_a_group() {
    let schema = Schema::new();
    let sides: Vec<_> = (0..40)
        .map(|n| SideId::new(format!("s{n}"), "hub"))
        .collect();
    let committer = Committer::new(schema.open()).unwrap();
    let open: Vec<_> = sides
        .iter()
        .map(|side| committer.open(side).wait().unwrap().0)
        .collect();
    let mut other = schema.open();
    for side in sides.iter().step_by(4) {
        other.open(side).unwrap();
    }
    // The committer is held up, so that all batches make one group.
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let held_up = committer.ask(move |_| Ok(wait.recv().is_err()));
    let pending: Vec<_> = open
        .iter()
        .map(|side| side.commit(Box::new(entry(1))))
        .collect();
    drop(go);
    held_up.wait().unwrap();
    for (number, (side, pending)) in sides.iter().zip(pending).enumerate() {
        match pending.wait() {
            Ok(_) => assert!(number % 4 != 0, "{side}"),
            Err(error) => {
                assert!(number % 4 == 0, "{error}");
                is_stale(&error, side);
            }
        }
    }
    assert_eq!(other.list().unwrap().len(), 30);
}

#[test]
fn all_lost_sides_of_a_group_are_found_at_once() {
    let schema = Schema::new();
    let (mut old, mut new) = (schema.open(), schema.open());
    let sides = ["a", "b", "c"].map(|name| SideId::new(name, "hub"));
    for side in &sides {
        old.open(side).unwrap();
        old.commit(&[(side, &entry(1))]).unwrap();
        new.open(side).unwrap();
    }
    let batch = entry(2);
    let group: Vec<_> = sides.iter().map(|side| (side, &batch)).collect();
    is_stale(&old.commit(&group).unwrap_err(), &sides[0]);
    let before = old.round_trips();
    is_stale(&old.commit(&group[1..]).unwrap_err(), &sides[1]);
    is_stale(&old.commit(&group[2..]).unwrap_err(), &sides[2]);
    assert_eq!(old.round_trips(), before, "the store knows it");
}

/// Many processes take one side from each other and commit. Each successful commit has one entry in the log, and the
/// log has no gaps.
#[test]
fn processes_that_race_for_a_side_make_one_log() {
    let schema = Schema::new();
    drop(schema.open());
    let side = launch();
    let committed: usize = std::thread::scope(|scope| {
        let run = || {
            let mut store = schema_store(&schema.url);
            let mut done = 0;
            for _ in 0..15 {
                let last = store.open(&side).unwrap().map_or(0, |stored| stored.last);
                for step in 1..=3 {
                    match store.commit(&[(&side, &entry(last + step))]) {
                        Ok(()) => done += 1,
                        Err(error) => {
                            is_stale(&error, &side);
                            break;
                        }
                    }
                }
            }
            done
        };
        let running: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        running.into_iter().map(|one| one.join().unwrap()).sum()
    });
    let mut store = schema.open();
    let summary = store.summary(&side).unwrap().unwrap();
    assert_eq!(summary.last, committed as u64);
    assert_eq!(summary.entries, committed as u64);
    store.verify(&side).unwrap();
}

fn schema_store(url: &str) -> accp_store::PostgresStore {
    accp_store::PostgresStore::open(url).unwrap()
}
