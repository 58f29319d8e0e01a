//! A store of sides in one SQLite file.

mod cold;
mod commit;
mod connect;
mod entry;
mod erase;
mod fault;
mod probe;
mod read;
mod row;
mod schema;
mod search;
mod side;
mod verify;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use accp_session::{Batch, Entry, Stored};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;
use crate::open_file::{OpenFile, WalLoss};
use crate::rows::{Transactional, Write, WriteRows};
use crate::search::Match;
use crate::side::SideId;
use crate::store::{Erasure, Freed, Kept, Retention, Store, Summary};
use accp_context::search::Query;
use connect::{begin, connect, prepare, settle, take_alone};
use fault::Fault;
use search::Index;
use side::Side;

/// Keeps sides of sessions in one SQLite file, in the format of `docs/format.md`.
///
/// A commit is one transaction and one sync of the write-ahead log (`journal_mode` WAL, `synchronous` FULL). So a
/// commit survives a power cut, provided that the disk obeys a sync. While the file is open, two other files lie
/// beside it, `-wal` and `-shm`; until the file is closed, a copy has to take all three. The file does not
/// shrink, unless something is erased, but the space of deleted data is used again.
///
/// [`erase`](Store::erase) writes the whole file anew, so that no page keeps what was erased. That takes
/// as long as a copy of the file, needs room for one on the disk, and gives other numbers to rows of
/// the application's tables that have no `INTEGER PRIMARY KEY`. When another process reads at that
/// time, it fails with [`Busy`](crate::StoreErrorKind::Busy) after the data has left the tables; erase
/// again then. Copies of the file, and blocks of the disk that once were part of it, are out of reach.
///
/// Tables whose names begin with `app_` belong to the application. It can write to them in the
/// commit of a batch ([`Transactional`]), and may read them by a connection of its own. The store
/// does not look at them.
///
/// Several processes may have one file open. Commits wait for each other for up to
/// [`PATIENCE`](Self::PATIENCE), and readers never wait. A hub takes the file for itself
/// ([`HubFile`](crate::HubFile)), so that no other hub runs its sessions.
///
/// ```
/// use accp_session::Batch;
/// use accp_store::{SideId, SqliteStore, Store};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sessions.accp");
/// let mut store = SqliteStore::open(&path)?;
/// let batch = Batch::new(false).with(|batch| batch.epoch = Some(1));
/// let (launch, review) = (SideId::new("launch", "dev"), SideId::new("review", "dev"));
/// store.commit(&[(&launch, &batch), (&review, &batch)])?;
/// drop(store);
///
/// let mut store = SqliteStore::open_read_only(&path)?;
/// let sides: Vec<_> = store.list()?.into_iter().map(|summary| summary.side).collect();
/// assert_eq!(sides, [launch, review]);
/// assert!(store.commit(&[(&sides[0], &batch)]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteStore {
    conn: Connection,
    /// The name of the file, for error messages.
    file: String,
    /// Whether all sides were read and found in their index.
    surveyed: bool,
    /// The words of the side that was searched last.
    index: Option<Index>,
    /// The file that is open; `None` in memory.
    open_file: Option<OpenFile>,
}

/// The bytes at the beginning of a write-ahead log, and the bytes before each of its pages (SQLite, "WAL-mode File
/// Format").
const HEAD: u64 = 32;
const FRAME: u64 = 24;

impl SqliteStore {
    /// The time that a commit waits for another process, unless
    /// [`set_patience`](Self::set_patience) changes it.
    pub const PATIENCE: Duration = connect::PATIENCE;

