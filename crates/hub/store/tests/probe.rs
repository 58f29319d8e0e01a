//! A probe tells whether a store can keep data, and does not change the store.

use crate::common::{self, Disk};

use std::fs;
use std::path::{Path, PathBuf};

use accp_session::Batch;
use accp_store::{MemoryStore, SqliteStore, Store, StoreErrorKind};
use tempfile::TempDir;

/// A store with data in a folder of its own.
fn filled() -> (TempDir, PathBuf, SqliteStore) {
    let (folder, path) = common::place("sessions.accp");
    let mut store = SqliteStore::open(&path).unwrap();
    common::fill(&mut store).unwrap();
    (folder, path, store)
}

/// Returns the error of a probe, without the name of the file.
fn shown(store: &mut SqliteStore, path: &Path) -> String {
    let error = store.probe().unwrap_err();
    let text = error.to_string();
    let text = text.replace(&path.display().to_string(), "FILE");
    format!("{:?}: {text}", error.kind())
}

fn sizes(path: &Path) -> [u64; 2] {
    ["", "-wal"].map(|end| {
        let name = format!("{}{end}", path.display());
        fs::metadata(name).unwrap().len()
    })
}

#[test]
fn a_probe_changes_nothing_and_the_files_do_not_grow() {
    let (_folder, path, mut store) = filled();
    let before = common::dump(&mut store).unwrap();
    for _ in 0..10 {
        store.probe().unwrap();
    }
    let first = sizes(&path);
    for _ in 0..1_000 {
        store.probe().unwrap();
    }
    assert_eq!(sizes(&path), first);
    assert_eq!(common::dump(&mut store).unwrap(), before);
    store.check_file().unwrap();
    MemoryStore::new().probe().unwrap();
    SqliteStore::open_in_memory().unwrap().probe().unwrap();
    // `Box<dyn Store>` passes the probe on to the store inside.
    fs::remove_file(&path).unwrap();
    let mut boxed: Box<dyn Store> = Box::new(store);
    assert_eq!(boxed.probe().unwrap_err().kind(), StoreErrorKind::Gone);
}

#[test]
fn a_probe_finds_a_file_that_was_removed_or_replaced() {
    let (folder, path, mut store) = filled();
    let away = folder.path().join("away.accp");
    fs::rename(&path, &away).unwrap();
    insta::assert_snapshot!(shown(&mut store, &path), @"Gone: FILE: the file was removed or moved away while it was open, so that no other process finds what is committed now: put the file back, or a copy from a backup, then open the store anew");
    fs::copy(&away, &path).unwrap();
    insta::assert_snapshot!(shown(&mut store, &path), @"Gone: FILE: another file took its place while it was open, so that no other process finds what is committed now: put the file back, or a copy from a backup, then open the store anew");
    fs::rename(&away, &path).unwrap();
    store.probe().unwrap();
}

fn ahead(path: &Path) -> PathBuf {
    format!("{}-wal", path.display()).into()
}

fn values(keys: &[&str]) -> Batch {
    Batch::new(false).with(|batch| {
        batch.cold = keys
            .iter()
            .map(|key| common::cold(key, key.as_bytes()))
            .collect();
    })
}

/// If the write-ahead log is removed, the acknowledged commits are saved, and further commits are refused.
#[test]
fn a_write_ahead_log_that_was_removed_takes_no_commits() {
    for replaces in [false, true] {
        let (_folder, path, mut store) = filled();
        store
            .commit(&[(&common::launch(), &values(&["k1"]))])
            .unwrap();
        fs::remove_file(ahead(&path)).unwrap();
        if replaces {
            fs::write(ahead(&path), "").unwrap();
        }
        let refused = store.commit(&[(&common::launch(), &values(&["k2"]))]);
        assert_eq!(refused.unwrap_err().kind(), StoreErrorKind::Gone);
        let shown = shown(&mut store, &path);
        assert!(shown.contains("was removed or replaced"), "{shown}");
        // The copy stands for the file after a kill, because the store has written nothing more to
        // it.
        let copy = path.with_extension("copy");
        fs::copy(&path, &copy).unwrap();
        let mut again = SqliteStore::open(&copy).unwrap();
        again.check_file().unwrap();
        assert!(again.cold(&common::launch(), "k1").unwrap().is_some());
        assert!(again.cold(&common::launch(), "k2").unwrap().is_none());
    }
}

