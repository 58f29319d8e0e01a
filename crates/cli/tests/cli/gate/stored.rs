//! What the store of a hub has, as text.

use std::fmt::Write as _;
use std::path::Path;

use accp_store::{SqliteStore, Store as _};

/// Returns all contents of a store, as text.
pub(super) fn content(file: &Path) -> String {
    let mut store = SqliteStore::open(file).unwrap();
    let mut all = String::new();
    for summary in store.list().unwrap() {
        let stored = store.load(&summary.side).unwrap();
        let entries = store.entries(&summary.side, 1, usize::MAX).unwrap();
        writeln!(all, "{summary:?}\n{stored:?}\n{entries:?}").unwrap();
    }
    all
}

/// Returns the sides of a store, and the logs of its hosts. An agent takes note of what it has had some time after it had it, so
/// its own side changes although nobody writes.
pub(super) fn logs(file: &Path) -> String {
    let mut store = SqliteStore::open(file).unwrap();
    let mut all = String::new();
    for summary in store.list().unwrap() {
        let side = &summary.side;
        writeln!(all, "{side}").unwrap();
        if side.agent() == "hub" {
            let entries = store.entries(side, 1, usize::MAX).unwrap();
            writeln!(all, "{entries:?}").unwrap();
        }
    }
    all
}
