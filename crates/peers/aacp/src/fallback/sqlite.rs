//! A registry in one SQLite file.

mod call;
mod fault;
mod location;
mod row;
mod schema;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use accp_registry::Hash;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::claim::{Claim, ClaimDecision, ClaimRequest, decide};
use super::entry::{Entry, EntryKey};
use super::model::ModelError;
use super::registry::{Claimed, Registry, RegistryError};
use call::Call;
use fault::Fault;

/// Keeps instructions with their packets in one SQLite file.
///
/// The file, and the files `-wal` and `-shm` beside it, can be read by their owner alone (mode 0600). A file that
/// others can read is refused (draft section 15). A new file in a work tree of Git gets an entry in the `.gitignore`
/// of its folder.
///
/// Every method is one transaction with one sync of the write-ahead log. So an answer that was given is
/// stored, and survives a power cut. Threads and processes may have one file open at once, each by a
/// registry of its own.
///
/// ```
/// use accp_aacp::fallback::{Entry, Instruction, Registry, SqliteRegistry};
/// use accp_aacp::{Packet, Vocabulary};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("instructions.aacp");
/// let mut registry = SqliteRegistry::open(&path)?;
/// let packet = Packet::parse("FETCH|HR|return:A|aacp:1.1|res:emp_salary")?;
/// let instruction = Instruction::new("Fetch the salaries")?;
/// let entry = Entry::new(instruction, "HR", &packet, Vocabulary::standard())?;
/// registry.add(std::slice::from_ref(&entry))?;
/// assert_eq!(registry.find(&entry.key())?, Some(entry));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteRegistry {
    conn: Connection,
    /// The name of the file, for errors.
    file: String,
    /// The canonical path of the file, which is the same for all processes.
    path: PathBuf,
    /// The marker of the call that this registry has allowed.
    call: Option<Call>,
}

impl SqliteRegistry {
    /// The time that a transaction waits for another process.
    pub const PATIENCE: Duration = Duration::from_secs(10);

