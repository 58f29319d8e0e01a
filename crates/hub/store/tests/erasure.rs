//! Erased data is gone: from every file of the store, from searches, and for every other process.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{Disk, cold, entry, launch};
use accp_session::{Batch, Entry, Snapshot};
use accp_store::{Erasure, HubFile, SideId, SqliteStore, Store, StoreErrorKind};

const SECRET: &str = "Zitronenfalter";

/// Returns an entry whose text is about a person.
fn telling(position: u64, what: &str) -> Entry {
    entry(position).with(|entry| {
        entry.due = accp_session::Due::No;
        entry.text = Arc::from(entry.text.replace("impl_", &format!("{what}_")));
    })
}

/// Returns the names of the files in a folder that have these bytes.
fn files_with(folder: &Path, what: &str) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let has = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        let mut windows = bytes.windows(what.len());
        windows.any(|window| window == what.as_bytes())
    };
    let found = files.filter(|file| has(&file.path()));
    found
        .map(|file| file.file_name().into_string().unwrap())
        .collect()
}

/// Fills a side with a log, values and snapshots. Half of the entries, half of the values and all snapshots name a
/// person. Every second entry is long, so that it has pages of its own, and rows move when others come between them.
fn fill(store: &mut SqliteStore, side: &SideId) {
    for round in 0..12 {
        let positions = round * 20 + 1..=round * 20 + 20;
        let entries = positions.map(|position| {
            let what = match position % 4 {
                0 => SECRET.to_owned(),
                1 => format!("{SECRET}_{}", "long_".repeat(900)),
                2 => "plain".to_owned(),
                _ => "long_".repeat(200),
            };
            telling(position, &what)
        });
        let text = format!("{{\"hot\":\"{SECRET} {round}\"}}");
        let batch = Batch::new(false).with(|batch| {
            batch.entries = entries.collect();
            batch.cold = vec![
                cold(
                    &format!("k101_{round}"),
                    format!("{SECRET} {round}").as_bytes(),
                ),
                cold(
                    &format!("k102_{round}"),
                    format!("somebody else {round}").as_bytes(),
                ),
            ];
            batch.snapshot = Some(Snapshot {
                position: round * 20 + 20,
                text: text.repeat(200),
            });
        });
        store.commit(&[(side, &batch)]).unwrap();
    }
}

/// Returns an erasure of everything that names the person in a side that [`fill`] has filled.
fn all() -> Erasure {
    Erasure {
        positions: (1..=240).filter(|position| position % 4 < 2).collect(),
        keys: (0..12).map(|round| format!("k101_{round}")).collect(),
        snapshot: Some(Snapshot {
            position: 240,
            text: "{}".into(),
        }),
        lapses: false,
    }
}

#[test]
fn no_file_of_the_store_has_what_was_erased() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("s.accp")).unwrap();
    fill(&mut store, &launch());
    assert!(!files_with(folder.path(), SECRET).is_empty());
    assert_eq!(store.search(&launch(), SECRET, 9).unwrap().len(), 9);
    let freed = store.erase(&[(&launch(), &all())]).unwrap();
    assert_eq!(freed.entries, 120);

    let none: Vec<String> = Vec::new();
    assert_eq!(
        files_with(folder.path(), SECRET),
        none,
        "while the store is open"
    );
    assert_eq!(store.search(&launch(), SECRET, 9).unwrap(), []);
    store.check_file().unwrap();
    store.verify(&launch()).unwrap();
    drop(store);
    assert_eq!(
        files_with(folder.path(), SECRET),
        none,
        "after it is closed"
    );
    assert_ne!(files_with(folder.path(), "somebody else 3"), none);

    // Positions, ids, digests and the rest of the log stay.
    let mut store = SqliteStore::open(folder.path().join("s.accp")).unwrap();
    let gone = store.entry(&launch(), 1).unwrap().unwrap();
    assert_eq!(
        (&*gone.text, gone.mid, gone.sequence),
        ("", entry(1).mid, 1)
    );
    assert_eq!(store.entries(&launch(), 1, 2).unwrap()[0].position, 2);
    let kept = store.cold(&launch(), "k101_3").unwrap().unwrap();
    assert_eq!((kept.expired, kept.value.bytes), (true, None));
    let again = Batch::new(false)
        .with(|batch| batch.entries = vec![entry(1).with(|entry| entry.position = 241)]);
    let error = store.commit(&[(&launch(), &again)]).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Conflict, "a late duplicate");
}

