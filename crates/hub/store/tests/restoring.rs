//! A host starts from its snapshot and the entries after it. Older rows stay unread, and `verify` reads them.

use std::path::{Path, PathBuf};

use accp_session::{Batch, Snapshot, Stored};
use accp_store::{MemoryStore, SideId, SqliteStore, Store, StoreErrorKind};
use tempfile::TempDir;

use crate::common::{entry, place, tamper};

fn side() -> SideId {
    SideId::new("lunch", "hub")
}

/// Fills a store with 20 entries, of which 12 to 20 are due, and a snapshot up to position 15.
fn fill(store: &mut impl Store, snapshot: &str) {
    let batch = Batch::new(true).with(|batch| {
        batch.entries = (1..=20).map(entry).collect();
        batch.handled = (1..=11).collect();
        batch.snapshot = Some(Snapshot {
            position: 15,
            text: format!("{snapshot}\"state\":{{}}}}"),
        });
    });
    store.commit(&[(&side(), &batch)]).unwrap();
}

fn file(snapshot: &str) -> (TempDir, PathBuf) {
    let (folder, path) = place("sessions.accp");
    fill(&mut SqliteStore::open(&path).unwrap(), snapshot);
    (folder, path)
}

fn load(path: &Path) -> Result<Option<Stored>, StoreErrorKind> {
    let mut store = SqliteStore::open(path).unwrap();
    store.load(&side()).map_err(|error| error.kind())
}

#[test]
fn only_the_entries_after_the_snapshot_are_read() {
    let changed = "UPDATE log SET at = 7 WHERE position <= 11";
    for (snapshot, seen) in [(Snapshot::WITH_IDS, 5), (r#"{"version":3,"#, 20)] {
        let (_folder, path) = file(snapshot);
        let stored = load(&path).unwrap().unwrap();
        assert_eq!((stored.seen.len(), stored.entries.len()), (seen, 5));
        assert_eq!(stored.due.len(), 4);
        let mut memory = MemoryStore::new();
        fill(&mut memory, snapshot);
        assert_eq!(memory.load(&side()).unwrap(), Some(stored.clone()));

        tamper(&path, changed);
        let is_damaged = Err(StoreErrorKind::Corrupt);
        let expected = if seen == 5 {
            Ok(Some(stored))
        } else {
            is_damaged
        };
        assert_eq!(load(&path), expected);
        let found = SqliteStore::open(&path).unwrap().verify(&side());
        assert_eq!(found.unwrap_err().kind(), StoreErrorKind::Corrupt);
    }
}

#[test]
fn damage_in_what_is_read_is_found() {
    for sql in [
        "DELETE FROM log WHERE position = 18",
        "DELETE FROM log WHERE position = 20",
        "DELETE FROM log WHERE position > 15",
        "DELETE FROM log WHERE position = 13",
        "DELETE FROM frame WHERE position = 18",
        "DELETE FROM frame WHERE position = 13",
        "UPDATE log SET due = 0 WHERE position = 14",
        "UPDATE log SET due = 0 WHERE position = 17",
        "UPDATE log SET position = 21 WHERE position = 20",
        "UPDATE snapshot SET position = 16",
        "UPDATE snapshot SET text = replace(text, '4', '3')",
        "DELETE FROM snapshot",
    ] {
        let (_folder, path) = file(Snapshot::WITH_IDS);
        tamper(&path, sql);
        assert_eq!(load(&path), Err(StoreErrorKind::Corrupt), "{sql}");
    }
}