    /// Opens a file, or creates it.
    ///
    /// # Errors
    /// A file that is not a registry, that others can read, that is damaged, locked or of another format. The file is
    /// left as it is.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RegistryError> {
        let path = path.as_ref();
        let created = location::prepare(path);
        Self::new(path, created.and_then(|()| connect(path)))
    }

    /// Opens an existing file.
    ///
    /// # Errors
    /// As [`open`](Self::open), and a file that does not exist.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, RegistryError> {
        let path = path.as_ref();
        let found = match std::fs::metadata(path) {
            Ok(file) if file.is_file() && file.len() == 0 => Err(Fault::Empty),
            found => found
                .map_err(Fault::from)
                .and_then(|_| location::closed(path)),
        };
        Self::new(path, found.and_then(|()| connect(path)))
    }

    /// Adds entries: all of them, or none if there is an error. An entry that is there already stays,
    /// with its own count. Returns how many are new.
    ///
    /// # Errors
    /// An entry of the same key with another packet; the failures of the file.
    pub fn add(&mut self, entries: &[Entry]) -> Result<usize, RegistryError> {
        self.write(|conn| {
            let mut added = 0;
            for entry in entries {
                match row::find(conn, &entry.key())? {
                    None => {
                        row::write(conn, entry)?;
                        row::remove_claim(conn, &entry.key())?;
                        added += 1;
                    }
                    Some(found) if (found.task(), found.fields()) == (entry.task(), entry.fields()) => {}
                    Some(_) => {
                        let text = format!(
                            "the entry {} has another packet: remove it first, and nothing was added",
                            entry.key()
                        );
                        return Err(Fault::Conflict(text));
                    }
                }
            }
            Ok(added)
        })
    }

    /// Removes the entry of a key. Returns whether there was one.
    pub fn remove(&mut self, key: &EntryKey) -> Result<bool, RegistryError> {
        self.write(|conn| row::remove(conn, key))
    }

    /// Calls `each` with the key of every entry, in the order of domains and ids, and with the entry, or the error of
    /// a damaged entry. The pages of the file are checked before.
    ///
    /// # Errors
    /// Damage outside of single entries; the failures of the file.
    pub fn each(
        &mut self,
        mut each: impl FnMut(EntryKey, Result<Entry, RegistryError>),
    ) -> Result<(), RegistryError> {
        let file = self.file.clone();
        self.read(|conn| {
            let sound: String = conn.query_row("PRAGMA quick_check(1)", (), |row| row.get(0))?;
            if sound != "ok" {
                return Err(Fault::Corrupt("its pages do not fit together".to_owned()));
            }
            let sql = format!("SELECT {} FROM entry ORDER BY dom, id", row::ENTRY);
            let mut statement = conn.prepare(&sql)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let entry = row::entry(row).map_err(|fault| fault.in_file(&file));
                each(row::key(row)?, entry);
            }
            Ok(())
        })
    }

    fn new(path: &Path, opened: Result<Connection, Fault>) -> Result<Self, RegistryError> {
        let file = path.display().to_string();
        let real = path.canonicalize().map_err(Fault::from);
        match opened.and_then(|conn| Ok((conn, real?))) {
            Ok((conn, path)) => Ok(Self {
                conn,
                file,
                path,
                call: None,
            }),
            Err(fault) => Err(fault.in_file(&file)),
        }
    }

    /// Reads in one transaction.
    fn read<T>(
        &mut self,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, RegistryError> {
        let error = |fault: Fault| fault.in_file(&self.file);
        let transaction = self
            .conn
            .transaction()
            .map_err(|fault| error(fault.into()))?;
        read(&transaction).map_err(error)
    }

    /// Writes in one transaction: all or nothing. The transaction waits for other writers only at its start.
    fn write<T>(
        &mut self,
        write: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, RegistryError> {
        let error = |fault: Fault| fault.in_file(&self.file);
        let transaction = begin(&mut self.conn).map_err(error)?;
        let result = write(&transaction).map_err(error)?;
        transaction.commit().map_err(|fault| error(fault.into()))?;
        Ok(result)
    }
}

impl Registry for SqliteRegistry {
    fn find(&mut self, key: &EntryKey) -> Result<Option<Entry>, RegistryError> {
        self.read(|conn| row::find(conn, key))
    }

    fn hit(&mut self, key: &EntryKey) -> Result<Option<Entry>, RegistryError> {
        // An instruction that is not in the registry needs no write, and so no lock.
        if self.find(key)?.is_none() {
            return Ok(None);
        }
        self.write(|conn| row::count(conn, key))
    }

    fn page(
        &mut self,
        dom: &str,
        after: Option<Hash>,
        limit: usize,
    ) -> Result<Vec<Entry>, RegistryError> {
        self.read(|conn| {
            let sql = format!(
                "SELECT {} FROM entry WHERE dom = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
                row::ENTRY
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let after = after.map_or(Vec::new(), |id| id.as_bytes().to_vec());
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut rows = statement.query(params![dom, after, limit])?;
            let mut entries = Vec::new();
            while let Some(row) = rows.next()? {
                entries.push(row::entry(row)?);
            }
            Ok(entries)
        })
    }

    fn claim(&mut self, key: &EntryKey, ask: &ClaimRequest) -> Result<Claimed, RegistryError> {
        let path = self.path.clone();
        // The lease of a dead caller counts as ended.
        let row = |conn: &Connection| {
            let mut row = row::claim(conn, key)?;
            if let Some(row) = row.as_mut().filter(|row| row.until > 0)
                && !Call::is_alive(&path, row.holder)
            {
                row.until = 0;
            }
            Ok::<_, Fault>(row)
        };
        // A caller that has to wait needs no lock.
        let seen = self.read(|conn| Ok((row::find(conn, key)?, row(conn)?)))?;
        if let (None, claim) = &seen
            && let decision @ (ClaimDecision::Wait { .. } | ClaimDecision::Failed(_)) =
                decide(claim.as_ref(), ask)
        {
            return Ok(Claimed::Decided(decision));
        }
        let (claimed, call) = self.write(|conn| {
            if let Some(entry) = row::count(conn, key)? {
                return Ok((Claimed::Entry(entry), None));
            }
            let decision = decide(row(conn)?.as_ref(), ask);
            let mut call = None;
            if let ClaimDecision::Call(claim) = &decision {
                call = Some(Call::begin(&path, claim.holder)?);
                row::write_claim(conn, key, claim, ask.now)?;
            }
            Ok((Claimed::Decided(decision), call))
        })?;
        self.call = call;
        Ok(claimed)
    }

    fn settle(
        &mut self,
        key: &EntryKey,
        claim: &Claim,
        found: Result<&Entry, &ModelError>,
    ) -> Result<Option<Entry>, RegistryError> {
        // When this function ends, the marker of the call is removed, even if its result cannot
        // be stored.
        let _call = self.call.take();
        self.write(|conn| {
            if let Some(entry) = row::count(conn, key)? {
                row::remove_claim(conn, key)?;
                return Ok(Some(entry));
            }
            match found {
                Ok(entry) => {
                    row::write(conn, entry)?;
                    row::remove_claim(conn, key)?;
                    row::count(conn, key)
                }
                Err(failure) => {
                    let row = row::claim(conn, key)?.filter(|row| row.is_same_call(claim));
                    if let Some(row) = row {
                        let now = row.until;
                        row::write_claim(conn, key, &row.into_failed(failure.clone()), now)?;
                    }
                    Ok(None)
                }
            }
        })
    }
}

impl fmt::Debug for SqliteRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteRegistry")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

fn connect(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(SqliteRegistry::PATIENCE)?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    // On Apple systems a plain sync does not reach the disk. On other systems this setting does
    // nothing.
    conn.pragma_update(None, "fullfsync", true)?;
    // The file may come from an untrusted source, so SQLite does not trust its schema, and checks
    // its cells.
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    // Deleted data is overwritten in the file.
    conn.pragma_update(None, "secure_delete", true)?;
    let is_new = schema::is_empty(&conn)?;
    if !is_new {
        schema::check(&conn)?;
    }
    let mode = use_wal(&conn)?;
    if mode != "wal" {
        return Err(Fault::NoWal(mode));
    }
    if is_new {
        let transaction = begin(&mut conn)?;
        // Another process may have created the tables meanwhile.
        if schema::is_empty(&transaction)? {
            schema::create(&transaction)?;
        }
        schema::check(&transaction)?;
        transaction.commit()?;
    }
    Ok(conn)
}

/// Switches the file to WAL, and returns the mode that the file then has. When two processes switch the file at once,
/// SQLite refuses one of them without waiting.
#[expect(
    clippy::disallowed_methods,
    reason = "a part of the crate that does IO"
)]
fn use_wal(conn: &Connection) -> Result<String, Fault> {
    let start = Instant::now();
    loop {
        let mode = conn.query_row("PRAGMA journal_mode = WAL", (), |row| row.get(0));
        let is_busy = |error: &rusqlite::Error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
        };
        match mode {
            Err(error) if is_busy(&error) && start.elapsed() < SqliteRegistry::PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            mode => return Ok(mode?),
        }
    }
}

fn begin(conn: &mut Connection) -> Result<rusqlite::Transaction<'_>, Fault> {
    Ok(conn.transaction_with_behavior(TransactionBehavior::Immediate)?)
}
