//! The stores of this crate keep the contract of `Store`.

use std::cell::Cell;

use accp_store::{MemoryStore, SqliteStore, conformance};

#[test]
fn memory() {
    conformance::run(256, MemoryStore::new, |store| store);
}

#[test]
fn sqlite_in_memory() {
    conformance::run(
        256,
        || SqliteStore::open_in_memory().unwrap(),
        |store| store,
    );
}

#[test]
fn sqlite_in_a_file_that_is_reopened() {
    let folder = tempfile::tempdir().unwrap();
    let count = Cell::new(0);
    let open = || {
        let path = folder.path().join(format!("{}.accp", count.get()));
        SqliteStore::open(path).unwrap()
    };
    let fresh = || {
        count.set(count.get() + 1);
        open()
    };
    conformance::run(128, fresh, |store| {
        drop(store);
        open()
    });
}