    /// Opens a file, or creates it for its owner alone.
    ///
    /// # Errors
    /// [`Foreign`](crate::StoreErrorKind::Foreign) when the file is another program's; the file is
    /// then left unchanged. [`Version`](crate::StoreErrorKind::Version) when another version of
    /// this crate wrote the file. [`Corrupt`](crate::StoreErrorKind::Corrupt),
    /// [`Io`](crate::StoreErrorKind::Io), [`Full`](crate::StoreErrorKind::Full) and
    /// [`Busy`](crate::StoreErrorKind::Busy) as everywhere.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = path.as_ref().display().to_string();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let opened = connect(path.as_ref(), flags).and_then(|mut conn| {
            prepare(&mut conn)?;
            Ok(conn)
        });
        Self::new(opened, file, Some(path.as_ref()))
    }

    /// Opens a file that no other process has open, and keeps others out until the store is dropped.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open); [`Busy`](crate::StoreErrorKind::Busy) when another process
    /// has the file open; [`Io`](crate::StoreErrorKind::Io) when it does not exist.
    pub fn open_alone(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = path.as_ref().display().to_string();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let opened = connect(path.as_ref(), flags).and_then(|mut conn| {
            schema::check(&conn)?;
            take_alone(&conn)?;
            prepare(&mut conn)?;
            Ok(conn)
        });
        Self::new(opened, file, Some(path.as_ref()))
    }

    /// Opens a file for reading, also while another process writes to it. Every commit fails.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open); [`Io`](crate::StoreErrorKind::Io) when the file does not
    /// exist; [`Unfinished`](crate::StoreErrorKind::Unfinished) when it is empty.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = path.as_ref().display().to_string();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let opened = connect(path.as_ref(), flags).and_then(|conn| {
            schema::check(&conn)?;
            Ok(conn)
        });
        Self::new(opened, file, Some(path.as_ref()))
    }

    /// Opens a store in memory that behaves like a file but is not durable.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        let opened = Connection::open_in_memory()
            .map_err(Fault::from)
            .and_then(|conn| {
                settle(&conn)?;
                schema::create(&conn)?;
                Ok(conn)
            });
        Self::new(opened, "memory".into(), None)
    }

    /// Sets how long a commit waits for another process.
    pub fn set_patience(&mut self, patience: Duration) -> Result<(), StoreError> {
        let result = self.conn.busy_timeout(patience);
        result.map_err(|error| Fault::from(error).in_file(&self.file))
    }

    /// Checks the file as a whole: its pages, its indexes, and that its tables are those of the
    /// format. [`verify`](Store::verify) checks the data in the tables.
    ///
    /// # Errors
    /// Returns the first fault, as [`Corrupt`](crate::StoreErrorKind::Corrupt).
    pub fn check_file(&mut self) -> Result<(), StoreError> {
        self.read(None, verify::file)
    }

    /// Returns the file that is open; `None` in memory.
    pub(crate) fn open_file(&self) -> Option<&OpenFile> {
        self.open_file.as_ref()
    }

    /// Takes over what an earlier store of the same file knows about it.
    pub(crate) fn is_at(&mut self, earlier: &OpenFile) {
        if self.open_file.as_ref().is_some_and(|own| own.is(earlier)) {
            earlier.note();
            self.open_file = Some(earlier.clone());
        }
    }

    /// Writes. Before and after, this checks that the file is still in its place, so that the next process finds
    /// the commit.
    fn in_open_file<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.check_open_file()?;
        let written = write(self)?;
        self.check_open_file()?;
        if let Some(file) = &self.open_file {
            file.note();
        }
        Ok(written)
    }

    /// Checks the file and its write-ahead log. If the log is gone, this saves what can be saved.
    fn check_open_file(&self) -> Result<(), StoreError> {
        let Some(file) = &self.open_file else {
            return Ok(());
        };
        let named = |error: StoreError| error.in_store(&self.file);
        file.check().map_err(named)?;
        // The index that all processes share has the number of pages in the write-ahead log. A
        // checkpoint with `NOOP` only reads that number.
        let needed = || {
            let looked = self
                .conn
                .query_row("PRAGMA wal_checkpoint(NOOP)", (), |row| row.get(1));
            let pages: u64 = looked
                .ok()
                .and_then(|pages: i64| u64::try_from(pages).ok())?;
            let page = self
                .conn
                .query_row("PRAGMA page_size", (), |row| row.get(0));
            let page = page.ok().and_then(|page: i64| u64::try_from(page).ok())?;
            Some(if pages == 0 {
                0
            } else {
                HEAD + pages * (page + FRAME)
            })
        };
        file.check_wal(needed).map_err(|(lost, error)| {
            // These calls may fail. The error below names the cause in any case.
            let _ = match lost {
                WalLoss::Removed => {
                    self.conn
                        .query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))
                }
                // A checkpoint at the close would copy an incomplete write-ahead log into the file,
                // so this switches it off.
                WalLoss::Cut => self
                    .conn
                    .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
                    .map(drop),
            };
            named(error)
        })
    }

    fn new(
        opened: Result<Connection, Fault>,
        file: String,
        path: Option<&Path>,
    ) -> Result<Self, StoreError> {
        let conn = opened.map_err(|fault| fault.in_file(&file))?;
        let open_file = path.map(OpenFile::of).transpose();
        let open_file = open_file.map_err(|error| error.in_store(&file))?;
        Ok(Self {
            conn,
            file,
            surveyed: false,
            index: None,
            open_file,
        })
    }

    /// Reads in one transaction, so that all reads see the same state.
    fn read<T>(
        &mut self,
        side: Option<&SideId>,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let error = |fault: Fault| in_side(fault.in_file(&self.file), side);
        let transaction = self.conn.transaction();
        let transaction = transaction.map_err(|fault| error(fault.into()))?;
        // A damaged index or name can hide a side, and its session would begin anew. So the store reads all sides
        // before it first reports that a side does not exist.
        let is_known = match side {
            Some(side) => self.surveyed || Side::find(&transaction, side).map_err(error)?.is_some(),
            None => self.surveyed,
        };
        if !is_known {
            Side::all(&transaction).map_err(error)?;
            self.surveyed = true;
        }
        read(&transaction).map_err(error)
    }

    /// Writes in one transaction: all or nothing.
    fn write<T>(
        &mut self,
        side: &SideId,
        write: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        // A search must not find deleted text, so the search index is dropped.
        self.index = None;
        self.in_open_file(|store| {
            let error = |fault: Fault| in_side(fault.in_file(&store.file), Some(side));
            let transaction = begin(&mut store.conn).map_err(error)?;
            let result = write(&transaction).map_err(error)?;
            transaction.commit().map_err(|fault| error(fault.into()))?;
            Ok(result)
        })
    }
}

