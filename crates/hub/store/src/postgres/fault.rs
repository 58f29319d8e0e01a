//! Faults of the database. They do not name the store and the side yet: `Fault::in_store` makes the error with these
//! names.

use tokio_postgres::error::SqlState;

use crate::changes::Conflict;
use crate::error::{StoreError, StoreErrorKind};
use crate::rows::RowsError;
use crate::table::Damage;

#[derive(Debug)]
pub(super) enum Fault {
    /// An error of the database or of the connection.
    Postgres(tokio_postgres::Error),
    /// The store cannot be used: the reason and what helps.
    Io(String),
    /// A row differs from what was written.
    Corrupt(String),
    /// A batch does not fit the data in the database.
    Conflict(String),
    /// The tables are another program's.
    Foreign(String),
    /// The tables are newer than this program.
    Version { found: i64, read: i64 },
    /// The application's rows could not be written.
    Rows(RowsError),
    /// The application ended the transaction while it wrote its rows.
    Ended(tokio_postgres::Error),
}

impl Fault {
    /// Makes the error that the store returns.
    pub(super) fn in_store(self, store: &str) -> StoreError {
        let error = |kind, text: &str| StoreError::new(kind, text).in_store(store);
        match self {
            Self::Postgres(source) => {
                let (kind, cure) = reason(&source);
                error(kind, &format!("{}: {cure}", words(&source))).caused_by(source)
            }
            Self::Io(text) => error(StoreErrorKind::Io, &text),
            Self::Corrupt(text) => error(StoreErrorKind::Corrupt, &format!("{text}: {BACKUP}")),
            Self::Conflict(text) => error(StoreErrorKind::Conflict, &text),
            Self::Foreign(text) => error(StoreErrorKind::Foreign, &text),
            Self::Version { found, read } => {
                let text = format!(
                    "the tables have version {found}, and this program reads version {read}: update \
                     the program, or name another database or schema"
                );
                error(StoreErrorKind::Version, &text)
            }
            Self::Rows(source) => {
                let text = format!("the rows of the application were not written: {source}");
                error(StoreErrorKind::Rows, &text).caused_by(source)
            }
            Self::Ended(source) => {
                let text = format!(
                    "the transaction ended while the application wrote its rows ({}): write them \
                     without COMMIT and ROLLBACK, and open the store anew",
                    words(&source)
                );
                error(StoreErrorKind::Io, &text).caused_by(source)
            }
        }
    }

    /// Returns whether the connection must not be used again.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Postgres(error) => reason(error).0 == StoreErrorKind::Io,
            Self::Io(_) | Self::Ended(_) => true,
            _ => false,
        }
    }

    /// Returns whether the database took back the transaction, and asks to try it again.
    pub(super) fn is_retried(&self) -> bool {
        let Self::Postgres(error) = self else {
            return false;
        };
        let code = error.code();
        code.is_some_and(|code| RETRY.contains(&code))
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
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

const BACKUP: &str = "the database is damaged, or another program has written to these tables; restore \
                      it from a backup";
const RETRY: [&SqlState; 2] = [
    &SqlState::T_R_SERIALIZATION_FAILURE,
    &SqlState::T_R_DEADLOCK_DETECTED,
];

/// Returns the message of an error. The display of the library says only where the error occurred.
pub(super) fn words(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(database), _) => database.message().to_owned(),
        (None, Some(source)) => format!("{error} ({source})"),
        (None, None) => error.to_string(),
    }
}

/// Returns the kind of error when the database fails, and what helps.
fn reason(error: &tokio_postgres::Error) -> (StoreErrorKind, &'static str) {
    let Some(code) = error.code() else {
        return (
            StoreErrorKind::Io,
            "check the database and the way to it, then open the store anew",
        );
    };
    match code.code().get(..2).unwrap_or_default() {
        _ if RETRY.contains(&code) => (
            StoreErrorKind::Busy,
            "other transactions are in the way; try again",
        ),
        _ if *code == SqlState::LOCK_NOT_AVAILABLE => (
            StoreErrorKind::Busy,
            "another process holds a lock on the side; try again, or close the other process",
        ),
        _ if *code == SqlState::QUERY_CANCELED => (
            StoreErrorKind::Busy,
            "the database took longer than `statement_timeout` says; try again, or give it more time",
        ),
        _ if *code == SqlState::DISK_FULL => (
            StoreErrorKind::Full,
            "nothing of the commit is kept; free space, then restore the session and go on",
        ),
        // Class 23: a row violates a constraint. The store checks rows before it writes them, so
        // another program has written this row.
        "23" => (StoreErrorKind::Corrupt, BACKUP),
        // Class 22 and the two codes below: a column has another type than declared, or a table or
        // column is gone.
        "22" => (StoreErrorKind::Corrupt, BACKUP),
        _ if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::UNDEFINED_COLUMN => {
            (StoreErrorKind::Corrupt, BACKUP)
        }
        "54" => (
            StoreErrorKind::Conflict,
            "a text or a value is larger than the database takes; split it",
        ),
        "28" => (
            StoreErrorKind::Io,
            "check the user, the password and the database's `pg_hba.conf`",
        ),
        _ if *code == SqlState::INSUFFICIENT_PRIVILEGE
            || *code == SqlState::READ_ONLY_SQL_TRANSACTION =>
        {
            (
                StoreErrorKind::Io,
                "the user needs the rights that docs/postgres.md lists, on a server that takes writes",
            )
        }
        _ => (
            StoreErrorKind::Io,
            "check the database, then open the store anew",
        ),
    }
}
