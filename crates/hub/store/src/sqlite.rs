//! A store of sides in one SQLite file.

mod cold;
mod commit;
mod connect;
mod entry;
mod erase;
mod fault;
mod presence;
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
use rusqlite::Connection;

use crate::error::StoreError;
use crate::open_file::OpenFile;
use crate::rows::{Transactional, Write};
use crate::search::Match;
use crate::side::SideId;
use crate::store::{Erasure, Freed, Kept, Retention, Store, Summary};
use accp_context::search::Query;
use connect::begin;
use fault::Fault;
use search::Index;
use side::{DamagedSide, Side};

/// Keeps sides of sessions in one SQLite file, in the format of `docs/format.md`.
///
/// A commit is one transaction and one sync of the write-ahead log (`journal_mode` WAL, `synchronous` FULL). So a
/// commit survives a power cut, provided that the disk obeys a sync. While the file is open, two other files lie
/// beside it, `-wal` and `-shm`; until the file is closed, a copy has to take all three. The file does not
/// shrink, unless something is erased, but the space of deleted data is used again.
///
/// [`erase`](Store::erase) writes the whole file anew, so that no page keeps erased data. That takes as long as a copy
/// of the file, and the disk needs room for a copy. Rows of the application's tables that have no `INTEGER PRIMARY
/// KEY` get other numbers. When another process reads at that time, the erasure fails with
/// [`Busy`](crate::StoreErrorKind::Busy) after the data has left the tables; erase again then. If the process ends at
/// that time, [`HubFile::open`](crate::HubFile::open) and the next erasure complete the erasure. The store cannot
/// erase data from copies of the file, nor from blocks of the disk that once were part of the file.
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
    /// The damaged rows of table `side`; `None` until the store has read all rows and has found each side in the
    /// index.
    damaged: Option<Vec<DamagedSide>>,
    /// True while one transaction holds the state that all reads see.
    is_held: bool,
    /// The words of the side that was searched last.
    index: Option<Index>,
    /// The file that is open; `None` in memory.
    open_file: Option<OpenFile>,
}

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
        let path = path.as_ref();
        Self::new(connect::open(path), Some(path))
    }

    /// Opens a file that no other process has open, and keeps others out until the store is dropped.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open); [`Busy`](crate::StoreErrorKind::Busy) when another process
    /// has the file open; [`Io`](crate::StoreErrorKind::Io) when it does not exist.
    pub fn open_alone(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        Self::new(connect::open_alone(path), Some(path))
    }

    /// Opens a file for reading, also while another process writes to it. Every commit fails.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open); [`Io`](crate::StoreErrorKind::Io) when the file does not
    /// exist; [`Unfinished`](crate::StoreErrorKind::Unfinished) when it is empty.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        Self::new(connect::open_read_only(path), Some(path))
    }

    /// Opens a store in memory that behaves like a file but is not durable.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        Self::new(connect::open_in_memory(), None)
    }

    /// Sets how long a commit waits for another process.
    pub fn set_patience(&mut self, patience: Duration) -> Result<(), StoreError> {
        let result = self.conn.busy_timeout(patience);
        result.map_err(|error| Fault::from(error).in_file(&self.file))
    }

    /// Holds the present state of the file: from now on all reads see this state, whatever other processes write, and
    /// every write of this store fails. Until the store is dropped, no process can empty the write-ahead log. So the
    /// log grows with the writes of other processes, and other processes cannot complete an erasure.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn hold(&mut self) -> Result<(), StoreError> {
        if !self.is_held {
            // The transaction holds a state from its first read on.
            let begun = self
                .conn
                .execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema");
            begun.map_err(|error| Fault::from(error).in_file(&self.file))?;
            self.is_held = true;
        }
        Ok(())
    }

    /// Returns whether an erasure of this file was cut short: its process ended after it had committed the erasure,
    /// and before it had overwritten the erased bytes. The next [`erase`](Store::erase) overwrites them, and so does
    /// [`complete_erasure`](Self::complete_erasure). This is also true while another process erases.
    pub fn erasure_is_due(&self) -> bool {
        let file = self.open_file.as_ref();
        file.is_some_and(OpenFile::has_erasure_mark)
    }

    /// Completes an erasure that was cut short, if there is one. Returns whether there was one. This takes as long as
    /// [`erase`](Store::erase) does.
    ///
    /// # Errors
    /// As [`erase`](Store::erase).
    pub fn complete_erasure(&mut self) -> Result<bool, StoreError> {
        if !self.erasure_is_due() {
            return Ok(false);
        }
        self.in_open_file(Self::scrub)?;
        Ok(true)
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

    /// Takes over what an earlier store of the same file knows about the file.
    pub(crate) fn is_at(&mut self, earlier: &OpenFile) {
        if self.open_file.as_ref().is_some_and(|own| own.is(earlier)) {
            earlier.note();
            self.open_file = Some(earlier.clone());
        }
    }

    /// Runs `write`. Before and after, checks that the file is still in its place: in another file, the next process
    /// would not find the commit.
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

    fn check_open_file(&self) -> Result<(), StoreError> {
        let checked = self
            .open_file
            .as_ref()
            .map(|file| presence::check(&self.conn, file));
        let checked = checked.unwrap_or(Ok(()));
        checked.map_err(|error| error.in_store(&self.file))
    }

    fn new(opened: Result<Connection, Fault>, path: Option<&Path>) -> Result<Self, StoreError> {
        let file = path.map_or("memory".to_owned(), |path| path.display().to_string());
        let conn = opened.map_err(|fault| fault.in_file(&file))?;
        let open_file = path.map(OpenFile::of).transpose();
        let open_file = open_file.map_err(|error| error.in_store(&file))?;
        Ok(Self {
            conn,
            file,
            damaged: None,
            is_held: false,
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
        let transaction = (!self.is_held).then(|| self.conn.unchecked_transaction());
        let transaction = transaction
            .transpose()
            .map_err(|fault| error(fault.into()))?;
        let conn = transaction.as_deref().unwrap_or(&self.conn);
        // A damaged index or name can hide a side, and its session would begin anew. So the store reads all rows
        // before it first reports that a side does not exist.
        let is_sound = self.damaged.as_ref().is_some_and(Vec::is_empty);
        let is_known = match side {
            Some(side) => is_sound || Side::find(conn, side).map_err(error)?.is_some(),
            None => is_sound,
        };
        if !is_known {
            if self.damaged.is_none() {
                self.damaged = Some(Side::survey(conn).map_err(error)?.damaged);
            }
            for row in self.damaged.iter().flatten() {
                let may_be = side.map_or(Ok(false), |side| row.may_be(conn, side));
                if may_be.map_err(error)? {
                    return Err(error(row.fault()));
                }
            }
        }
        let found = read(conn).map_err(error)?;
        if let Some(transaction) = transaction {
            // A search fills its index, which is in memory. Nothing changes the file.
            transaction.commit().map_err(|fault| error(fault.into()))?;
        }
        Ok(found)
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
        let (query, mut index) = (Query::new(words), self.index.take());
        let found = self.read(Some(side), |conn| {
            Index::search(&mut index, conn, side, &query, limit)
        });
        self.index = index.filter(|_| found.is_ok());
        found
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

    fn survey(&mut self) -> Result<Vec<Result<Summary, StoreError>>, StoreError> {
        let survey = self.read(None, Side::survey)?;
        let sound = survey.sides.into_iter();
        let sound = sound.map(|side| Ok(side.row.into_summary()));
        let damaged = survey.damaged.into_iter().map(|row| {
            let error = row.fault().in_file(&self.file);
            Err(in_side(error, row.name.as_ref()))
        });
        Ok(sound.chain(damaged).collect())
    }

    fn sides(&mut self, session: &str) -> Result<Vec<Summary>, StoreError> {
        let sides = self.read(None, |conn| Side::of_session(conn, session))?;
        for row in self.damaged.iter().flatten() {
            let error = |fault: Fault| in_side(fault.in_file(&self.file), row.name.as_ref());
            if row.may_be_in(&self.conn, session).map_err(error)? {
                return Err(error(row.fault()));
            }
        }
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
        erase::overwrite(&self.conn, true).map_err(error)?;
        let mut freed = Freed::default();
        let transaction = begin(&mut self.conn).map_err(error)?;
        // Such a row may have been one of these sides, and would keep what is to be erased.
        verify::sides(&transaction).map_err(error)?;
        for &(id, erasure) in group {
            let one = erase::side(&transaction, id, erasure);
            let one = one.map_err(|fault| error(fault).in_side(id))?;
            freed.entries += one.entries;
            freed.bytes += one.bytes;
        }
        erase::commit(transaction, self.open_file.as_ref()).map_err(error)?;
        self.scrub()?;
        Ok(freed)
    }

    /// Overwrites what was erased from the tables.
    fn scrub(&mut self) -> Result<(), StoreError> {
        let error = |fault: Fault| fault.in_file(&self.file);
        erase::overwrite(&self.conn, true).map_err(error)?;
        erase::scrub(&self.conn).map_err(error)?;
        if let Some(file) = &self.open_file {
            file.unmark_erasure();
        }
        erase::overwrite(&self.conn, false).map_err(error)
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
                written = written.and_then(|()| commit::rows(&transaction, rows));
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
        // The search index follows new entries. Values that come late or expire make the index stale.
        let expires = |write: &Write<'_, _>| !write.batch.expired.is_empty();
        let brings = |write: &Write<'_, _>| !write.batch.cold.is_empty();
        self.index = self.index.take().filter(|index| {
            let is_stale = group.iter().any(expires) || index.lacks && group.iter().any(brings);
            !is_stale
        });
        self.in_open_file(|store| store.commit_group(group))
    }
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