impl Store for SqliteStore {
    fn commit(&mut self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError> {
        let group = group.iter().map(|(side, batch)| Write::new(side, batch));
        self.commit_with(&mut group.collect::<Vec<_>>())
    }

    fn load(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        self.read(Some(side), |conn| read::load(conn, side))
    }

    fn entries(
        &mut self,
        side: &SideId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.read(Some(side), |conn| read::entries(conn, side, from, limit))
    }

    fn entry(&mut self, side: &SideId, position: u64) -> Result<Option<Entry>, StoreError> {
        self.read(Some(side), |conn| read::entry(conn, side, position))
    }

    fn search(
        &mut self,
        side: &SideId,
        words: &str,
        limit: usize,
    ) -> Result<Vec<Match>, StoreError> {
        let query = Query::new(words);
        self.read(Some(side), |_| Ok(()))?; // the side is not hidden
        let error = |fault: Fault| in_side(fault.in_file(&self.file), Some(side));
        let mut index = self.index.take();
        let transaction = self.conn.transaction();
        let transaction = transaction.map_err(|fault| error(fault.into()))?;
        let found = Index::search(&mut index, &transaction, side, &query, limit);
        let found = found.map_err(error)?;
        // The search fills only an index in memory, so this commit leaves the file as it is.
        transaction.commit().map_err(|fault| error(fault.into()))?;
        self.index = index;
        Ok(found)
    }

    fn cold(&mut self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError> {
        self.read(Some(side), |conn| match Side::find(conn, side)? {
            Some(side) => cold::value(conn, side.number, key),
            None => Ok(None),
        })
    }

    fn cold_keys(&mut self, side: &SideId) -> Result<Vec<String>, StoreError> {
        self.read(Some(side), |conn| read::cold_keys(conn, side))
    }

    fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        let all = self.read(None, Side::all)?;
        Ok(all
            .into_iter()
            .map(|side| side.row.into_summary())
            .collect())
    }

    fn sides(&mut self, session: &str) -> Result<Vec<Summary>, StoreError> {
        let sides = self.read(None, |conn| Side::of_session(conn, session))?;
        Ok(sides
            .into_iter()
            .map(|side| side.row.into_summary())
            .collect())
    }

    fn summary(&mut self, side: &SideId) -> Result<Option<Summary>, StoreError> {
        let found = self.read(Some(side), |conn| Side::find(conn, side))?;
        Ok(found.map(|side| side.row.into_summary()))
    }

    fn delete(&mut self, side: &SideId) -> Result<bool, StoreError> {
        self.write(side, |conn| commit::delete(conn, side))
    }

    fn retain(&mut self, side: &SideId, retention: Retention) -> Result<Freed, StoreError> {
        self.write(side, |conn| commit::retain(conn, side, retention))
    }

    fn erase(&mut self, group: &[(&SideId, &Erasure)]) -> Result<Freed, StoreError> {
        self.index = None;
        self.in_open_file(|store| store.erase_all(group))
    }

    fn verify(&mut self, side: &SideId) -> Result<(), StoreError> {
        self.read(Some(side), |conn| verify::side(conn, side))
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.in_open_file(|store| {
            probe::write(&mut store.conn).map_err(|fault| fault.in_file(&store.file))
        })?;
        let room = self.open_file.as_ref().map_or(Ok(()), OpenFile::check_room);
        room.map_err(|error| error.in_store(&self.file))
    }
}

impl SqliteStore {
    fn erase_all(&mut self, group: &[(&SideId, &Erasure)]) -> Result<Freed, StoreError> {
        let error = |fault: Fault| fault.in_file(&self.file);
        // With `secure_delete`, SQLite overwrites pages that become free with zeros.
        let secure = |conn: &Connection, on| conn.pragma_update(None, "secure_delete", on);
        secure(&self.conn, true).map_err(|fault| error(fault.into()))?;
        let mut freed = Freed::default();
        let transaction = begin(&mut self.conn).map_err(error)?;
        for &(id, erasure) in group {
            let one = erase::side(&transaction, id, erasure);
            let one = one.map_err(|fault| error(fault).in_side(id))?;
            freed.entries += one.entries;
            freed.bytes += one.bytes;
        }
        transaction.commit().map_err(|fault| error(fault.into()))?;
        erase::scrub(&self.conn).map_err(error)?;
        secure(&self.conn, false).map_err(|fault| error(fault.into()))?;
        Ok(freed)
    }

