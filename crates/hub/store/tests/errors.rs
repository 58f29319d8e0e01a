//! Errors name the place and the cure. Their kind tells which remedy helps.

use crate::common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use accp_registry::Hash;
use accp_session::{Batch, Cold, OutboxChange, Snapshot};
use accp_store::{SqliteStore, Store, StoreError, StoreErrorKind};
use insta::assert_snapshot;
use tempfile::TempDir;

use crate::common::{cold, entry, launch, outgoing, tamper};

/// Makes a file with a row in every table.
fn file() -> (TempDir, PathBuf) {
    let (folder, path) = common::place("sessions.accp");
    let mut store = SqliteStore::open(&path).unwrap();
    common::fill(&mut store).unwrap();
    (folder, path)
}

/// Returns the kind and the text of an error, without the name of the folder.
fn words(error: &StoreError, path: &Path) -> String {
    let folder = path.parent().unwrap().display().to_string();
    format!("{:?}: {error}", error.kind()).replace(&format!("{folder}/"), "")
}

/// Returns the error for a batch for the side that [`file`] makes.
fn refusal(batch: &Batch) -> String {
    let (_folder, path) = file();
    let mut store = SqliteStore::open(&path).unwrap();
    let before = common::dump(&mut store).unwrap();
    let error = store.commit(&[(&launch(), batch)]).unwrap_err();
    assert_eq!(error.side(), Some(&launch()));
    assert_eq!(common::dump(&mut store).unwrap(), before);
    words(&error, &path)
}

/// Returns the error for reading a file that was changed by this statement.
fn damage(sql: &str) -> String {
    let (_folder, path) = file();
    tamper(&path, sql);
    let read = || {
        let mut store = SqliteStore::open(&path)?;
        store.verify(&launch())?;
        store.check_file()
    };
    let error = read().unwrap_err();
    words(&error, &path)
}

#[test]
fn conflicts() {
    let entries = |entries| refusal(&Batch::new(false).with(|batch| batch.entries = entries));
    assert_snapshot!(entries(vec![entry(20)]), @"Conflict: sessions.accp, side `launch@planner`: an entry at position 20, where the log stands at 20: probably a second process has this side of the session open; close one of the two, then restore the session from its store");
    let mut twice = entry(21);
    twice.mid = entry(9).mid;
    assert_snapshot!(entries(vec![twice]), @"Conflict: sessions.accp, side `launch@planner`: the entry at position 21 has the message id 101000001009, which is that of position 9: probably a second process has this side of the session open; close one of the two, then restore the session from its store");
    let mut large = entry(21);
    large.sequence = u64::MAX;
    assert_snapshot!(entries(vec![large]), @"Conflict: sessions.accp, side `launch@planner`: the number 18446744073709551615 is over 9223372036854775807, the largest that a store keeps");
    let handled = vec![9];
    assert_snapshot!(refusal(&Batch::new(false).with(|batch| batch.handled = handled)), @"Conflict: sessions.accp, side `launch@planner`: position 9 is marked and is not due, because it was marked before: probably a second process has this side of the session open; close one of the two, then restore the session from its store");
    let outbox = vec![OutboxChange::Put(outgoing(2, "102000001009"))];
    assert_snapshot!(refusal(&Batch::new(false).with(|batch| batch.outbox = outbox)), @"Conflict: sessions.accp, side `launch@planner`: place 2 of the outbox is for 102000001009 and taken by m2: probably a second process has this side of the session open; close one of the two, then restore the session from its store");
    let epoch = Some(4);
    assert_snapshot!(refusal(&Batch::new(true).with(|batch| batch.epoch = epoch)), @"Conflict: sessions.accp, side `launch@planner`: a batch of the host, where the side of a member is kept: open the session as what it is, or under another agent");
    let epoch = Some(3);
    assert_snapshot!(refusal(&Batch::new(false).with(|batch| batch.epoch = epoch)), @"Conflict: sessions.accp, side `launch@planner`: epoch 3, where 3 was used: probably a second process has this side of the session open; close one of the two, then restore the session from its store");
    let snapshot = Some(Snapshot {
        position: 13,
        text: String::new(),
    });
    assert_snapshot!(refusal(&Batch::new(false).with(|batch| batch.snapshot = snapshot)), @"Conflict: sessions.accp, side `launch@planner`: a snapshot at position 13, where one at 14 is kept: probably a second process has this side of the session open; close one of the two, then restore the session from its store");
    let values = |cold| refusal(&Batch::new(false).with(|batch| batch.cold = vec![cold]));
    assert_snapshot!(values(cold("k101_1", b"other")), @"Conflict: sessions.accp, side `launch@planner`: key `k101_1` is kept with digest b5c9b31e784fd895c11ed4cbf59edc6e21c4a1949712b04d78ac1ee2b3b1b061 and 6960 bytes, and put with digest d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa and 5 bytes: put other bytes under another key");
    let wrong = Cold {
        digest: Hash::of(b""),
        ..cold("k9", b"bytes")
    };
    assert_snapshot!(values(wrong), @"Conflict: sessions.accp, side `launch@planner`: key `k9` is put with digest e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 and 5 bytes, and its bytes have digest 277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9 and are 5: fetch them again");
}