#[test]
fn a_write_ahead_log_that_was_cut_takes_no_commits_and_does_not_spoil_the_file() {
    for length in [0, 5_000] {
        let (_folder, path, mut store) = filled();
        store.probe().unwrap();
        for n in 0..40 {
            let keys = [&*format!("k{n}")];
            store
                .commit(&[(&common::launch(), &values(&keys))])
                .unwrap();
        }
        let log = fs::File::options().write(true).open(ahead(&path)).unwrap();
        log.set_len(length).unwrap();
        let refused = store.commit(&[(&common::launch(), &values(&["k77"]))]);
        assert_eq!(refused.unwrap_err().kind(), StoreErrorKind::Gone);
        let shown = shown(&mut store, &path);
        assert!(shown.contains("was cut"), "{shown}");
        drop(store);
        let mut again = SqliteStore::open(&path).unwrap();
        again.check_file().unwrap();
        again.verify(&common::launch()).unwrap();
    }
}

/// Another process may empty the log into the file. This does not damage the store.
#[test]
fn a_write_ahead_log_that_another_process_empties_is_fine() {
    for how in [
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)",
    ] {
        let (_folder, path, mut store) = filled();
        for key in ["k1", "k2", "k3"] {
            store
                .commit(&[(&common::launch(), &values(&[key]))])
                .unwrap();
            let other = rusqlite::Connection::open(&path).unwrap();
            other.execute_batch(how).unwrap();
            assert_eq!(sizes(&path)[1], 0);
        }
        store.probe().unwrap();
        assert!(store.cold(&common::launch(), "k1").unwrap().is_some());
    }
}

#[test]
fn a_probe_really_writes() {
    let (_folder, path, mut store) = filled();
    let mut reader = SqliteStore::open_read_only(&path).unwrap();
    insta::assert_snapshot!(shown(&mut reader, &path), @"Io: FILE: attempt to write a readonly database: check that the folder exists and is writable, and that the store was not opened read-only");
    store.set_patience(std::time::Duration::ZERO).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.probe().unwrap_err().kind(), StoreErrorKind::Busy);
    other.execute_batch("COMMIT").unwrap();
    store.probe().unwrap();
    // A reader may keep the write-ahead log from beginning anew, which is not a fault.
    other
        .execute_batch("BEGIN; SELECT * FROM sqlite_schema")
        .unwrap();
    store.probe().unwrap();
    store.probe().unwrap();
}

#[test]
fn a_probe_finds_a_full_disk() {
    let Some(disk) = Disk::mount("2m") else {
        return;
    };
    let path = disk.0.path().join("sessions.accp");
    let mut store = SqliteStore::open(&path).unwrap();
    common::fill(&mut store).unwrap();
    store.probe().unwrap();
    let filler = disk.fill();
    insta::assert_snapshot!(shown(&mut store, &path), @"Full: FILE: the disk has no room for 65536 bytes: free space");
    fs::remove_file(filler).unwrap();
    store.probe().unwrap();
    common::lapse(&mut store).unwrap();
}

/// On a full disk the write-ahead log takes commits as long as the log need not grow. Commits fail when a checkpoint
/// has to write pages to the file.
#[test]
fn a_probe_finds_a_disk_that_takes_commits_only_for_a_while() {
    let Some(disk) = Disk::mount("4m") else {
        return;
    };
    let path = disk.0.path().join("sessions.accp");
    let mut store = SqliteStore::open(&path).unwrap();
    let batch = |key: &str| {
        Batch::new(false)
            .with(|batch| batch.cold = vec![common::cold(key, key.repeat(40_000).as_bytes())])
    };
    store.commit(&[(&common::launch(), &batch("k1"))]).unwrap();
    store.probe().unwrap();
    let filled = fs::metadata(disk.fill()).unwrap().len() as usize;
    store.commit(&[(&common::launch(), &batch("k2"))]).unwrap();
    // The file cannot grow, although the disk still has a little room.
    fs::write(disk.0.path().join("filler"), vec![7; filled - (70 << 10)]).unwrap();
    let error = store.probe().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Full, "{error}");
    assert!(error.to_string().contains("is full"), "{error}");
    // The store still has what was committed.
    assert_eq!(store.cold_keys(&common::launch()).unwrap(), ["k1", "k2"]);
}
