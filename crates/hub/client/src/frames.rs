//! The log of a side, as it grows.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use accp_session::Entry;
use accp_store::{Committer, SideId};
use futures_util::{Stream, stream};
use tokio::sync::watch;

use crate::error::Error;

/// How many entries are read at a time.
const PIECE: usize = 256;

/// The log of a side in its store, and the last position that is durable.
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

/// The entries of a log from a position on: first the entries that are there already, and then each new entry.
/// Entries that were not read yet stay in the store, so a slow reader costs no memory and holds nobody up.
pub struct Frames {
    log: Log,
    next: u64,
    read: VecDeque<Entry>,
}

impl Frames {
    /// Waits for the next entry that members get: a frame of an agent or of the session itself
    /// ([`EntryKind::is_relayed`](accp_session::EntryKind::is_relayed)). Entries whose text is no longer kept are
    /// left out. `None` when the side has ended.
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

    /// Returns the next entry if it is there already, without waiting. `None` when the reader has caught up with
    /// the log, or the side has ended.
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

    /// Returns the entries as a [`Stream`]. It ends when the side has ended, or after an error of the store.
    ///
    /// ```
    /// use accp_client::Hub;
    /// use accp_runtime::profiles::ChatReq;
    /// use accp_store::MemoryStore;
    /// use futures_util::StreamExt as _;
    ///
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let guest = hub.agent("guest")?;
    /// guest.send(ChatReq::new("soup, please")).await?;
    /// let mut asked = Box::pin(guest.frames(1).into_stream().filter_map(async |entry| {
    ///     entry.ok().filter(|entry| entry.text.contains(">req:chat{"))
    /// }));
    /// assert!(asked.next().await.is_some_and(|entry| entry.text.starts_with("@guest")));
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_stream(self) -> impl Stream<Item = Result<Entry, Error>> + Send {
        stream::unfold(Some(self), |frames| async {
            let mut frames = frames?;
            match frames.next().await {
                Ok(Some(entry)) => Some((Ok(entry), Some(frames))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })
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

    /// Reads the entries that are durable now. Returns whether there were any.
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
        let read = read.await?;
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
