//! Returns the content of a hub's store as text, so that tests can see whether it has changed.

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

/// Returns the names of the sides in a store, and the logs of its hosts. Leaves out the entries of agents: an agent
/// may record later which frames it has handled, so its side can change although nobody sends a frame.
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
