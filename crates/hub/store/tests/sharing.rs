//! Several connections to one file at the same time.

use crate::common;

use accp_session::Batch;
use accp_store::{SideId, SqliteStore, Store, StoreErrorKind};

use crate::common::{entry, launch};

#[test]
fn all_that_open_a_new_file_at_once_write_to_it() {
    let (_folder, path) = common::place("sessions.accp");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let mut store = SqliteStore::open(path).unwrap();
                let side = SideId::new("launch", format!("agent {thread}"));
                for position in 1..=20 {
                    let batch =
                        Batch::new(false).with(|batch| batch.entries = vec![entry(position)]);
                    store.commit(&[(&side, &batch)]).unwrap();
                }
            });
        }
    });
    let mut store = SqliteStore::open(&path).unwrap();
    let all = store.list().unwrap();
    assert_eq!(all.len(), 8);
    for summary in all {
        assert_eq!((summary.entries, summary.last), (20, 20));
        store.verify(&summary.side).unwrap();
    }
    store.check_file().unwrap();
}

#[test]
fn of_two_that_handle_one_frame_only_one_commits() {
    let (_folder, path) = common::place("sessions.accp");
    let mut store = SqliteStore::open(&path).unwrap();
    common::fill(&mut store).unwrap();
    let reply = Batch::new(false).with(|batch| {
        batch.handled = vec![10];
        batch.entries = vec![entry(21)];
    });
    let results: Vec<_> = std::thread::scope(|scope| {
        let path = &path;
        let threads = [(); 4].map(|()| {
            let reply = &reply;
            scope.spawn(move || {
                SqliteStore::open(path)
                    .unwrap()
                    .commit(&[(&launch(), reply)])
            })
        });
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    for error in results.into_iter().filter_map(Result::err) {
        assert_eq!(error.kind(), StoreErrorKind::Conflict);
    }
    assert_eq!(store.load(&launch()).unwrap().unwrap().last, 21);
}

#[test]
fn one_that_only_looks_sees_every_commit_of_one_that_writes() {
    let (_folder, path) = common::place("sessions.accp");
    let mut writer = SqliteStore::open(&path).unwrap();
    let mut reader = SqliteStore::open_read_only(&path).unwrap();
    for position in 1..=20 {
        let batch = Batch::new(false).with(|batch| batch.entries = vec![entry(position)]);
        writer.commit(&[(&launch(), &batch)]).unwrap();
        assert_eq!(reader.load(&launch()).unwrap().unwrap().last, position);
    }
}
