//! Errors of the index.

use std::io;

use rusqlite::ErrorCode;

/// Why the index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// SQLite fails.
    #[error("{file}: {source}; {cure}")]
    Sqlite {
        /// The file of the index.
        file: String,
        /// What SQLite says.
        source: rusqlite::Error,
        /// What the user can do.
        cure: &'static str,
    },
    /// A file or a folder cannot be used.
    #[error("{file}: {source}; check that the folder exists, and who may read and write there")]
    Io {
        /// The file or the folder.
        file: String,
        /// What the system says.
        source: io::Error,
    },
}

/// An error that does not name the file of the index yet.
#[derive(Debug)]
pub(super) enum Fault {
    Sqlite(rusqlite::Error),
    Io {
        file: String,
        source: io::Error,
    },
    /// The file has another version, or is another program's.
    Other,
}

impl Fault {
    /// Returns whether the index has to be made anew.
    pub(super) fn is_torn(&self) -> bool {
        match self {
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(code) => {
                    matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                        // `Unknown`: a table or a column is missing. `ConstraintViolation`: a
                        // unique value occurs twice.
                        || matches!(code, ErrorCode::Unknown | ErrorCode::ConstraintViolation)
                }
                // An error without a code of SQLite says that a column has another type than its
                // table declares.
                None => true,
            },
            Self::Io { .. } => false,
            Self::Other => true,
        }
    }

    /// Returns the error for the caller of the index, with the name of the index's file.
    pub(super) fn in_file(self, file: String) -> IndexError {
        match self {
            Self::Sqlite(source) => IndexError::Sqlite {
                file,
                cure: cure(&source),
                source,
            },
            Self::Io { file, source } => IndexError::Io { file, source },
            Self::Other => IndexError::Io {
                file,
                source: io::Error::other("the file is not an index of this version"),
            },
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn cure(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process writes to the index: try again"
        }
        Some(ErrorCode::DiskFull) => "free space, then try again",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            "check that the folder exists, and who may write there"
        }
        _ => "remove the file: it is made again from the files beside it",
    }
}
