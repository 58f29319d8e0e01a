//! The ledger: a row for each request, and the data with which sessions continue after a restart.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use accp_store::files;
use ring::hmac;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};

use crate::bill::Bill;
use crate::seal::{self, Seal};
use crate::usage::Usage;

/// The name of the secret that identifies the key file by which parts of prompts are sealed.
const SEAL: &str = "seal";

/// The version of the tables.
const VERSION: i64 = 2;

/// Marks a file as a ledger, in the header of SQLite. Older ledgers have no mark.
const APPLICATION: i64 = 0x4143_4347;

/// How long a connection waits for another one that writes.
const BUSY: Duration = Duration::from_secs(5);

/// The name of the lock file is the name of the ledger with this ending.
const LOCK: &str = "-gateway";

const TABLES: &str = "
CREATE TABLE secret (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
CREATE TABLE session (id TEXT PRIMARY KEY, plain INTEGER NOT NULL, used INTEGER NOT NULL) STRICT;
CREATE TABLE branch (session TEXT NOT NULL, number INTEGER NOT NULL, digests BLOB NOT NULL, memory TEXT NOT NULL,
    used INTEGER NOT NULL, last INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (session, number)) STRICT;
CREATE TABLE piece (session TEXT NOT NULL, number INTEGER NOT NULL, step INTEGER NOT NULL, used INTEGER NOT NULL,
    last INTEGER NOT NULL, digests_at INTEGER NOT NULL, digests BLOB NOT NULL, memory_at INTEGER NOT NULL, memory TEXT NOT NULL,
    PRIMARY KEY (session, number, step)) STRICT;
CREATE TABLE aside (id INTEGER PRIMARY KEY, session TEXT NOT NULL, place BLOB NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX aside_session ON aside (session, id);
CREATE TABLE request (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, session TEXT NOT NULL, provider TEXT NOT NULL,
    model TEXT NOT NULL, policy TEXT NOT NULL, status INTEGER NOT NULL, given INTEGER NOT NULL, sent INTEGER NOT NULL,
    input INTEGER, written INTEGER, read INTEGER, output INTEGER, cost REAL, plain REAL, changed REAL,
    added_us INTEGER NOT NULL, repeated INTEGER NOT NULL, whole INTEGER NOT NULL, fault TEXT,
    given_digest BLOB NOT NULL, sent_digest BLOB NOT NULL, note TEXT, turns INTEGER NOT NULL DEFAULT 0,
    hourly INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX request_session ON request (session, id);
";

/// Turns a ledger of the first version into one of the second.
const SECOND: &str = "
ALTER TABLE branch DROP COLUMN removed;
ALTER TABLE branch ADD COLUMN last INTEGER NOT NULL DEFAULT 0;
CREATE TABLE piece (session TEXT NOT NULL, number INTEGER NOT NULL, step INTEGER NOT NULL, used INTEGER NOT NULL,
    last INTEGER NOT NULL, digests_at INTEGER NOT NULL, digests BLOB NOT NULL, memory_at INTEGER NOT NULL, memory TEXT NOT NULL,
    PRIMARY KEY (session, number, step)) STRICT;
CREATE TABLE aside (id INTEGER PRIMARY KEY, session TEXT NOT NULL, place BLOB NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX aside_session ON aside (session, id);
ALTER TABLE request ADD COLUMN note TEXT;
ALTER TABLE request ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE request ADD COLUMN hourly INTEGER NOT NULL DEFAULT 0;
";

/// The file of a gateway's requests and sessions.
///
/// ```
/// use accp_gateway::{By, Ledger, Report};
///
/// let ledger = Ledger::in_memory()?;
/// assert_eq!(ledger.entries(None)?.len(), 0);
/// assert_eq!(Report::of(&ledger, By::Session)?.rows.len(), 0);
/// # Ok::<(), accp_gateway::LedgerError>(())
/// ```
pub struct Ledger {
    connection: Mutex<Connection>,
    seal: Option<Seal>,
    /// The file, unless the ledger is in memory.
    file: Option<PathBuf>,
}

/// Why a ledger cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// An error of SQLite.
    #[error("the ledger: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// Another version of the gateway wrote it.
    #[error(
        "the ledger has version {0}, and this gateway reads version {VERSION}; use another file"
    )]
    Version(i64),
    /// The file is not a ledger, but a database of another program.
    #[error("this is a database of another program, and no ledger; name another file")]
    Foreign,
    /// Another gateway has this ledger.
    #[error(
        "another gateway uses this ledger, and each would change lists that the other one has sent; end it, or name another file with --ledger"
    )]
    InUse,
    /// The file cannot be made or locked.
    #[error("the ledger: {0}")]
    Io(#[from] io::Error),
    /// The file, or its folder, cannot be written.
    #[error(
        "the ledger cannot be written ({0}); name a file in a folder that this program may write, with --ledger"
    )]
    Unwritable(String),
    /// Parts of prompts are sealed, but the key is missing or wrong.
    #[error("{0}")]
    Key(String),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(String),
}

