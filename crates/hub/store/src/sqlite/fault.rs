//! Faults of the file. They do not name the file and the side yet: `Fault::in_file` makes the error with these names.

use std::io;
use std::str::Utf8Error;

use rusqlite::{ErrorCode, ffi};

use crate::changes::Conflict;
use crate::error::{StoreError, StoreErrorKind};
use crate::open_file::unreachable;
use crate::rows::RowsError;
use crate::table::Damage;

#[derive(Debug)]
pub(super) enum Fault {
    /// An error of SQLite.
    Sqlite(rusqlite::Error),
    /// A row or the schema differs from what was written.
    Corrupt(String),
    /// A batch does not fit the data in the file.
    Conflict(String),
    /// The file is another program's.
    Foreign,
    /// The file is empty: it is new, or the program that was creating it was killed.
    Unfinished,
    /// This version does not read the format of the file, which is older or newer.
    Version { found: i32, read: i32 },
    /// The application's rows could not be written.
    Rows(RowsError),
    /// The application ended the transaction while it wrote its rows.
    Ended(rusqlite::Error),
    /// The file cannot have a write-ahead log.
    NoWal(String),
    /// Another process is reading a state of the file that has the erased data, so the data cannot be overwritten now.
    Unscrubbed,
    /// The data is erased from the tables, and the file could not be written anew, so it still has the bytes.
    Uncopied(rusqlite::Error),
    /// Another process has the file open.
    InUse,
    /// The file, or a file beside it, cannot be made or written.
    Unmade(io::Error),
}

impl Fault {
    /// Returns whether SQLite has refused a commit without keeping any of it.
    pub(super) fn is_refusal(&self) -> bool {
        let Self::Sqlite(source) = self else {
            return false;
        };
        matches!(
            reason(source).0,
            StoreErrorKind::Full | StoreErrorKind::Busy
        )
    }

    /// Makes the error that the store returns.
    pub(super) fn in_file(self, file: &str) -> StoreError {
        let error = |kind, text: &str| StoreError::new(kind, text).in_store(file);
        match self {
            Self::Sqlite(source) => {
                let (kind, cure) = reason(&source);
                error(kind, &format!("{source}: {cure}")).caused_by(source)
            }
            Self::Corrupt(text) => error(StoreErrorKind::Corrupt, &format!("{text}: {BACKUP}")),
            Self::Conflict(text) => error(StoreErrorKind::Conflict, &text),
            Self::Foreign => error(StoreErrorKind::Foreign, FOREIGN),
            Self::Unfinished => error(StoreErrorKind::Unfinished, UNFINISHED),
            Self::Version { found, read } => {
                let cure = if found > read {
                    "update, or export the sessions with the version that wrote it"
                } else {
                    "export its sessions with `accp session export` of the version that wrote it, \
                     and begin them anew in a new file"
                };
                let text = format!(
                    "the file has format {found}, and this version reads format {read}: {cure}"
                );
                error(StoreErrorKind::Version, &text)
            }
            Self::Rows(source) => {
                let text = format!("the rows of the application were not written: {source}");
                error(StoreErrorKind::Rows, &text).caused_by(source)
            }
            Self::Ended(source) => {
                let text = format!(
                    "the transaction ended while the application wrote its rows ({source}): write \
                     them without COMMIT and ROLLBACK, and open the store anew"
                );
                error(StoreErrorKind::Io, &text).caused_by(source)
            }
            Self::Unscrubbed => error(StoreErrorKind::Busy, UNSCRUBBED),
            Self::Uncopied(source) => {
                let (kind, _) = reason(&source);
                let cure = match kind {
                    StoreErrorKind::Full => "free space, as much as the file has",
                    StoreErrorKind::Busy => "end the process that writes to the file",
                    StoreErrorKind::Corrupt => BACKUP,
                    _ => "check the disk",
                };
                let text = format!(
                    "the data is erased from the tables, and its bytes are still in the file, which could not be \
                     written anew ({source}): {cure}, then erase again"
                );
                error(kind, &text).caused_by(source)
            }
            Self::InUse => error(StoreErrorKind::Busy, IN_USE),
            Self::Unmade(source) => unreachable(source).in_store(file),
            Self::NoWal(mode) => error(
                StoreErrorKind::Io,
                &format!(
                    "the journal stays in mode `{mode}`, and a store needs `wal`: put the file on \
                     a local disk"
                ),
            ),
        }
    }
}

const UNSCRUBBED: &str = "the data is erased from the tables, and its bytes are still in the files, because \
                          another process reads them: end that process, then erase again";
const IN_USE: &str = "another process has the file open: end that process, or have it do the work";

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Conflict> for Fault {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict.0)
    }
}

impl From<Damage> for Fault {
    fn from(damage: Damage) -> Self {
        Self::Corrupt(damage.0)
    }
}

impl From<Utf8Error> for Fault {
    fn from(error: Utf8Error) -> Self {
        Self::Corrupt(format!("a text is not UTF-8: {error}"))
    }
}

const BACKUP: &str = "the file is damaged; take a copy back from a backup, or export what is sound";
const FOREIGN: &str = "the file is not a store of sessions: name another file, or a new one";
const UNFINISHED: &str = "the store is empty, and the command that creates it has not finished: run \
                          that command again, or remove the file";

const NO_ROOM_BESIDE: &str = "a reader makes files beside this one, and this user may not write in the folder: copy the \
                              file, with its `-wal` if there is one, to another folder, and read the copy";

/// Returns the kind of error when SQLite fails, and what helps.
fn reason(error: &rusqlite::Error) -> (StoreErrorKind, &'static str) {
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        // Any other error of rusqlite means that a column has another type than its table declares.
        return (StoreErrorKind::Corrupt, BACKUP);
    };
    // Only the creation of a store uses a rollback journal, so a journal that is left shows that
    // the creation was cut short.
    if failure.extended_code == ffi::SQLITE_READONLY_ROLLBACK {
        return (StoreErrorKind::Unfinished, UNFINISHED);
    }
    if failure.extended_code == ffi::SQLITE_READONLY_DIRECTORY {
        return (StoreErrorKind::Io, NO_ROOM_BESIDE);
    }
    match failure.code {
        ErrorCode::DiskFull => (
            StoreErrorKind::Full,
            "nothing of the commit is kept; free space, then restore the session and go on",
        ),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => (
            StoreErrorKind::Busy,
            "a second process writes to this file; try again, or close the other process",
        ),
        // Constraints are checked before a write can violate them, so a violation shows that the
        // indexes disagree with the tables.
        ErrorCode::DatabaseCorrupt | ErrorCode::ConstraintViolation => {
            (StoreErrorKind::Corrupt, BACKUP)
        }
        ErrorCode::NotADatabase => (StoreErrorKind::Foreign, FOREIGN),
        ErrorCode::TooBig => (
            StoreErrorKind::Conflict,
            "a value may have at most 1,000,000,000 bytes; split it",
        ),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => (
            StoreErrorKind::Io,
            "check that the folder exists and is writable, and that the store was not opened \
             read-only",
        ),
        _ => (
            StoreErrorKind::Io,
            "check the disk, then open the store anew",
        ),
    }
}
