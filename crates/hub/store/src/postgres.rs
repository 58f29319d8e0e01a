//! A store of sides in a PostgreSQL database.

mod commit;
mod connect;
mod erase;
mod fault;
mod fence;
mod gather;
mod link;
mod probe;
mod read;
mod retain;
mod row;
mod rows;
mod schema;
mod text;
mod tls;
mod touched;
mod verify;
mod write;

use std::fmt;
use std::time::Duration;

use accp_session::{Batch, Entry, Stored};

use crate::changes::SideRow;
use crate::error::{StoreError, StoreErrorKind};
use crate::rows::{Transactional, Write};
use crate::side::SideId;
use crate::store::{Erasure, Freed, Kept, Lease, Retention, Store, Summary};
use commit::{Failure, Writer};
use connect::Address;
use fault::Fault;
use fence::Fences;
use link::{FlightStep, Link};

pub use rows::PostgresRows;

/// Keeps sides of sessions in a PostgreSQL database, in the tables of `docs/postgres.md`.
///
/// A commit is one transaction and two round trips, however many batches it has. A store has one
/// connection, which lasts as long as the store: after a connection has failed, every call fails with
/// [`Io`](crate::StoreErrorKind::Io), and the program opens the store anew.
///
/// Several processes may have one database open, and each may run other sides. The store does not let two
/// processes run one side: see [`Store`].
///
/// [`erase`](Store::erase) deletes data from the tables. The database overwrites that data when it vacuums.
/// `docs/postgres.md` says where else the data may be.
///
/// Calls wait for the database, so asynchronous code puts a store behind a
/// [`Committer`](crate::Committer). A call that comes from a runtime of tokio fails.
///
/// ```no_run
/// use accp_store::{Committer, PostgresStore};
///
/// let url = "postgres://accp:secret@db.example/accp?sslmode=require";
/// let committer = Committer::new(PostgresStore::open(url)?)?;
/// # Ok::<(), accp_store::StoreError>(())
/// ```
pub struct PostgresStore {
    rows: PostgresRows,
    fences: Fences,
    /// The name of the database, for error messages.
    name: String,
    /// The error that every call returns after the connection has failed; `None` while the connection can be used.
    broken: Option<StoreError>,
}

impl PostgresStore {
    /// The time that a call waits for the database, unless [`set_patience`](Self::set_patience) changes
    /// it. The database itself gives up a statement earlier, after its `statement_timeout`.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    /// How many times the store tries a transaction, if the database asks to try it again.
    const TRIES: u32 = 4;