    fn commit_group(&mut self, group: &mut [Write<'_, Connection>]) -> Result<(), StoreError> {
        let error = |fault: Fault| fault.in_file(&self.file);
        let transaction = begin(&mut self.conn).map_err(error)?;
        for Write { side, batch, rows } in group {
            let mut written = Ok(());
            if batch.is_durable() {
                written = commit::batch(&transaction, side, batch);
            }
            if let Some(rows) = rows {
                written = written.and_then(|()| write_rows(&transaction, rows));
            }
            written.map_err(|fault| error(fault).in_side(side))?;
        }
        transaction.commit().map_err(|fault| error(fault.into()))
    }
}

impl Transactional for SqliteStore {
    type Transaction = Connection;

    fn commit_with(&mut self, group: &mut [Write<'_, Connection>]) -> Result<(), StoreError> {
        let mut writes = group.iter();
        if writes.all(|write| !write.batch.is_durable() && write.rows.is_none()) {
            return Ok(());
        }
        // The search index follows new entries, but not values that come late or expire. Those make
        // it stale.
        let expires = |write: &Write<'_, _>| !write.batch.expired.is_empty();
        let brings = |write: &Write<'_, _>| !write.batch.cold.is_empty();
        self.index = self.index.take().filter(|index| {
            let is_stale = group.iter().any(expires) || index.lacks && group.iter().any(brings);
            !is_stale
        });
        self.in_open_file(|store| store.commit_group(group))
    }
}

/// Writes the application's rows in a savepoint. If the release of the savepoint fails, the
/// application has ended the transaction.
fn write_rows(conn: &Connection, rows: &mut WriteRows<'_, Connection>) -> Result<(), Fault> {
    conn.execute_batch("SAVEPOINT accp_rows")?;
    let written = rows(conn);
    conn.execute_batch("RELEASE accp_rows")
        .map_err(Fault::Ended)?;
    written.map_err(Fault::Rows)
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

fn in_side(error: StoreError, side: Option<&SideId>) -> StoreError {
    match side {
        Some(side) => error.in_side(side),
        None => error,
    }
}
