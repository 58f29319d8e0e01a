//! Rows of an application in the transaction of a commit.

use std::fmt;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, ToStatement};

use super::fault::Fault;
use super::link::Link;
use crate::rows::{RowsError, WriteRows};

/// The transaction of a commit, through which an application writes its own rows: see
/// [`Transactional`](crate::Transactional).
///
/// Tables whose names begin with `app_` are the application's. After a statement has failed, all
/// statements of the transaction fail, so the closure has to return its error.
pub struct PostgresRows(Link);

impl PostgresRows {
    pub(super) fn new(link: Link) -> Self {
        Self(link)
    }

    pub(super) fn link(&mut self) -> &mut Link {
        &mut self.0
    }

    /// Runs a statement, and returns how many rows it has changed.
    pub fn execute<T: ?Sized + ToStatement>(
        &self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, RowsError> {
        self.run(self.0.client().execute(statement, params))
    }

    /// Runs a statement, and returns its rows.
    pub fn query<T: ?Sized + ToStatement>(
        &self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, RowsError> {
        self.run(self.0.client().query(statement, params))
    }

    /// Runs statements without parameters, with a `;` between them.
    pub fn execute_batch(&self, statements: &str) -> Result<(), RowsError> {
        self.run(self.0.client().batch_execute(statements))
    }

    /// Runs the closure of an application in a savepoint. If the savepoint is gone afterwards, the
    /// application has ended the transaction.
    pub(super) fn write(&self, rows: &mut WriteRows<'_, Self>) -> Result<(), Fault> {
        let plain = |sql| self.0.wait(self.0.client().batch_execute(sql));
        plain("SAVEPOINT accp_rows")??;
        let written = rows(self);
        let released = plain("RELEASE accp_rows")?;
        match (written, released) {
            (Ok(()), Ok(())) => Ok(()),
            // A statement of the closure has failed, so Postgres refuses to release the savepoint.
            (written, Err(error)) if error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION) => {
                let unsaid = "a statement failed, and the closure did not return its error";
                Err(Fault::Rows(written.err().unwrap_or_else(|| unsaid.into())))
            }
            (_, Err(error)) if error.code().is_none() => Err(Fault::Postgres(error)),
            (_, Err(error)) => Err(Fault::Ended(error)),
            (Err(error), Ok(())) => Err(Fault::Rows(error)),
        }
    }

    fn run<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, RowsError> {
        match self.0.wait(work) {
            Ok(result) => Ok(result?),
            Err(Fault::Io(text)) => Err(text.into()),
            Err(_) => Err("the database has not answered".into()),
        }
    }
}

impl fmt::Debug for PostgresRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresRows").finish_non_exhaustive()
    }
}