#[test]
fn the_same_bytes_under_two_keys_stay_until_both_are_erased() {
    let mut store = SqliteStore::open_in_memory().unwrap();
    let batch = Batch::new(false)
        .with(|batch| batch.cold = vec![cold("k101_1", b"shared"), cold("k102_1", b"shared")]);
    store.commit(&[(&launch(), &batch)]).unwrap();
    let mut erase = |key: &str| {
        let erasure = Erasure {
            keys: [key.to_owned()].into(),
            ..Erasure::default()
        };
        let freed = store.erase(&[(&launch(), &erasure)]).unwrap();
        let mut bytes = |key| store.cold(&launch(), key).unwrap().unwrap().value.bytes;
        (freed.bytes, bytes("k101_1"), bytes("k102_1"))
    };
    assert_eq!(erase("k101_1"), (0, None, Some(Arc::from(*b"shared"))));
    assert_eq!(erase("k102_1"), (6, None, None));
}

#[test]
fn what_is_needed_is_not_erased() {
    let mut store = SqliteStore::open_in_memory().unwrap();
    common::fill(&mut store).unwrap();
    let mut refusal = |positions: &[u64]| {
        let erasure = Erasure {
            positions: positions.iter().copied().collect(),
            ..Erasure::default()
        };
        store
            .erase(&[(&launch(), &erasure)])
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(refusal(&[8, 12]), @"memory, side `launch@planner`: the text of position 12 is to be erased, and the entry waits for its handler: have it handled, or let it lapse");
    insta::assert_snapshot!(refusal(&[15]), @"memory, side `launch@planner`: the text of position 15 is to be erased, and the snapshot covers the log up to 14: bring a snapshot of the end of the log, because the side is restored from it");
}

#[test]
fn a_reader_that_holds_the_old_pages_is_said_and_erasing_again_completes_it() {
    let (folder, path) = common::place("s.accp");
    let mut store = SqliteStore::open(&path).unwrap();
    fill(&mut store, &launch());
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM frame")
        .unwrap();
    store.set_patience(std::time::Duration::ZERO).unwrap();
    let error = store.erase(&[(&launch(), &all())]).unwrap_err();
    insta::assert_snapshot!(error.to_string().replace(&path.display().to_string(), "s.accp"), @"s.accp: the data is erased from the tables, and its bytes are still in the files, because another process reads them: end that process, then erase again");
    assert_eq!(error.kind(), StoreErrorKind::Busy);
    reader.execute_batch("COMMIT").unwrap();
    let freed = store.erase(&[(&launch(), &all())]).unwrap();
    assert_eq!((freed.entries, freed.bytes), (0, 0));
    assert_eq!(files_with(folder.path(), SECRET), Vec::<String>::new());
}

/// Returns a store with a side on this disk, and the file that takes all of the room but this many bytes.
fn filled_but(disk: &Disk, room: usize) -> (SqliteStore, PathBuf) {
    let path = disk.0.path().join("s.accp");
    let mut store = SqliteStore::open(&path).unwrap();
    fill(&mut store, &launch());
    // The write-ahead log begins anew.
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    let filler = disk.fill();
    let size = fs::metadata(&filler).unwrap().len() as usize;
    fs::write(&filler, vec![7; size - room]).unwrap();
    (store, filler)
}

/// A full disk refuses the commit of an erasure. Then nothing is erased, and no mark says that there is something to
/// complete.
#[test]
fn an_erasure_that_a_full_disk_refuses_leaves_no_mark() {
    let Some(disk) = Disk::mount("8m") else {
        return;
    };
    // The mark has room, and the commit has none.
    let (mut store, filler) = filled_but(&disk, 24 << 10);
    let error = store.erase(&[(&launch(), &all())]).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Full, "{error}");
    assert!(!store.erasure_is_due());
    let whole = store.entry(&launch(), 1).unwrap().unwrap();
    assert!(whole.text.contains(SECRET));
    fs::remove_file(filler).unwrap();
    assert_eq!(store.erase(&[(&launch(), &all())]).unwrap().entries, 120);
    assert!(!store.erasure_is_due());
}