#[test]
fn files_of_others() {
    let (folder, path) = common::place("notes.txt");
    std::fs::write(&path, "Remember the milk. ".repeat(100)).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert_snapshot!(words(&error, &path), @"Foreign: notes.txt: file is not a database: the file is not a store of sessions: name another file, or a new one");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "Remember the milk. ".repeat(100)
    );

    let path = folder.path().join("other.sqlite");
    tamper(&path, "CREATE TABLE milk (bottles INTEGER)");
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert_snapshot!(words(&error, &path), @"Foreign: other.sqlite: the file is not a store of sessions: name another file, or a new one");
    let error = SqliteStore::open_read_only(&path).unwrap_err();
    assert_snapshot!(words(&error, &path), @"Foreign: other.sqlite: the file is not a store of sessions: name another file, or a new one");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// A program that creates a store can be killed at any of these instants. The next opening completes
/// the store.
#[test]
fn a_store_whose_creation_was_cut_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("no_header.accp"), "").unwrap();
    tamper(&path("header.accp"), "PRAGMA journal_mode = WAL");
    // The connection has written a page, and its transaction is still open.
    let conn = rusqlite::Connection::open(path("open")).unwrap();
    let spill = "PRAGMA cache_size = 1; BEGIN; CREATE TABLE t (bytes);
        INSERT INTO t VALUES (zeroblob(100000)), (zeroblob(100000))";
    conn.execute_batch(spill).unwrap();
    for end in ["", "-journal"] {
        let to = path(&format!("journal.accp{end}"));
        std::fs::copy(path(&format!("open{end}")), to).unwrap();
    }
    for name in ["no_header.accp", "header.accp", "journal.accp"] {
        let path = path(name);
        let error = SqliteStore::open_read_only(&path).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unfinished, "{error}");
        assert!(
            error
                .to_string()
                .ends_with("run that command again, or remove the file"),
            "{error}"
        );
        drop(SqliteStore::open(&path).unwrap());
        let mut store = SqliteStore::open_read_only(&path).unwrap();
        store.check_file().unwrap();
        assert!(store.list().unwrap().is_empty());
    }
}

#[test]
fn files_of_other_versions() {
    let (_folder, path) = file();
    tamper(&path, "PRAGMA user_version = 7");
    let error = SqliteStore::open(&path).unwrap_err();
    assert_snapshot!(words(&error, &path), @"Version: sessions.accp: the file has format 7, and this version reads format 6: update, or export the sessions with the version that wrote it");
    tamper(&path, "PRAGMA user_version = 1");
    let error = SqliteStore::open(&path).unwrap_err();
    assert_snapshot!(words(&error, &path), @"Version: sessions.accp: the file has format 1, and this version reads format 6: export its sessions with `accp session export` of the version that wrote it, and begin them anew in a new file");
    tamper(&path, "PRAGMA user_version = -1");
    let error = SqliteStore::open(&path).unwrap_err();
    assert_snapshot!(words(&error, &path), @"Corrupt: sessions.accp: the header says format -1, and formats go from 1: the file is damaged; take a copy back from a backup, or export what is sound");
}

