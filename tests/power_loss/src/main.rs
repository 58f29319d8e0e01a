//! Cuts the power under a store, and breaks the disk under it.
//!
//! ```console
//! $ cargo run --manifest-path tests/power_loss/Cargo.toml -- [cuts] [seed]
//! ```
//!
//! A shim below SQLite records every write and every sync. For each cut the files are made
//! again as a disk may have them at that instant: what was synced, and any part of what was
//! not. The store has to open them, find nothing wrong, hold every step that it had
//! acknowledged and no part of another, and go on from there. Then, one at a time, writes and
//! syncs of a shorter run fail: the disk is full, a write stops half-way, a sync fails; for
//! once or until it is mended.
//!
//! The bench proves itself: with a disk that forgets its syncs, and with a store that
//! acknowledges before it commits, it has to find what is lost.

mod cuts;
mod disk;
mod faults;
mod random;
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
    shim::register();
    cuts::run(cuts, seed);
    faults::run(seed);
    println!("all is well");
}

/// The file under test in a folder.
fn file(folder: &Path) -> std::path::PathBuf {
    folder.join("sessions.accp")
}

/// That a store has nothing wrong with it.
fn check(store: &mut SqliteStore) -> Result<(), StoreError> {
    store.check_file()?;
    for summary in store.list()? {
        store.verify(&summary.side)?;
    }
    Ok(())
}
