//! The format of files: this format is read, an older one is refused, and the format is as
//! `docs/format.md` says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use std::path::Path;
use std::{env, fs};

use accp_store::{MemoryStore, SqliteStore, Store, StoreErrorKind};

const FIRST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v1.accp");
const SECOND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v2.accp");

/// Returns the sample file. `ACCP_BLESS=1` makes it if there is none; an existing file stays as it
/// is.
fn second() -> Vec<u8> {
    let path = Path::new(SECOND);
    if !path.exists() && env::var_os("ACCP_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        common::fill(&mut SqliteStore::open(path).unwrap()).unwrap();
    }
    fs::read(path).unwrap()
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
                ": the file has format 1, and this version reads format 2: export its sessions \
                 with `accp session export` of the version that wrote it, and begin them anew in \
                 a new file"
            )
        );
    }
    assert_eq!(fs::read(&path).unwrap(), fs::read(FIRST).unwrap());
}

#[test]
fn a_file_of_the_second_version_reads_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v2.accp");
    fs::write(&path, second()).unwrap();
    let mut expected = MemoryStore::new();
    common::fill(&mut expected).unwrap();
    let expected = common::dump(&mut expected).unwrap();
    for open in [SqliteStore::open_read_only, SqliteStore::open] {
        let mut store = open(&path).unwrap();
        assert_eq!(common::dump(&mut store).unwrap(), expected);
        store.check_file().unwrap();
        for summary in store.list().unwrap() {
            store.verify(&summary.side).unwrap();
        }
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
        (0x4143_4350, 2)
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
