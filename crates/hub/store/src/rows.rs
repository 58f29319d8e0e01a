//! Rows that an application writes along with a batch.

use std::error::Error;
use std::fmt;

use accp_session::Batch;

use crate::error::StoreError;
use crate::side::SideId;
use crate::store::Store;

/// A store that lets an application write its own rows in a commit.
///
/// A handler needs this trait when it keeps its results in the same place as its session: the store
/// then keeps the mark of the frame, the replies and the handler's rows together, or none of them.
///
/// [`SqliteStore`](crate::SqliteStore) is such a store, and so is `PostgresStore`.
/// [`MemoryStore`](crate::MemoryStore) is not: it has no transaction through which an application could write. An
/// application that keeps its rows in memory loses them together with the session.
///
/// ```
/// # #[cfg(feature = "sqlite")] {
/// use accp_session::Batch;
/// use accp_store::{SideId, SqliteStore, StoreErrorKind, Transactional, Write};
///
/// let mut store = SqliteStore::open_in_memory()?;
/// let (side, batch) = (SideId::new("launch", "dev"), Batch::new(false).with(|batch| batch.epoch = Some(1)));
///
/// // Tables whose names begin with `app_` are the application's.
/// store.commit_with(&mut [Write::new(&side, &batch).with(&mut |rows| {
///     rows.execute("CREATE TABLE app_done (task TEXT)", ())?;
///     rows.execute("INSERT INTO app_done VALUES (?1)", ["impl_auth"])?;
///     Ok(())
/// })])?;
///
/// // When the rows cannot be written, the batch is refused with them.
/// let next = Batch::new(false).with(|batch| batch.epoch = Some(2));
/// let refused = store.commit_with(&mut [Write::new(&side, &next).with(&mut |rows| {
///     rows.execute("INSERT INTO app_missing VALUES (1)", ())?;
///     Ok(())
/// })]);
/// assert_eq!(refused.unwrap_err().kind(), StoreErrorKind::Rows);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Transactional: Store {
    /// The handle through which the application writes.
    type Transaction: ?Sized;

    /// Keeps the durable parts of these batches together with their rows, or nothing: see
    /// [`Store::commit`]. The rows of a batch are written right after the batch.
    ///
    /// The closures must leave the transaction alone: they must not end it or begin another.
    ///
    /// # Errors
    /// As [`Store::commit`]. [`Rows`](crate::StoreErrorKind::Rows) when a closure fails; the error
    /// names its side. [`Io`](crate::StoreErrorKind::Io) when a closure ended the transaction.
    fn commit_with(&mut self, group: &mut [Write<'_, Self::Transaction>])
    -> Result<(), StoreError>;
}

/// Writes the application's rows. The store may call this closure more than once for one batch: if another batch of
/// the group is refused, everything is rolled back, and the group is committed again without the refused batch.
pub type WriteRows<'a, T> = dyn FnMut(&T) -> Result<(), RowsError> + 'a;

/// The rows that a handler writes along with the mark of its frame; see
/// [`Driver::serve_with`](crate::Driver::serve_with).
pub struct Rows<'i, T: ?Sized> {
    writes: Vec<Box<WriteRows<'i, T>>>,
}

impl<'i, T: ?Sized> Rows<'i, T> {
    /// Adds rows. They are written after the handler, in the commit of the mark. The closure may be
    /// called more than once, as [`WriteRows`] says.
    pub fn write(&mut self, rows: impl FnMut(&T) -> Result<(), RowsError> + 'i) {
        self.writes.push(Box::new(rows));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    pub(crate) fn write_into(&mut self, tables: &T) -> Result<(), RowsError> {
        self.writes.iter_mut().try_for_each(|write| write(tables))
    }
}

impl<T: ?Sized> Default for Rows<'_, T> {
    fn default() -> Self {
        Self { writes: Vec::new() }
    }
}

impl<T: ?Sized> fmt::Debug for Rows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("writes", &self.writes.len())
            .finish()
    }
}

/// The reason why an application's rows could not be written.
pub type RowsError = Box<dyn Error + Send + Sync>;

/// A batch of a side, and the rows that the application writes along with it.
pub struct Write<'a, T: ?Sized> {
    /// The side of the batch.
    pub side: &'a SideId,
    /// The batch.
    pub batch: &'a Batch,
    /// Writes the application's rows.
    pub rows: Option<&'a mut WriteRows<'a, T>>,
}

impl<'a, T: ?Sized> Write<'a, T> {
    /// Makes a write of a batch without rows.
    pub fn new(side: &'a SideId, batch: &'a Batch) -> Self {
        Self {
            side,
            batch,
            rows: None,
        }
    }

    /// Adds rows to the write.
    pub fn with(self, rows: &'a mut WriteRows<'a, T>) -> Self {
        Self {
            rows: Some(rows),
            ..self
        }
    }
}

impl<T: ?Sized> fmt::Debug for Write<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write")
            .field("side", &self.side)
            .field("batch", &self.batch)
            .field("rows", &self.rows.is_some())
            .finish()
    }
}
