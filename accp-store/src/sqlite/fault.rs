//! What went wrong, before it is known in which file and session.

use std::str::Utf8Error;

use rusqlite::ErrorCode;

use crate::{RowsError, StoreError, StoreErrorKind};

#[derive(Debug)]
pub(super) enum Fault {
    /// What SQLite says.
    Sqlite(rusqlite::Error),
    /// A row or the schema is not as it was written.
    Corrupt(String),
    /// A batch does not fit.
    Conflict(String),
    /// Another program's file.
    Foreign,
    /// A format that is older or newer.
    Version { found: i32, read: i32 },
    /// The application's rows could not be written.
    Rows(RowsError),
    /// What wrote the application's rows ended the transaction.
    Ended(rusqlite::Error),
    /// The file cannot have a write-ahead log.
    NoWal(String),
}

impl Fault {
    /// The error, as it leaves the store.
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

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Utf8Error> for Fault {
    fn from(error: Utf8Error) -> Self {
        Self::Corrupt(format!("a text is not UTF-8: {error}"))
    }
}

const BACKUP: &str = "the file is damaged; take a copy back from a backup, or export what is sound";
const FOREIGN: &str =
    "the file is no store of sessions: name another file, or one that is not there";

/// Who is at fault when SQLite fails, and what helps.
fn reason(error: &rusqlite::Error) -> (StoreErrorKind, &'static str) {
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        // A column has another type than the table says.
        return (StoreErrorKind::Corrupt, BACKUP);
    };
    match failure.code {
        ErrorCode::DiskFull => (
            StoreErrorKind::Full,
            "nothing of it is kept; free space, then restore the session and go on",
        ),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => (
            StoreErrorKind::Busy,
            "another process writes to it; try again, or close the other one",
        ),
        // Constraints are looked at before they are met, so the indexes are at odds.
        ErrorCode::DatabaseCorrupt | ErrorCode::ConstraintViolation => {
            (StoreErrorKind::Corrupt, BACKUP)
        }
        ErrorCode::NotADatabase => (StoreErrorKind::Foreign, FOREIGN),
        ErrorCode::TooBig => (
            StoreErrorKind::Conflict,
            "a value may have 1,000,000,000 bytes; split it",
        ),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => (
            StoreErrorKind::Io,
            "see whether the folder is there and may be written, and whether the store was opened \
             to be read only",
        ),
        _ => (
            StoreErrorKind::Io,
            "look after the disk, then open the store anew",
        ),
    }
}
