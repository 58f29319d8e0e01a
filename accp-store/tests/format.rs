//! The format of files: this format and the one before are read, an older one is refused, and the
//! format is as `docs/format.md` says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use std::path::Path;
use std::{env, fs};

use accp_store::{MemoryStore, SqliteStore, Store, StoreErrorKind};

const FIRST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v1.accp");
const SECOND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v2.accp");
const THIRD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v3.accp");
const FOURTH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v4.accp");

/// Returns the sample file of this format. `ACCP_BLESS=1` makes it if there is none; an existing
/// file stays as it is.
fn fourth() -> Vec<u8> {
    let path = Path::new(FOURTH);
    if !path.exists() && env::var_os("ACCP_BLESS").is_some() {
        let mut store = SqliteStore::open(path).unwrap();
        common::fill(&mut store).unwrap();
        common::lapse(&mut store).unwrap();
        common::erase(&mut store).unwrap();
    }
    fs::read(path).unwrap()
}

/// Returns the number of the format that the header of a file gives.
fn version(path: &Path) -> i64 {
    let conn = rusqlite::Connection::open(path).unwrap();
    let version = conn.pragma_query_value(None, "user_version", |row| row.get(0));
    version.unwrap()
}

/// Checks that a store has what was written to it, and is whole.
fn check(store: &mut SqliteStore, expected: &mut MemoryStore) {
    let expected = common::dump(expected).unwrap();
    assert_eq!(common::dump(store).unwrap(), expected);
    store.check_file().unwrap();
    for summary in store.list().unwrap() {
        store.verify(&summary.side).unwrap();
    }
}

#[test]
fn a_file_of_the_first_version_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v1.accp");
    fs::copy(FIRST, &path).unwrap();
    for open in [SqliteStore::open_read_only, SqliteStore::open] {
        let error = open(&path).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Version);
        let text = error.to_string();
        let file = path.display().to_string();
        assert_eq!(
            text.strip_prefix(&file),
            Some(
                ": the file has format 1, and this version reads format 4: export its sessions \
                 with `accp session export` of the version that wrote it, and begin them anew in \
                 a new file"
            )
        );
    }
    assert_eq!(fs::read(&path).unwrap(), fs::read(FIRST).unwrap());
}

#[test]
fn a_file_of_the_second_version_reads_as_it_was_written_and_gets_the_fourth() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v2.accp");
    fs::copy(SECOND, &path).unwrap();
    let mut expected = MemoryStore::new();
    common::fill(&mut expected).unwrap();
    check(
        &mut SqliteStore::open_read_only(&path).unwrap(),
        &mut expected,
    );
    assert_eq!(version(&path), 2, "a reader changes nothing");
    let mut store = SqliteStore::open(&path).unwrap();
    check(&mut store, &mut expected);
    assert_eq!(version(&path), 4);
    common::lapse(&mut store).unwrap();
    common::lapse(&mut expected).unwrap();
    check(&mut store, &mut expected);
    drop(store);
    check(&mut SqliteStore::open(&path).unwrap(), &mut expected);
}

#[test]
fn a_file_of_the_third_version_reads_as_it_was_written_and_gets_the_fourth() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v3.accp");
    fs::copy(THIRD, &path).unwrap();
    let mut expected = MemoryStore::new();
    common::fill(&mut expected).unwrap();
    common::lapse(&mut expected).unwrap();
    for open in [SqliteStore::open_read_only, SqliteStore::open] {
        check(&mut open(&path).unwrap(), &mut expected);
    }
    assert_eq!(version(&path), 4);
    common::erase(&mut SqliteStore::open(&path).unwrap()).unwrap();
    common::erase(&mut expected).unwrap();
    check(&mut SqliteStore::open(&path).unwrap(), &mut expected);
}

#[test]
fn a_file_of_the_fourth_version_reads_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v4.accp");
    fs::write(&path, fourth()).unwrap();
    let mut expected = MemoryStore::new();
    common::fill(&mut expected).unwrap();
    common::lapse(&mut expected).unwrap();
    common::erase(&mut expected).unwrap();
    for open in [SqliteStore::open_read_only, SqliteStore::open] {
        check(&mut open(&path).unwrap(), &mut expected);
    }
}

#[test]
fn the_header_and_the_tables_are_those_of_the_description() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.accp");
    drop(SqliteStore::open(&path).unwrap());
    let conn = rusqlite::Connection::open(&path).unwrap();
    let pragma = |name: &str| -> i64 {
        conn.pragma_query_value(None, name, |row| row.get(0))
            .unwrap()
    };
    assert_eq!(
        (pragma("application_id"), pragma("user_version")),
        (0x4143_4350, 4)
    );
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL";
    let mut statement = conn.prepare(sql).unwrap();
    let tables = statement
        .query_map((), |row| row.get::<_, String>(0))
        .unwrap();
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/format.md");
    let docs = fs::read_to_string(docs).unwrap();
    for table in tables {
        let table = table.unwrap();
        assert!(docs.contains(&table), "docs/format.md lacks\n{table}");
    }
}