#[test]
fn damage_is_found_and_placed() {
    assert_snapshot!(damage("DROP INDEX log_due"), @"Corrupt: sessions.accp: `CREATE INDEX log_due ON log (side, position) WHERE due` is missing: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log; END"), @"Corrupt: sessions.accp: `CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log; END` is not part of format 6: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("UPDATE frame SET text = 'x' WHERE position = 7"), @"Corrupt: sessions.accp, side `launch@planner`: table `frame`, row (1, 7): its checksum does not match: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("DELETE FROM frame WHERE position = 7"), @"Corrupt: sessions.accp, side `launch@planner`: table `frame` lacks the text of position 7: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("INSERT INTO frame SELECT side, 2, text, crc FROM frame WHERE position = 7"), @"Corrupt: sessions.accp, side `launch@planner`: table `frame` has 16 texts, and table `log` knows 15: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("UPDATE log SET due = 0"), @"Corrupt: sessions.accp, side `launch@planner`: table `log`, row (1, 10): its checksum does not match: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("DELETE FROM log WHERE position = 20"), @"Corrupt: sessions.accp, side `launch@planner`: table `side` says 20 entries up to position 20 of time 1714000000.020, 11 due, 1387 bytes, and table `log` has 19 entries up to position 19 of time 1714000000.019, 10 due, 1294 bytes: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("UPDATE blob SET bytes = x'00'"), @"Corrupt: sessions.accp, side `launch@planner`: table `blob` keeps bytes under digest b5c9b31e784fd895c11ed4cbf59edc6e21c4a1949712b04d78ac1ee2b3b1b061, but their digest is 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("DELETE FROM blob"), @"Corrupt: sessions.accp, side `launch@planner`: table `blob` lacks the 6960 bytes of key `k101_1`: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("UPDATE blob SET digest = x'00'"), @"Corrupt: sessions.accp, side `launch@planner`: table `blob` keeps bytes under digest 00, but their digest is b5c9b31e784fd895c11ed4cbf59edc6e21c4a1949712b04d78ac1ee2b3b1b061: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("UPDATE side SET epoch = 1"), @"Corrupt: sessions.accp, side `launch@planner`: table `side`, row (1, `launch`): its checksum does not match: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("DELETE FROM snapshot"), @"Corrupt: sessions.accp, side `launch@planner`: for the snapshot, table `side` says one at position 14, and table `snapshot` has none: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("UPDATE outbox SET head = 'x'"), @"Corrupt: sessions.accp, side `launch@planner`: table `outbox`, row (1, 1): its checksum does not match: the file is damaged; take a copy back from a backup, or export what is sound");
    assert_snapshot!(damage("UPDATE registry SET json = CAST(x'ff' AS TEXT)"), @"Corrupt: sessions.accp, side `launch@planner`: table `registry`, row (1, 32 bytes): its checksum does not match: the file is damaged; take a copy back from a backup, or export what is sound");
}

#[test]
fn what_cannot_be_written() {
    let (folder, path) = file();
    let batch = Batch::new(false).with(|batch| batch.entries = vec![entry(21)]);
    let mut store = SqliteStore::open_read_only(&path).unwrap();
    let error = store.commit(&[(&launch(), &batch)]).unwrap_err();
    assert_snapshot!(words(&error, &path), @"Io: sessions.accp, side `launch@planner`: attempt to write a readonly database: check that the folder exists and is writable, and that the store was not opened read-only");
    let path = folder.path().join("missing.accp");
    let error = SqliteStore::open_read_only(&path).unwrap_err();
    assert_snapshot!(words(&error, &path), @"Io: missing.accp: unable to open database file: missing.accp: check that the folder exists and is writable, and that the store was not opened read-only");
    let path = folder.path().join("missing/sessions.accp");
    let error = SqliteStore::open(&path).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Io);
    let error = SqliteStore::open(":memory:").unwrap_err();
    assert_snapshot!(words(&error, &path), @"Io: :memory:: the journal stays in mode `memory`, and a store needs `wal`: put the file on a local disk");
}

#[test]
fn a_file_that_another_process_writes_to() {
    let (_folder, path) = file();
    let batch = Batch::new(false).with(|batch| batch.entries = vec![entry(21)]);
    let mut store = SqliteStore::open(&path).unwrap();
    store.set_patience(Duration::ZERO).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.commit(&[(&launch(), &batch)]).unwrap_err();
    assert_snapshot!(words(&error, &path), @"Busy: sessions.accp: database is locked: a second process writes to this file; try again, or close the other process");
    // Readers do not wait for a writer.
    assert_eq!(store.load(&launch()).unwrap().unwrap().last, 20);
    other.execute_batch("COMMIT").unwrap();
    store.commit(&[(&launch(), &batch)]).unwrap();
}
