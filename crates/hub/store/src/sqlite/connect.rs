//! The connection to the file: how it is opened and set up, and how transactions begin.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::fault::Fault;
use super::schema;
use crate::files;

/// The time that a commit waits for another process.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Opens a file, or creates it, and makes an empty file a store.
pub(super) fn open(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut conn = connect(path, flags)?;
    prepare(&mut conn)?;
    Ok(conn)
}

/// Opens a store for this connection alone.
pub(super) fn open_alone(path: &Path) -> Result<Connection, Fault> {
    let mut conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    schema::check(&conn)?;
    // If this user may not write to the file, SQLite opens it for reading only.
    if conn.is_readonly(rusqlite::MAIN_DB)? {
        return Err(Fault::Unmade(io::ErrorKind::PermissionDenied.into()));
    }
    take_alone(&conn)?;
    prepare(&mut conn)?;
    Ok(conn)
}

/// Opens a store to read it.
pub(super) fn open_read_only(path: &Path) -> Result<Connection, Fault> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::check(&conn)?;
    Ok(conn)
}

/// Makes a store in memory.
pub(super) fn open_in_memory() -> Result<Connection, Fault> {
    let conn = Connection::open_in_memory()?;
    settle(&conn)?;
    schema::create(&conn)?;
    Ok(conn)
}

/// Opens a file. A file that is made here is for its owner alone, and SQLite gives the files beside it the same
/// mode.
fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Fault> {
    // For SQLite the name `:memory:` means a database in memory, which needs no file.
    if flags.contains(OpenFlags::SQLITE_OPEN_CREATE) && path != Path::new(":memory:") {
        files::create_private(path).map_err(Fault::Unmade)?;
    }
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    settle(&conn)?;
    Ok(conn)
}

/// Sets the options of a connection, which the file does not keep.
fn settle(conn: &Connection) -> Result<(), Fault> {
    conn.busy_timeout(PATIENCE)?;
    conn.set_prepared_statement_cache_capacity(64); // room for every statement of this crate
    conn.pragma_update(None, "synchronous", "FULL")?;
    // On Apple systems a plain sync does not reach the disk; elsewhere this does nothing.
    conn.pragma_update(None, "fullfsync", true)?;
    // The search index is a temporary table, which stays in memory.
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    // The file may come from an untrusted source, so its schema gets no trust and its cells are
    // checked.
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    Ok(())
}

/// Makes an empty file a store, or checks that the file is a store.
fn prepare(conn: &mut Connection) -> Result<(), Fault> {
    let is_new = schema::is_empty(conn)?;
    if !is_new {
        schema::check(conn)?;
    }
    let mode = use_wal(conn)?;
    if mode != "wal" {
        return Err(Fault::NoWal(mode));
    }
    if is_new {
        let transaction = begin(conn)?;
        // Another process may have created the tables meanwhile.
        if schema::is_empty(&transaction)? {
            schema::create(&transaction)?;
        }
        schema::check(&transaction)?;
        transaction.commit()?;
    }
    if schema::is_old(conn)? {
        let transaction = begin(conn)?;
        // Another process may have changed the format meanwhile.
        if schema::is_old(&transaction)? {
            schema::upgrade(&transaction)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

/// Locks the file for this connection alone. SQLite can switch off WAL only if no other connection has the
/// file open, so this switches it off first.
fn take_alone(conn: &Connection) -> Result<(), Fault> {
    let mode = conn.query_row("PRAGMA journal_mode = DELETE", (), |row| {
        row.get::<_, String>(0)
    });
    match mode {
        Ok(mode) if mode == "delete" => {}
        Ok(_) => return Err(Fault::InUse),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {
            return Err(Fault::InUse);
        }
        Err(error) => return Err(error.into()),
    }
    // SQLite takes the lock with the next write, which sets the file to WAL again.
    conn.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    Ok(())
}

/// Switches the file to WAL, and returns the mode that the file is in then. When two processes
/// switch it at once, SQLite refuses one of them without waiting.
fn use_wal(conn: &Connection) -> Result<String, Fault> {
    let start = Instant::now();
    loop {
        let mode = conn.query_row("PRAGMA journal_mode = WAL", (), |row| row.get(0));
        let is_busy = |error: &rusqlite::Error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
        };
        match mode {
            Err(error) if is_busy(&error) && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            mode => return Ok(mode?),
        }
    }
}

/// Begins a transaction that writes. It waits for other writers at its start only.
pub(super) fn begin(conn: &mut Connection) -> Result<rusqlite::Transaction<'_>, Fault> {
    Ok(conn.transaction_with_behavior(TransactionBehavior::Immediate)?)
}
