//! The store of a committer, with or without rows of an application.

use accp_session::Batch;

use super::pending::Promise;
use crate::error::{StoreError, StoreErrorKind};
use crate::rows::{RowsError, Transactional, Write, WriteRows};
use crate::side::SideId;
use crate::store::Store;

/// The type of the transaction for a store that offers no transactions to an application. No value of this type
/// exists.
#[derive(Debug, Clone, Copy)]
pub enum NoRows {}

/// A batch that was submitted.
pub(super) struct Submitted<T: ?Sized> {
    pub side: SideId,
    /// The number of the opening that submitted the batch.
    pub opening: u64,
    pub batch: Box<Batch>,
    pub rows: Option<Rows<T>>,
    pub promise: Promise<Box<Batch>>,
}

pub(super) type Rows<T> = Box<dyn FnMut(&T) -> Result<(), RowsError> + Send>;

/// A store behind a committer, with its type erased.
pub(super) trait Engine<T: ?Sized>: Send {
    fn store(&mut self) -> &mut dyn Store;

    fn commit(&mut self, group: &mut [Submitted<T>]) -> Result<(), StoreError>;
}

pub(super) struct Plain<S>(pub S);

impl<S: Store + Send> Engine<NoRows> for Plain<S> {
    fn store(&mut self) -> &mut dyn Store {
        &mut self.0
    }

    fn commit(&mut self, group: &mut [Submitted<NoRows>]) -> Result<(), StoreError> {
        if let Some(one) = group.iter().find(|one| one.rows.is_some()) {
            let text =
                "only a committer made by `Committer::with_rows` writes rows of the application";
            return Err(StoreError::new(StoreErrorKind::Rows, text).in_side(&one.side));
        }
        let group = group.iter().map(|one| (&one.side, &*one.batch));
        self.0.commit(&group.collect::<Vec<_>>())
    }
}

pub(super) struct WithRows<S>(pub S);

impl<S: Transactional + Send> Engine<S::Transaction> for WithRows<S> {
    fn store(&mut self) -> &mut dyn Store {
        &mut self.0
    }

    fn commit(&mut self, group: &mut [Submitted<S::Transaction>]) -> Result<(), StoreError> {
        let writes = group.iter_mut().map(|one| Write {
            side: &one.side,
            batch: &one.batch,
            rows: one
                .rows
                .as_mut()
                .map(|rows| &mut **rows as &mut WriteRows<'_, _>),
        });
        let mut writes: Vec<_> = writes.collect();
        self.0.commit_with(&mut writes)
    }
}