pub(crate) type Result<T> = std::result::Result<T, LedgerError>;

impl LedgerError {
    /// Turns an error of a file that cannot be written into [`Unwritable`](Self::Unwritable), whose text says what
    /// helps.
    fn with_cure(self) -> Self {
        match self {
            Self::Io(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied
                        | io::ErrorKind::ReadOnlyFilesystem
                        | io::ErrorKind::NotFound
                        | io::ErrorKind::NotADirectory
                        | io::ErrorKind::IsADirectory
                ) =>
            {
                Self::Unwritable(error.to_string())
            }
            Self::Sqlite(error)
                if matches!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
                ) =>
            {
                Self::Unwritable(error.to_string())
            }
            other => other,
        }
    }
}

/// The row of a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// When the request came, in milliseconds of Unix time.
    pub at: i64,
    /// The session; empty if the gateway did not read the request.
    pub session: String,
    /// The provider.
    pub provider: String,
    /// The model, as the provider named it.
    pub model: String,
    /// What happened to the request: the name of the policy; `holdout` if its session stays as it is, for comparison;
    /// or `plain` if its session went back to plain requests. It is `append` if an obstacle kept the gateway from
    /// another policy.
    pub policy: String,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// The tokens of the list as the client gave it, and as the policy makes it (`sent`), by the gateway's count.
    pub given: u64,
    /// See [`given`](Self::given).
    pub sent: u64,
    /// The provider's own count, if the answer had one.
    pub usage: Option<Usage>,
    /// What the request has cost, if the answer had a count.
    pub bill: Option<Bill>,
    /// The time that the gateway took before it sent the request on, in microseconds.
    pub added_us: u64,
    /// Whether the provider refused the changed request, and got the original.
    pub repeated: bool,
    /// Whether the whole answer has passed.
    pub whole: bool,
    /// What failed, if anything did: for example, why the request went out as it was.
    pub fault: Option<String>,
    /// What left the list and why, or which obstacle the policy met.
    pub note: Option<String>,
    /// The number of turns in which the model read what had left its list. These turns are part of the count and of
    /// the bill.
    pub turns: u64,
    /// The first half of the SHA-256 of the body as the client gave it, and as it was sent (`sent_digest`). Empty if
    /// the gateway did not read the body.
    pub given_digest: Vec<u8>,
    /// See [`given_digest`](Self::given_digest).
    pub sent_digest: Vec<u8>,
}

impl Ledger {
    /// Opens a ledger, and makes it if there is none. Only the owner of a new file can open it. For SQLite the name
    /// `:memory:` means a database in memory, which needs no file.
    ///
    /// # Errors
    /// If the file is not a ledger of this version, or cannot be written.
    pub fn open(file: impl AsRef<Path>) -> Result<Self> {
        Self::opened_file(file.as_ref()).map_err(LedgerError::with_cure)
    }

    fn opened_file(file: &Path) -> Result<Self> {
        if is_file(file) {
            files::create_private(file)?;
        }
        let mut ledger = Self::with(Connection::open(file)?)?;
        ledger.file = is_file(file).then(|| file.to_owned());
        Ok(ledger)
    }

