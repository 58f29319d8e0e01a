//! What an application writes along with a batch.

use std::error::Error;
use std::fmt;

use accp_session::Batch;

use crate::{SideId, Store, StoreError};

/// A store in whose commits an application can write rows of its own.
///
/// A handler that keeps what it did in the same place as its session needs this: the mark of the
/// frame, the replies and the handler's rows are there together, or none of them is.
///
/// [`SqliteStore`](crate::SqliteStore) is such a store. [`MemoryStore`](crate::MemoryStore) is not:
/// it has no transaction that an application could write through, and an application that keeps its
/// rows in memory loses them together with the session.
///
/// ```
/// # #[cfg(feature = "sqlite")] {
/// use accp_session::Batch;
/// use accp_store::{SideId, SqliteStore, StoreErrorKind, Transactional, Write};
///
/// let mut store = SqliteStore::open_in_memory()?;
/// let (side, batch) = (SideId::new("launch", "dev"), Batch { epoch: Some(1), ..Batch::default() });
///
/// // Tables whose names begin with `app_` are the application's.
/// store.commit_with(&mut [Write::new(&side, &batch).with(&mut |rows| {
///     rows.execute("CREATE TABLE app_done (task TEXT)", ())?;
///     rows.execute("INSERT INTO app_done VALUES (?1)", ["impl_auth"])?;
///     Ok(())
/// })])?;
///
/// // When the rows cannot be written, the batch is refused with them.
/// let next = Batch { epoch: Some(2), ..Batch::default() };
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
    /// What the application writes through.
    type Transaction: ?Sized;

    /// Keeps the durable parts of these batches and the rows that go with them, or nothing: see
    /// [`Store::commit`]. The rows of a batch are written right after it.
    ///
    /// The closures must leave the transaction alone: they neither end it nor begin another.
    ///
    /// # Errors
    /// As [`Store::commit`]. [`Rows`](crate::StoreErrorKind::Rows) when a closure fails; the error
    /// names its side. [`Io`](crate::StoreErrorKind::Io) when a closure ended the transaction.
    fn commit_with(&mut self, group: &mut [Write<'_, Self::Transaction>])
    -> Result<(), StoreError>;
}

/// Writes the application's rows. It may be called more than once: when the rest of its group is
/// refused, all is taken back and the batch is tried again without the batch at fault.
pub type WriteRows<'a, T> = dyn FnMut(&T) -> Result<(), RowsError> + 'a;

/// Why an application's rows could not be written.
pub type RowsError = Box<dyn Error + Send + Sync>;

/// A batch of a side, and what the application writes along with it.
pub struct Write<'a, T: ?Sized> {
    /// Whose batch it is.
    pub side: &'a SideId,
    /// The batch.
    pub batch: &'a Batch,
    /// Writes the application's rows.
    pub rows: Option<&'a mut WriteRows<'a, T>>,
}

impl<'a, T: ?Sized> Write<'a, T> {
    /// A batch alone.
    pub fn new(side: &'a SideId, batch: &'a Batch) -> Self {
        Self {
            side,
            batch,
            rows: None,
        }
    }

    /// The same with rows.
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