    /// Connects to a database, and makes the tables if there are none.
    ///
    /// The URL has the form `postgres://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE&...`, with the
    /// parameters of `tokio_postgres::Config`, and these in addition:
    ///
    /// - `sslmode`: `disable`; `prefer`, the default: TLS if the server has it; `require`. With TLS, the
    ///   certificate of the server must be right.
    /// - `sslrootcert`: the file with the certificates to trust, in PEM. Without it, the authorities
    ///   are trusted that browsers trust.
    /// - `connect_timeout`: in seconds; 10 by default.
    ///
    /// # Errors
    /// [`Io`](crate::StoreErrorKind::Io) when there is no connection.
    /// [`Version`](crate::StoreErrorKind::Version) when a later version of this crate has made the
    /// tables. [`Foreign`](crate::StoreErrorKind::Foreign) when the tables are another program's.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let address = Address::parse(url).map_err(|fault| fault.in_store("postgres"))?;
        let link = address.connect(Self::PATIENCE);
        let link = link.map_err(|fault| fault.in_store(&address.name))?;
        Ok(Self {
            rows: PostgresRows::new(link),
            fences: Fences::default(),
            name: address.name,
            broken: None,
        })
    }

    /// Sets how long a call waits for the database. After that it fails with
    /// [`Io`](crate::StoreErrorKind::Io).
    pub fn set_patience(&mut self, patience: Duration) {
        self.rows.link().set_patience(patience);
    }

    /// Returns how many round trips to the database there were since the store was opened.
    pub fn round_trips(&mut self) -> u64 {
        self.rows.link().flights()
    }

    /// Makes a call that needs no transaction over several round trips, such as a read.
    fn call<T>(
        &mut self,
        side: Option<&SideId>,
        call: impl FnOnce(&mut Link) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.check()?;
        let result = call(self.rows.link());
        result.map_err(|fault| self.fail(Failure::Fault(fault, side.cloned())))
    }

    /// Writes in a transaction. If the database asks to try the transaction again, tries it again.
    fn write<T>(
        &mut self,
        mut write: impl FnMut(&mut Writer<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        self.check()?;
        let mut tries = 1;
        loop {
            let mut writer = Writer {
                rows: &mut self.rows,
                fences: &mut self.fences,
                name: &self.name,
            };
            match write(&mut writer) {
                Ok(done) => return Ok(done),
                Err(Failure::Fault(fault, _)) if fault.is_retried() && tries < Self::TRIES => {
                    tries += 1;
                }
                Err(failure) => return Err(self.fail(failure)),
            }
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        link::check_thread().map_err(|fault| fault.in_store(&self.name))?;
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn fail(&mut self, failure: Failure) -> StoreError {
        let (fault, side) = match failure {
            Failure::Fault(fault, side) => (fault, side),
            Failure::Lost(error) => return error,
        };
        let is_final = fault.is_final();
        let error = fault.in_store(&self.name);
        if is_final {
            // When the connection closes, the database ends the transaction and its locks.
            self.rows.link().close();
            let text = format!("the connection has failed ({error}): open the store anew");
            let broken = StoreError::new(StoreErrorKind::Io, text);
            self.broken = Some(broken.in_store(&self.name));
        }
        match side {
            Some(side) => error.in_side(&side),
            None => error,
        }
    }
}

impl Store for PostgresStore {
    fn commit(&mut self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError> {
        let group = group.iter().map(|(side, batch)| Write::new(side, batch));
        self.commit_with(&mut group.collect::<Vec<_>>())
    }

    fn load(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        self.call(Some(side), |link| Ok(read::load(link, side, Vec::new())?.1))
    }

    fn open(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        self.check()?;
        commit::check_side(side).map_err(|failure| self.fail(failure))?;
        // The number of the side's fence is raised before the state is read, so that no commit of
        // another store is missed.
        let opened = self.call(Some(side), |link| {
            let raise = vec![
                FlightStep::Plain(commit::BEGIN),
                Fences::raise(side),
                FlightStep::Plain("COMMIT"),
            ];
            let (rows, stored) = read::load(link, side, raise)?;
            let raised = rows.get(1).map(Vec::as_slice).unwrap_or_default();
            Ok((fence::read(raised)?, stored))
        });
        let (raised, stored) = opened?;
        self.fences.hold(raised);
        Ok(stored)
    }

    fn lease(&mut self, side: &SideId, holder: &str, time: Duration) -> Result<Lease, StoreError> {
        self.check()?;
        commit::check_side(side).map_err(|failure| self.fail(failure))?;
        self.call(Some(side), |link| fence::lease(link, side, holder, time))
    }

    fn renew(
        &mut self,
        sides: &[SideId],
        holder: &str,
        time: Duration,
    ) -> Result<Vec<SideId>, StoreError> {
        self.call(None, |link| fence::renew(link, sides, holder, time))
    }

    fn release(&mut self, sides: &[SideId], holder: &str) -> Result<(), StoreError> {
        self.call(None, |link| fence::release(link, sides, holder))
    }

    fn entries(
        &mut self,
        side: &SideId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.call(Some(side), |link| read::entries(link, side, from, limit))
    }

    fn entry(&mut self, side: &SideId, position: u64) -> Result<Option<Entry>, StoreError> {
        self.call(Some(side), |link| read::entry(link, side, position))
    }

    fn cold(&mut self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError> {
        self.call(Some(side), |link| read::value(link, side, key))
    }

    fn cold_keys(&mut self, side: &SideId) -> Result<Vec<String>, StoreError> {
        self.call(Some(side), |link| read::keys(link, side))
    }

    fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        let sides = self.call(None, |link| read::sides(link, None))?;
        Ok(sides.into_iter().map(SideRow::into_summary).collect())
    }

    fn survey(&mut self) -> Result<Vec<Result<Summary, StoreError>>, StoreError> {
        let (sides, damaged) = self.call(None, read::survey)?;
        let sound = sides.into_iter().map(|side| Ok(side.into_summary()));
        let damaged = damaged.into_iter().map(|(name, fault)| {
            let error = fault.in_store(&self.name);
            Err(match &name {
                Some(name) => error.in_side(name),
                None => error,
            })
        });
        Ok(sound.chain(damaged).collect())
    }

    fn sides(&mut self, session: &str) -> Result<Vec<Summary>, StoreError> {
        let sides = self.call(None, |link| read::sides(link, Some(session)))?;
        Ok(sides.into_iter().map(SideRow::into_summary).collect())
    }

    fn summary(&mut self, side: &SideId) -> Result<Option<Summary>, StoreError> {
        let found = self.call(Some(side), |link| read::side(link, side))?;
        Ok(found.map(SideRow::into_summary))
    }

    fn delete(&mut self, side: &SideId) -> Result<bool, StoreError> {
        let deleted = self.write(|writer| writer.delete(side));
        deleted.map_err(|error| error.in_side(side))
    }

    fn retain(&mut self, side: &SideId, retention: Retention) -> Result<Freed, StoreError> {
        let freed = self.write(|writer| writer.retain(side, retention));
        freed.map_err(|error| error.in_side(side))
    }

    fn erase(&mut self, group: &[(&SideId, &Erasure)]) -> Result<Freed, StoreError> {
        self.write(|writer| writer.erase(group))
    }

    fn verify(&mut self, side: &SideId) -> Result<(), StoreError> {
        self.call(Some(side), |link| verify::side(link, side))
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.call(None, probe::write)
    }
}

impl Transactional for PostgresStore {
    type Transaction = PostgresRows;

    fn commit_with(&mut self, group: &mut [Write<'_, PostgresRows>]) -> Result<(), StoreError> {
        let mut writes = group.iter();
        if writes.all(|write| !write.batch.is_durable() && write.rows.is_none()) {
            return Ok(());
        }
        self.write(|writer| writer.commit(group))
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