/// A disk without room for a copy of the file lets the data leave the tables, and keeps the file from being written
/// anew.
#[test]
fn an_erasure_without_room_for_a_copy_says_what_is_left() {
    let Some(disk) = Disk::mount("8m") else {
        return;
    };
    let (mut store, filler) = filled_but(&disk, 160 << 10);
    let path = disk.0.path().join("s.accp");
    let first = Erasure {
        positions: [4].into(),
        ..all()
    };
    let error = store.erase(&[(&launch(), &first)]).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Full);
    insta::assert_snapshot!(error.to_string().replace(&path.display().to_string(), "s.accp"), @"s.accp: the data is erased from the tables, and its bytes are still in the file, which could not be written anew (database or disk is full): free space, as much as the file has, then erase again");
    assert!(store.erasure_is_due());
    assert_eq!(&*store.entry(&launch(), 4).unwrap().unwrap().text, "");
    fs::remove_file(filler).unwrap();
    assert_eq!(store.erase(&[(&launch(), &first)]).unwrap().entries, 0);
    assert!(!store.erasure_is_due());
}

/// The process of an erasure may end after its commit, and before the files are written anew.
#[test]
fn the_next_hub_completes_an_erasure_that_was_cut_short() {
    let (folder, path) = common::place("s.accp");
    let mut store = SqliteStore::open(&path).unwrap();
    fill(&mut store, &launch());
    assert!(!store.erasure_is_due());
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM frame")
        .unwrap();
    store.set_patience(std::time::Duration::ZERO).unwrap();
    store.erase(&[(&launch(), &all())]).unwrap_err();
    // A process that ends at this instant leaves these files.
    let left = tempfile::tempdir().unwrap();
    for name in ["s.accp", "s.accp-wal", "s.accp-erase"] {
        fs::copy(folder.path().join(name), left.path().join(name)).unwrap();
    }
    drop((store, reader));
    assert_ne!(files_with(left.path(), SECRET), Vec::<String>::new());

    let path = left.path().join("s.accp");
    let store = SqliteStore::open_read_only(&path).unwrap();
    assert!(store.erasure_is_due());
    drop(store);
    let hub = HubFile::take(&path, "here").unwrap();
    let mut store = hub.open().unwrap();
    assert_eq!(files_with(left.path(), SECRET), Vec::<String>::new());
    assert!(!store.erasure_is_due());
    assert!(!store.complete_erasure().unwrap());
    store.check_file().unwrap();
    store.verify(&launch()).unwrap();
}

#[test]
fn a_file_that_is_in_use_is_not_taken_alone() {
    let (_folder, path) = common::place("s.accp");
    assert_eq!(
        SqliteStore::open_alone(&path).unwrap_err().kind(),
        StoreErrorKind::Io
    );
    let mut store = SqliteStore::open(&path).unwrap();
    store.list().unwrap();
    let error = SqliteStore::open_alone(&path).unwrap_err();
    insta::assert_snapshot!(error.to_string().replace(&path.display().to_string(), "s.accp"), @"s.accp: another process has the file open: end that process, or have it do the work");
    assert_eq!(error.kind(), StoreErrorKind::Busy);
    common::fill(&mut store).unwrap();
    drop(store);

    let mut alone = SqliteStore::open_alone(&path).unwrap();
    common::lapse(&mut alone).unwrap();
    let other = SqliteStore::open_read_only(&path);
    assert!(other.is_err() || other.unwrap().list().is_err());
    drop(alone);
    let mut store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.list().unwrap().len(), 2);
    assert!(
        path.with_extension("accp-wal").exists(),
        "it is in WAL again"
    );
}
