//! Damaged files: the checks find the damage, or the file reads as before. Nothing panics.

use crate::common;

use std::path::{Path, PathBuf};

use accp_store::{SideId, SqliteStore, Store, StoreError};
use proptest::prelude::*;
use tempfile::TempDir;

/// Returns all data of the file, if every check passes.
fn read(path: &Path) -> Result<String, StoreError> {
    let mut store = SqliteStore::open_read_only(path)?;
    store.check_file()?;
    for summary in store.list()? {
        store.verify(&summary.side)?;
    }
    common::dump(&mut store)
}

/// Uses the file, whatever the result of the checks.
fn use_anyhow(path: &Path) {
    let Ok(mut store) = SqliteStore::open(path) else {
        return;
    };
    let _ = store.list();
    for side in [common::launch(), SideId::new("Grüße", "hub")] {
        let side = &side;
        let _ = store.summary(side);
        let _ = store.sides(side.session());
        let _ = store.load(side);
        let _ = store.entries(side, 0, usize::MAX);
        for key in store.cold_keys(side).unwrap_or_default() {
            let _ = store.cold(side, &key);
        }
        let _ = store.retain(side, accp_store::Retention { log_before: 9 });
        let _ = store.delete(side);
    }
    let _ = common::fill(&mut store);
}

/// A sound file, its data, and a folder for a damaged copy.
struct Bench {
    folder: TempDir,
    bytes: Vec<u8>,
    holds: String,
}

impl Bench {
    fn new() -> Self {
        let (folder, path) = common::place("sound.accp");
        let mut store = SqliteStore::open(&path).unwrap();
        common::fill(&mut store).unwrap();
        common::inboxes(&mut store).unwrap();
        drop(store);
        Self {
            bytes: std::fs::read(&path).unwrap(),
            holds: read(&path).unwrap(),
            folder,
        }
    }

    /// Damages mostly one byte, sometimes many bytes, and sometimes cuts off the end.
    fn damage(&self) -> impl Strategy<Value = Vec<u8>> {
        let bytes = self.bytes.clone();
        let length = prop_oneof![6 => Just(1usize), 1 => 1usize..5000];
        let end = prop_oneof![20 => Just(bytes.len()), 1 => 1..bytes.len()];
        (0..bytes.len(), length, 1u8.., end).prop_map(move |(at, length, mask, end)| {
            let mut damaged = bytes.clone();
            for byte in damaged.iter_mut().skip(at).take(length) {
                *byte ^= mask;
            }
            damaged.truncate(end);
            damaged
        })
    }

    fn write(&self, damaged: &[u8]) -> PathBuf {
        let path = self.folder.path().join("damaged.accp");
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
        }
        std::fs::write(&path, damaged).unwrap();
        path
    }
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

#[test]
fn damage_is_never_taken_for_data() {
    let bench = Bench::new();
    proptest!(cases(1000), |(damaged in bench.damage())| {
        if let Ok(found) = read(&bench.write(&damaged)) {
            prop_assert_eq!(&found, &bench.holds);
        }
    });
}

#[test]
fn a_damaged_file_may_be_used_without_harm_to_the_process() {
    let bench = Bench::new();
    proptest!(cases(100), |(damaged in bench.damage())| {
        use_anyhow(&bench.write(&damaged));
    });
}
