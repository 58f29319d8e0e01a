//! Batches and files for tests.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use accp_registry::{ErrorCode, Hash};
use accp_runtime::session::{MemberId, Mid, Time};
use accp_session::{Batch, Cold, Due, Entry, EntryKind, OutboxChange, Outgoing, Snapshot};
use accp_store::{Erasure, SideId, Store, StoreError};
use tempfile::TempDir;

/// Returns a folder of its own, and the path of a file in it.
pub(crate) fn place(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

/// The side that [`fill`] fills.
pub(crate) fn launch() -> SideId {
    SideId::new("launch", "planner")
}

/// A side of a host, which [`fill`] begins.
pub(crate) fn greetings() -> SideId {
    SideId::new("Grüße", "hub")
}

/// Returns an entry at a position, with an id of its own.
pub(crate) fn entry(position: u64) -> Entry {
    let mid = format!("101000001{position:03}");
    Entry::new(position, Time::from_millis(1_714_000_000_000 + position as i64), Mid::parse(&mid), format!(
            "@planner>req:schedule{{asgn:dev|task:impl_{position}|schema:TA}}[mid:{mid},seq:{position},ts:1714000000]"
        )).with(|entry| {
entry.sender = MemberId::new(101).unwrap();
entry.sequence = position;
entry.tokens = 40;
entry.due = Due::Yes;
})
}

/// Returns a value that has its bytes.
pub(crate) fn cold(key: &str, bytes: &[u8]) -> Cold {
    Cold {
        key: key.into(),
        digest: Hash::of(bytes),
        length: bytes.len() as u64,
        bytes: Some(Arc::from(bytes)),
    }
}

pub(crate) fn outgoing(order: u64, mid: &str) -> Outgoing {
    Outgoing {
        order,
        mid: Mid::parse(mid),
        head: "@dev>done:plan{}".into(),
        tail: ",ts:1714000000".into(),
    }
}

/// Fills every table, with rows in every state except the states that the functions below add.
pub(crate) fn fill(store: &mut impl Store) -> Result<(), StoreError> {
    let kinds = [
        EntryKind::Frame,
        EntryKind::Control,
        EntryKind::Part,
        EntryKind::Dropped,
        EntryKind::Refused(ErrorCode::POLICY_DENIED),
    ];
    let mut entries: Vec<_> = (1..=20).map(entry).collect();
    for (entry, kind) in entries.iter_mut().zip(kinds) {
        entry.kind = kind;
        entry.cut = true;
    }
    entries[4].sequence = 0;
    entries[5].mid = Mid::parse("m6");
    let later = entries.split_off(12);
    let unknown = Cold {
        bytes: None,
        ..cold("k102_1", b"bytes that never came")
    };
    let long = "a value that is longer than a page, as values tend to be. ".repeat(120);
    let first = Batch::new(false).with(|batch| {
        batch.cold = vec![
            cold("k101_1", long.as_bytes()),
            cold("k101_2", b"gone"),
            unknown,
        ];
        batch.entries = entries;
        batch.handled = (1..=9).collect();
        batch.outbox = vec![
            OutboxChange::Put(outgoing(1, "102000001001")),
            OutboxChange::Put(outgoing(2, "m2")),
        ];
        batch.outbox_sequence = Some(7);
        batch.last_put = Some(3);
        batch.epoch = Some(3);
        batch.registries = vec![(Hash::of(b"{}"), "{}".into())];
    });
    let second = Batch::new(false).with(|batch| {
        batch.cold = vec![cold("k101_3", long.as_bytes())];
        batch.expired = vec!["k101_2".into()];
        batch.entries = later;
        batch.snapshot = Some(Snapshot {
            position: 14,
            text: r#"{"version":1,"state":{}}"#.into(),
        });
    });
    let other = Batch::new(true).with(|batch| batch.entries = vec![entry(1)]);
    let (launch, greetings) = (launch(), greetings());
    store.commit(&[(&launch, &first), (&greetings, &other), (&launch, &second)])?;
    let retention = accp_store::Retention { log_before: 6 };
    store.retain(&launch, retention)?;
    Ok(())
}

/// Adds what a file can have since format 3: the mark of a frame that has lapsed.
pub(crate) fn lapse(store: &mut impl Store) -> Result<(), StoreError> {
    let batch = Batch::new(false).with(|batch| batch.lapsed = vec![10, 15]);
    store.commit(&[(&launch(), &batch)])
}

/// Adds what a file can have since format 4: an entry and a value that were erased.
pub(crate) fn erase(store: &mut impl Store) -> Result<(), StoreError> {
    let erasure = Erasure {
        positions: [7, 11].into(),
        keys: ["k101_3".to_owned()].into(),
        lapses: true,
        ..Erasure::default()
    };
    store.erase(&[(&launch(), &erasure)]).map(drop)
}

/// Adds what a file can have since format 5: inboxes of a host's side.
pub(crate) fn inboxes(store: &mut impl Store) -> Result<(), StoreError> {
    let member = |number| MemberId::new(number).unwrap();
    let first = Batch::new(true).with(|batch| {
        batch.inboxes = vec![
            (member(9001), "7".into()),
            (member(101), r#"{"handled":3}"#.into()),
            (member(102), "9".into()),
        ];
    });
    let second = Batch::new(true).with(|batch| {
        batch.inboxes = vec![
            (member(101), r#"{"handled":4}"#.into()),
            (member(102), String::new()),
        ];
    });
    let side = greetings();
    store.commit(&[(&side, &first)])?;
    store.commit(&[(&side, &second)])
}

/// Adds what a file can have since format 6: an entry that is for one member.
pub(crate) fn addressed(store: &mut impl Store) -> Result<(), StoreError> {
    let to = |position, number, cut| {
        entry(position).with(|entry| {
            entry.to = MemberId::new(number);
            entry.cut = cut;
        })
    };
    let entries = vec![to(2, 102, false), to(3, 9999, true), to(4, 100, true)];
    let batch = Batch::new(true).with(|batch| batch.entries = entries);
    store.commit(&[(&greetings(), &batch)])
}

/// Returns all data of a store, as text.
pub(crate) fn dump(store: &mut impl Store) -> Result<String, StoreError> {
    let mut text = String::new();
    for summary in store.list()? {
        let side = summary.side.clone();
        let _ = writeln!(text, "{summary:#?}");
        let _ = writeln!(text, "{:#?}", store.load(&side)?);
        let _ = writeln!(text, "{:#?}", store.entries(&side, 0, usize::MAX)?);
        for key in store.cold_keys(&side)? {
            let kept = store.cold(&side, &key)?.map(|mut kept| {
                let bytes = kept.value.bytes.take();
                (
                    kept,
                    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
                )
            });
            let _ = writeln!(text, "{kept:#?}");
        }
    }
    Ok(text)
}

/// Changes a file without its store.
pub(crate) fn tamper(path: &Path, sql: &str) {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.execute_batch(sql).unwrap();
}

/// A small disk in memory. It is unmounted when this value is dropped.
pub(crate) struct Disk(pub(crate) TempDir);

impl Disk {
    /// Returns nothing where the system does not let this process mount.
    pub(crate) fn mount(bytes: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={bytes}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "accp-test"]);
        let mounted = mount.arg(folder.path()).output();
        match mounted {
            Ok(done) if done.status.success() => Some(Self(folder)),
            done => {
                println!("skipped, because no disk can be mounted here: {done:?}");
                None
            }
        }
    }

    /// Writes a file until the disk is full, and returns its path.
    pub(crate) fn fill(&self) -> PathBuf {
        let path = self.0.path().join("filler");
        let full = fs::write(&path, vec![7; 8 << 20]).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let done = Command::new("umount").arg("-l").arg(self.0.path()).status();
        if !std::thread::panicking() {
            assert!(done.unwrap().success());
        }
    }
}