    /// Opens the file a second time, for a long read that nobody else has to wait for. `None` if there is no file, or if
    /// it cannot be opened.
    pub(crate) fn again(&self) -> Option<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = Connection::open_with_flags(self.file.as_deref()?, flags).ok()?;
        connection.busy_timeout(BUSY).ok()?;
        Some(Self {
            connection: Mutex::new(connection),
            seal: None,
            file: None,
        })
    }

    /// Locks a ledger for the gateway of this process, until the result is dropped. Readers of the ledger need no lock,
    /// and neither does a ledger in memory.
    ///
    /// # Errors
    /// [`InUse`](LedgerError::InUse), and the errors of the system.
    pub(crate) fn lock(file: &Path) -> Result<Option<File>> {
        Self::locked(file).map_err(LedgerError::with_cure)
    }

    fn locked(file: &Path) -> Result<Option<File>> {
        if !is_file(file) {
            return Ok(None);
        }
        let mut name = files::target(file)?.into_os_string();
        name.push(LOCK);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let lock = files::private(&mut options).open(name)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Err(LedgerError::InUse),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// Makes a ledger in memory, which is gone when it is dropped.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn in_memory() -> Result<Self> {
        Self::with(Connection::open_in_memory()?)
    }

    fn with(mut connection: Connection) -> Result<Self> {
        connection.busy_timeout(BUSY)?;
        check(&connection)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let making =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let version: i64 = making.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        match version {
            0 => making.execute_batch(TABLES)?,
            1 => making.execute_batch(SECOND)?,
            VERSION => {}
            other => return Err(LedgerError::Version(other)),
        }
        making.pragma_update(None, "user_version", VERSION)?;
        making.pragma_update(None, "application_id", APPLICATION)?;
        making.commit()?;
        Ok(Self {
            connection: Mutex::new(connection),
            seal: None,
            file: None,
        })
    }

    /// Seals parts of prompts from now on under the key that a file holds. Without a file, checks that nothing is sealed.
    ///
    /// # Errors
    /// If the file is too short, or not the one that this ledger was sealed with; if parts stand there unsealed.
    pub(crate) fn unlock(&mut self, file: Option<&[u8]>) -> Result<()> {
        let kept = self.found(SEAL)?;
        let Some(file) = file else {
            return match kept {
                None => Ok(()),
                Some(_) => Err(LedgerError::Key(
                    "parts of prompts in the ledger are sealed; give their key with --key-file, or use another ledger".to_owned(),
                )),
            };
        };
        let seal = Seal::of(file).map_err(LedgerError::Key)?;
        if kept.is_none() && self.has_parts()? {
            let message = "the ledger has parts of prompts from before that are not sealed; with --key-file, use another ledger";
            return Err(LedgerError::Key(message.to_owned()));
        }
        let name = seal::name_of(file);
        if self.kept(SEAL, &name)? != name {
            let message = "the ledger is sealed under another key; give that one with --key-file, or use another ledger";
            return Err(LedgerError::Key(message.to_owned()));
        }
        self.seal = Some(seal);
        Ok(())
    }

    /// Returns whether the ledger has parts of prompts.
    pub(crate) fn has_parts(&self) -> Result<bool> {
        let any = "SELECT EXISTS (SELECT 1 FROM branch) OR EXISTS (SELECT 1 FROM aside)";
        let connection = self.connection();
        Ok(connection.query_row(any, [], |row| row.get(0))?)
    }

    /// Returns a text of a session in the form for the ledger: sealed, if there is a key.
    pub(crate) fn sealed(&self, session: &str, text: &str) -> Result<String> {
        match &self.seal {
            Some(seal) => seal.seal(session, text).map_err(LedgerError::Random),
            None => Ok(text.to_owned()),
        }
    }

    /// Opens a text of a session from the ledger. A text that cannot be opened becomes empty.
    pub(crate) fn opened(&self, session: &str, text: String) -> String {
        match &self.seal {
            Some(seal) if seal::is_sealed(&text) => seal.open(session, &text).unwrap_or_default(),
            _ => text,
        }
    }

    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the secret under which credentials get their digests. The first call makes it.
    pub(crate) fn secret(&self) -> Result<hmac::Key> {
        let mut new = [0; 32];
        getrandom::fill(&mut new).map_err(|error| LedgerError::Random(error.to_string()))?;
        let value = self.kept("owner", &new)?;
        Ok(hmac::Key::new(hmac::HMAC_SHA256, &value))
    }

    /// Returns the secret of this name. If there is none yet, stores `new` under this name.
    pub(crate) fn kept(&self, name: &str, new: &[u8]) -> Result<Vec<u8>> {
        let row = "INSERT OR IGNORE INTO secret VALUES (?1, ?2)";
        self.connection().execute(row, params![name, new])?;
        let found = self.found(name)?;
        Ok(found.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
    }

    /// Returns the secret of this name, if there is one.
    pub(crate) fn found(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let value = "SELECT value FROM secret WHERE name = ?1";
        let connection = self.connection();
        Ok(connection
            .query_row(value, [name], |row| row.get(0))
            .optional()?)
    }

    /// Writes the rows of requests.
    pub(crate) fn write(&self, entries: &[Entry]) -> Result<()> {
        let mut connection = self.connection();
        let writing = connection.transaction()?;
        {
            let mut row = writing.prepare_cached(
                "INSERT INTO request (at, session, provider, model, policy, status, given, sent, input, written, read, output, \
                 cost, plain, changed, added_us, repeated, whole, fault, given_digest, sent_digest, note, turns, hourly) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, \
                 ?23, ?24)",
            )?;
            for entry in entries {
                let usage = entry.usage;
                let bill = entry.bill;
                row.execute(params![
                    entry.at,
                    entry.session,
                    entry.provider,
                    entry.model,
                    entry.policy,
                    entry.status,
                    entry.given,
                    entry.sent,
                    usage.map(|usage| usage.input),
                    usage.map(|usage| usage.written),
                    usage.map(|usage| usage.read),
                    usage.map(|usage| usage.output),
                    bill.map(|bill| bill.cost),
                    bill.map(|bill| bill.plain),
                    bill.map(|bill| bill.changed),
                    entry.added_us,
                    entry.repeated,
                    entry.whole,
                    entry.fault,
                    entry.given_digest,
                    entry.sent_digest,
                    entry.note,
                    entry.turns,
                    usage.map_or(0, |usage| usage.hourly),
                ])?;
            }
        }
        Ok(writing.commit()?)
    }

    /// Returns the requests of a session, or all, in order.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn entries(&self, session: Option<&str>) -> Result<Vec<Entry>> {
        let connection = self.connection();
        let mut rows = connection.prepare_cached(
            "SELECT at, session, provider, model, policy, status, given, sent, input, written, read, output, cost, plain, \
             changed, added_us, repeated, whole, fault, given_digest, sent_digest, note, turns, hourly FROM request \
             WHERE ?1 IS NULL OR session = ?1 ORDER BY id",
        )?;
        let rows = rows.query_map([session], |row| {
            let input: Option<u64> = row.get(8)?;
            let usage = match input {
                None => None,
                Some(input) => Some(Usage {
                    input,
                    written: row.get(9)?,
                    hourly: row.get(23)?,
                    read: row.get(10)?,
                    output: row.get(11)?,
                }),
            };
            let cost: Option<f64> = row.get(12)?;
            let bill = match cost {
                None => None,
                Some(cost) => Some(Bill {
                    cost,
                    plain: row.get(13)?,
                    changed: row.get(14)?,
                }),
            };
            Ok(Entry {
                at: row.get(0)?,
                session: row.get(1)?,
                provider: row.get(2)?,
                model: row.get(3)?,
                policy: row.get(4)?,
                status: row.get(5)?,
                given: row.get(6)?,
                sent: row.get(7)?,
                usage,
                bill,
                added_us: row.get(15)?,
                repeated: row.get(16)?,
                whole: row.get(17)?,
                fault: row.get(18)?,
                given_digest: row.get(19)?,
                sent_digest: row.get(20)?,
                note: row.get(21)?,
                turns: row.get(22)?,
            })
        })?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }

    /// Returns what a session has cost so far, and what it would have cost with the unchanged lists of the client.
    pub(crate) fn spent(&self, session: &str) -> Result<(f64, f64)> {
        let sums = "SELECT TOTAL(cost), TOTAL(plain) FROM request WHERE session = ?1";
        let connection = self.connection();
        let mut row = connection.prepare_cached(sums)?;
        Ok(row.query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }
}

fn is_file(path: &Path) -> bool {
    path != Path::new(":memory:")
}

/// Checks, before anything is written, that a file is empty or a ledger.
fn check(connection: &Connection) -> Result<()> {
    let number = |of: &str| connection.query_row::<i64, _, _>(of, [], |row| row.get(0));
    let application = number("PRAGMA application_id")?;
    let tables = number("SELECT COUNT(*) FROM sqlite_schema")?;
    let own = "SELECT COUNT(*) FROM sqlite_schema WHERE name IN ('secret', 'session', 'branch', 'request')";
    let is_ledger = application == APPLICATION || application == 0 && number(own)? == 4;
    if tables > 0 && !is_ledger || tables == 0 && application != 0 {
        return Err(LedgerError::Foreign);
    }
    Ok(())
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}
