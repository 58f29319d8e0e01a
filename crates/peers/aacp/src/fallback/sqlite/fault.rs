//! Faults of the file. They do not name the file yet: `Fault::in_file` makes the error with this name.

use std::io;

use rusqlite::ErrorCode;

use crate::fallback::registry::{RegistryError, RegistryErrorKind};

#[derive(Debug)]
pub(super) enum Fault {
    /// An error of SQLite.
    Sqlite(rusqlite::Error),
    /// The file cannot be created or read.
    Io(io::Error),
    /// A row or the schema is not what was written.
    Corrupt(String),
    /// The file belongs to another program.
    Foreign,
    /// The file has no bytes.
    Empty,
    /// Another version wrote the file.
    Version { found: i32, read: i32 },
    /// The file cannot have a write-ahead log.
    NoWal(String),
    /// Others can read this file, which has this mode.
    #[cfg(unix)]
    Open { file: String, mode: u32 },
    /// There is another entry of this key.
    Conflict(String),
}

const DAMAGED: &str = "take a copy back from a backup, or export what is sound into a new file";
const FOREIGN: &str = "the file is not a registry of instructions: name another file, or a new one";
const EMPTY: &str = "the file is empty: add an entry first, or name the file of a registry";

impl Fault {
    /// Returns the error of the registry, with the name of the file.
    pub(super) fn in_file(self, file: &str) -> RegistryError {
        use RegistryErrorKind as Kind;
        let (kind, text) = match self {
            Self::Sqlite(error) => {
                let (kind, cure) = reason(&error);
                (kind, format!("{error}: {cure}"))
            }
            Self::Io(error) => {
                let cure = match error.kind() {
                    io::ErrorKind::IsADirectory => "name a file",
                    _ => "check that the folder exists and can be written to",
                };
                (Kind::Io, format!("{error}: {cure}"))
            }
            Self::Corrupt(text) => (
                Kind::Corrupt,
                format!("{text}: the file is damaged; {DAMAGED}"),
            ),
            Self::Foreign => (Kind::Foreign, FOREIGN.to_owned()),
            Self::Empty => (Kind::Foreign, EMPTY.to_owned()),
            Self::Version { found, read } => {
                let text = format!(
                    "the file has format {found}, and this version reads format {read}: update, or \
                     export the registry with the version that wrote it"
                );
                (Kind::Version, text)
            }
            Self::NoWal(mode) => {
                let text = format!(
                    "the journal stays in mode `{mode}`, and a registry needs `wal`: put the file on a \
                     local disk"
                );
                (Kind::Io, text)
            }
            #[cfg(unix)]
            Self::Open { file, mode } => {
                let text = format!(
                    "others can read {file} (mode {mode:04o}), and instructions are private: look at \
                     what they have read, then run `chmod 600 {file}`"
                );
                return RegistryError::new(Kind::Open, text);
            }
            Self::Conflict(text) => (Kind::Conflict, text),
        };
        RegistryError::new(kind, format!("{file}: {text}"))
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Returns the kind of error when SQLite fails, and what helps.
fn reason(error: &rusqlite::Error) -> (RegistryErrorKind, &'static str) {
    use RegistryErrorKind as Kind;
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        // Any other error means that a column has another type than its table declares.
        return (Kind::Corrupt, DAMAGED);
    };
    match failure.code {
        ErrorCode::DiskFull => (
            Kind::Full,
            "nothing was written; free space, then try again",
        ),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => (
            Kind::Busy,
            "another process holds the file; try again, or end that process",
        ),
        ErrorCode::DatabaseCorrupt | ErrorCode::ConstraintViolation => (Kind::Corrupt, DAMAGED),
        ErrorCode::NotADatabase => (Kind::Foreign, FOREIGN),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => (
            Kind::Io,
            "check that the folder exists and can be written to",
        ),
        _ => (Kind::Io, "check the disk, then try again"),
    }
}
