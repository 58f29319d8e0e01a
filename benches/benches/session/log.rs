//! A session that a host keeps in a SQLite file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use accp_bench::talk::{self, Counter};
use accp_runtime::session::{MemberId, Scope, Session};
use accp_session::{Batch, Output};
use accp_store::{SideId, SqliteStore, Store as _};
use accp_tokens::Bpe;
use tempfile::TempDir;

/// The number of frames that are committed together.
pub const GROUP: u64 = 1000;
/// The number of frames in a batch.
const BATCH: u64 = 100;

/// A session and its file. Dropping this value deletes the file.
pub struct Log {
    folder: TempDir,
    store: SqliteStore,
    host: Session,
    member: MemberId,
    /// The frames so far.
    pub frames: u64,
    /// The bytes of the texts of the entries so far.
    pub entries: u64,
    /// The bytes of the snapshots so far.
    pub snapshots: u64,
}

pub fn counter() -> Counter {
    Some(Arc::new(Bpe::o200k_base()))
}

impl Log {
    pub fn new() -> Self {
        // The folder is on the disk of the build. A folder for temporary files may be in memory.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let mut store = SqliteStore::open(folder.path().join("session.accp")).expect("a store");
        let mut host = Session::host(
            talk::options("hub", &counter()),
            talk::rules(Scope::Sender),
            talk::NOW,
        );
        let member = talk::join(&mut host);
        let Some(Output::Batch(start)) = host.poll() else {
            panic!("it has begun");
        };
        store
            .commit(&[(&super::side(), &start)])
            .expect("it is kept");
        Self {
            folder,
            store,
            host,
            member,
            frames: 0,
            entries: 0,
            snapshots: 0,
        }
    }

    /// Lets the host take frames, in groups, until the session has this many frames.
    pub fn grow_to(&mut self, frames: u64) {
        while self.frames < frames {
            let mut group = Vec::new();
            for _ in 0..GROUP / BATCH {
                let texts: Vec<_> = (self.frames + 1..=self.frames + BATCH)
                    .map(talk::frame)
                    .collect();
                let taken = talk::take(&mut self.host, self.member, &texts, |batch| {
                    group.push(batch);
                });
                assert_eq!(taken as u64, BATCH);
                self.frames += BATCH;
            }
            let side = super::side();
            let batches: Vec<(&SideId, &Batch)> =
                group.iter().map(|batch| (&side, batch)).collect();
            self.store.commit(&batches).expect("it is kept");
            for batch in &group {
                let texts = batch.entries.iter().map(|entry| entry.text.len() as u64);
                self.entries += texts.sum::<u64>();
                let snapshot = batch.snapshot.as_ref().map(|snapshot| snapshot.text.len());
                self.snapshots += snapshot.unwrap_or_default() as u64;
            }
        }
    }

    /// Returns the position of the last entry in the log.
    pub fn position(&self) -> u64 {
        self.host.position()
    }

    /// Returns the sizes of the file and of its write-ahead log, in bytes.
    pub fn sizes(&self) -> (u64, u64) {
        let size = |path: &Path| path.metadata().map_or(0, |data| data.len());
        let path = self.folder.path().join("session.accp");
        (size(&path), size(&path.with_extension("accp-wal")))
    }

    /// Closes the file, and returns its folder and its path. Dropping the folder deletes the file.
    pub fn close(self) -> (TempDir, PathBuf) {
        let path = self.folder.path().join("session.accp");
        (self.folder, path)
    }
}
