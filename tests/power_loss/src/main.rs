//! Cuts the power under a store, and breaks the disk under it.
//!
//! ```console
//! $ cargo run -p accp-power-loss -- [cuts] [seed] [store|folder|context]
//! ```
//!
//! A shim below SQLite records every write and every sync. For each cut, the bench builds the files that a disk may
//! hold at that instant: all synced data, and any part of the unsynced data. The store has to open the files and
//! find nothing wrong. It has to hold every acknowledged step and no part of another step, and it has to take
//! further steps. Some steps are made up. Others come from a session that is played in memory: its host takes
//! checkpoints and snapshots, and retention deletes the entries that all members have. The sides of the session
//! have to be restored, and the state of its host has to be the fold of the log. Then writes and syncs of a shorter
//! run fail, one at a time: the disk is full, a write stops half-way, or a sync fails. The disk fails once, or
//! until it is repaired.
//!
//! The same happens to a folder that agents share (accp-collab). Every acknowledged event has to be there once, and
//! the next append has to succeed. An append that the disk refuses must leave the folder as it was.
//!
//! It also happens to conversations that are compressed (accp-memory), whose cold state and files are on one disk.
//! The same list has to come out again, each file that a list named has to be whole, and no file may be lost or
//! doubled. Folders and conversations get a quarter of the cuts each.
//!
//! The bench checks itself: it has to find what is lost on a disk that forgets its syncs, and with a store that
//! acknowledges a step before the step is committed.

mod context;
mod cuts;
mod disk;
mod faults;
mod folder;
mod log;
mod random;
mod session;
mod shim;
mod workload;

use std::path::Path;

use accp_store::{SqliteStore, Store as _, StoreError};

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = |default: u64| {
        args.next()
            .map_or(default, |arg| arg.parse().expect("a number"))
    };
    let (cuts, seed) = (number(2400) as usize, number(1));
    let part = args.next();
    let runs = |name| part.as_deref().is_none_or(|part| part == name);
    shim::register();
    if runs("store") {
        cuts::run(cuts, seed);
        faults::run(seed);
    }
    if runs("folder") {
        folder::run(cuts.div_ceil(4), seed);
    }
    if runs("context") {
        context::run(cuts.div_ceil(4), seed);
    }
    println!("all is well");
}

/// Returns the path of the file under test in a folder.
fn file(folder: &Path) -> std::path::PathBuf {
    folder.join("sessions.accp")
}

/// Checks that the store finds nothing wrong with itself.
fn check(store: &mut SqliteStore) -> Result<(), StoreError> {
    store.check_file()?;
    for summary in store.list()? {
        store.verify(&summary.side)?;
    }
    Ok(())
}
