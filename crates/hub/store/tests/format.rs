//! Tests of the format of files: this version reads its own format and all formats from the second on, and
//! refuses the first. The format is as `docs/format.md` says.

use crate::common;

use std::ops::RangeInclusive;
use std::path::Path;
use std::{env, fs};

use accp_store::{MemoryStore, SqliteStore, Store, StoreErrorKind};

const FIRST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v1.accp");
const SECOND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v2.accp");
const THIRD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v3.accp");
const FOURTH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v4.accp");
const FIFTH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v5.accp");
const SIXTH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/v6.accp");

/// Returns the sample file of this format. `ACCP_BLESS=1` makes it if there is none; an existing
/// file stays as it is.
fn sixth() -> Vec<u8> {
    let path = Path::new(SIXTH);
    if !path.exists() && env::var_os("ACCP_BLESS").is_some() {
        let mut store = SqliteStore::open(path).unwrap();
        fill(&mut store, 2..=6);
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
    let (_folder, path) = common::place("v1.accp");
    fs::copy(FIRST, &path).unwrap();
    for open in [SqliteStore::open_read_only, SqliteStore::open] {
        let error = open(&path).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Version);
        let text = error.to_string();
        let file = path.display().to_string();
        assert_eq!(
            text.strip_prefix(&file),
            Some(
                ": the file has format 1, and this version reads format 6: export its sessions \
                 with `accp session export` of the version that wrote it, and begin them anew in \
                 a new file"
            )
        );
    }
    assert_eq!(fs::read(&path).unwrap(), fs::read(FIRST).unwrap());
}

/// Writes the data that each of these formats added.
fn fill(store: &mut impl Store, formats: RangeInclusive<i64>) {
    for format in formats {
        let filled = match format {
            2 => common::fill(store),
            3 => common::lapse(store),
            4 => common::erase(store),
            5 => common::inboxes(store),
            _ => common::addressed(store),
        };
        filled.unwrap();
    }
}

/// A file of an older format reads as it was written, and a reader does not change it. Opening the file to write
/// changes it to the present format. Then it takes the data that later formats added.
#[test]
fn files_of_older_formats_read_as_they_were_written_and_become_those_of_this_one() {
    for (format, file) in [(2, SECOND), (3, THIRD), (4, FOURTH), (5, FIFTH)] {
        let (_folder, path) = common::place("old.accp");
        fs::copy(file, &path).unwrap();
        let mut expected = MemoryStore::new();
        fill(&mut expected, 2..=format);
        let mut reader = SqliteStore::open_read_only(&path).unwrap();
        check(&mut reader, &mut expected);
        assert_eq!(version(&path), format, "a reader changes nothing");
        let mut store = SqliteStore::open(&path).unwrap();
        check(&mut store, &mut expected);
        assert_eq!(version(&path), 6);
        fill(&mut store, format + 1..=6);
        fill(&mut expected, format + 1..=6);
        check(&mut store, &mut expected);
        // A reader that was open before the change of the format can still read the file.
        check(&mut reader, &mut expected);
        drop((store, reader));
        check(&mut SqliteStore::open(&path).unwrap(), &mut expected);
    }
}

#[test]
fn a_file_of_this_format_reads_as_it_was_written() {
    let (_folder, path) = common::place("v6.accp");
    fs::write(&path, sixth()).unwrap();
    let mut expected = MemoryStore::new();
    fill(&mut expected, 2..=6);
    for open in [SqliteStore::open_read_only, SqliteStore::open] {
        check(&mut open(&path).unwrap(), &mut expected);
    }
}

#[test]
fn the_header_and_the_tables_are_those_of_the_description() {
    let (_folder, path) = common::place("new.accp");
    drop(SqliteStore::open(&path).unwrap());
    let conn = rusqlite::Connection::open(&path).unwrap();
    let pragma = |name: &str| -> i64 {
        conn.pragma_query_value(None, name, |row| row.get(0))
            .unwrap()
    };
    assert_eq!(
        (pragma("application_id"), pragma("user_version")),
        (0x4143_4350, 6)
    );
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL";
    let mut statement = conn.prepare(sql).unwrap();
    let tables = statement
        .query_map((), |row| row.get::<_, String>(0))
        .unwrap();
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/format.md");
    let docs = fs::read_to_string(docs).unwrap();
    for table in tables {
        let table = table.unwrap();
        assert!(docs.contains(&table), "docs/format.md lacks\n{table}");
    }
}
