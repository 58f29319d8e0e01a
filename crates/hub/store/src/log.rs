//! The log of a side, read piece by piece.

use accp_session::Entry;

use crate::error::StoreError;
use crate::side::SideId;
use crate::store::Store;

/// The number of entries that are read at once.
const PIECE: usize = 1_000;

/// Iterates over the entries of a log that have their texts, from a position to the end.
///
/// ```
/// use accp_store::{Log, MemoryStore, SideId};
///
/// let side = SideId::new("launch", "hub");
/// assert_eq!(Log::new(MemoryStore::new(), &side, 1).count(), 0);
/// ```
#[derive(Debug)]
pub struct Log<'l, S> {
    store: S,
    side: &'l SideId,
    next: u64,
    piece: std::vec::IntoIter<Entry>,
}

impl<'l, S: Store> Log<'l, S> {
    /// Reads from a position on.
    pub fn new(store: S, side: &'l SideId, from: u64) -> Self {
        Self {
            store,
            side,
            next: from,
            piece: Vec::new().into_iter(),
        }
    }
}

impl<S: Store> Iterator for Log<'_, S> {
    type Item = Result<Entry, StoreError>;

    /// After an error there are no more entries.
    fn next(&mut self) -> Option<Self::Item> {
        if self.piece.as_slice().is_empty() {
            match self.store.entries(self.side, self.next, PIECE) {
                Ok(piece) => self.piece = piece.into_iter(),
                Err(error) => {
                    self.next = u64::MAX;
                    return Some(Err(error));
                }
            }
        }
        let entry = self.piece.next()?;
        self.next = entry.position.saturating_add(1);
        Some(Ok(entry))
    }
}
