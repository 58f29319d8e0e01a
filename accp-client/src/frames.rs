//! The log of a side, as it grows.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use accp_session::Entry;
use accp_store::{Committer, SideId};
use tokio::sync::watch;

use crate::error::Error;

/// Entries that are read at a time.
const PIECE: usize = 256;

/// Where the log of a side stands, and how far it has come.
#[derive(Clone)]
pub(crate) struct Log {
    pub(crate) committer: Committer,
    pub(crate) side: Arc<SideId>,
    pub(crate) last: watch::Receiver<u64>,
}

impl Log {
    pub(crate) fn from(&self, position: u64) -> Frames {
        Frames {
            log: self.clone(),
            next: position.max(1),
            read: VecDeque::new(),
        }
    }
}

/// The entries of a log from a position on, those that are there first and then those that come. The
/// store keeps what this has not taken yet, so a slow reader costs no memory and holds nobody up.
pub struct Frames {
    log: Log,
    next: u64,
    read: VecDeque<Entry>,
}

impl Frames {
    /// Waits for the next entry that members get: a frame, or what the session says of itself
    /// ([`EntryKind::is_relayed`](accp_session::EntryKind::is_relayed)). Entries whose text is no longer
    /// kept are left out. `None` when the side has ended.
    ///
    /// Nothing is lost if this future is dropped.
    ///
    /// # Errors
    /// [`Error::Ended`] when the store fails.
    pub async fn next(&mut self) -> Result<Option<Entry>, Error> {
        loop {
            if let Some(entry) = self.take() {
                return Ok(Some(entry));
            }
            if !self.read().await? && self.log.last.changed().await.is_err() {
                return Ok(None);
            }
        }
    }

    /// Returns the next entry that is there already, and waits for no other. `None` when this has
    /// caught up with the log, or the side has ended.
    ///
    /// # Errors
    /// [`Error::Ended`] when the store fails.
    pub async fn next_ready(&mut self) -> Result<Option<Entry>, Error> {
        loop {
            if let Some(entry) = self.take() {
                return Ok(Some(entry));
            }
            if !self.read().await? {
                return Ok(None);
            }
        }
    }

    /// Returns the position of the next entry.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// Takes the next entry that was read and that members get.
    fn take(&mut self) -> Option<Entry> {
        while let Some(entry) = self.read.pop_front() {
            self.next = entry.position + 1;
            if entry.kind.is_relayed() && !entry.text.is_empty() {
                return Some(entry);
            }
        }
        None
    }

    /// Reads what is there. Returns whether there is something.
    async fn read(&mut self) -> Result<bool, Error> {
        let last = *self.log.last.borrow_and_update();
        if self.next > last {
            return Ok(false);
        }
        let (side, from) = (Arc::clone(&self.log.side), self.next);
        let read = self
            .log
            .committer
            .ask(move |store| store.entries(&side, from, PIECE));
        let read = read
            .await
            .map_err(|error| Error::Ended(error.to_string()))?;
        if read.is_empty() {
            self.next = last + 1;
        }
        self.read.extend(read);
        Ok(true)
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
