//! A committer: one store for many sides, whose batches are committed together.

mod engine;
mod inline;
mod pending;
mod worker;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use accp_session::{Batch, Entry, Stored};

use crate::error::{StoreError, StoreErrorKind};
use crate::rows::{RowsError, Transactional};
use crate::side::SideId;
use crate::store::{Kept, Store};
use engine::{Engine, Plain, Rows, Submitted, WithRows};
use inline::Inline;
use worker::{Ask, Job, Opened, Worker};

pub use engine::NoRows;
pub use pending::Pending;

/// Runs a store on a thread of its own, and commits batches of many sides together, so that they
/// share the cost of a sync.
///
/// Submitting never blocks: it returns a [`Pending`]. Asynchronous code awaits the `Pending` on any
/// executor, and other code [`wait`](Pending::wait)s for it. All sessions of a process share one
/// committer, and so one thread.
///
/// # Contract
///
/// - **Groups.** While one commit is under way, the batches that arrive make up the next group, of
///   at most 256 batches and 4 MiB of texts and values. A larger batch is committed alone.
/// - **Order.** The batches of a side are committed in the order in which they were submitted. A
///   read sees everything that was submitted before it; it may see more.
/// - **Only the side at fault fails.** When a batch is refused, the rest of its group is committed
///   without that side.
/// - **No holes.** After a batch of a side has failed, the later batches of the side are refused until the side is
///   [opened](Self::open) again. Once the side is opened again, batches of its earlier openings are refused.
/// - **A disk that fails.** When the store fails with [`Io`](crate::StoreErrorKind::Io), all submitted work fails, and
///   so does all later work: open the store anew, with a new committer.
/// - **The end.** Dropping the last handle ([`Committer`] or [`OpenSide`]) finishes the submitted
///   work and closes the store. The drop waits until both are done.
///
/// ```
/// use accp_session::Batch;
/// use accp_store::{Committer, MemoryStore, SideId};
///
/// let committer = Committer::new(MemoryStore::new())?;
/// let (side, stored) = committer.open(&SideId::new("launch", "dev")).wait()?;
/// assert!(stored.is_none());
///
/// // In asynchronous code: `side.commit(batch).await?`.
/// let batch = Batch::new(false).with(|batch| batch.epoch = Some(1));
/// let kept = side.commit(Box::new(batch)).wait()?;
/// // The batch is durable: its frames may leave.
/// assert!(kept.sends.is_empty());
/// # Ok::<(), accp_store::StoreError>(())
/// ```
pub struct Committer<T: ?Sized + 'static = NoRows> {
    shared: Arc<Shared<T>>,
}

enum Shared<T: ?Sized + 'static> {
    Thread {
        /// `None` once the committer ends.
        jobs: Option<Sender<Job<T>>>,
        thread: Option<JoinHandle<()>>,
    },
    Inline(Inline<T>),
}

impl Committer {
    /// Starts a thread that owns the store.
    ///
    /// # Errors
    /// [`Io`](crate::StoreErrorKind::Io) when the system cannot start a thread.
    pub fn new(store: impl Store + Send + 'static) -> Result<Self, StoreError> {
        Self::start(Box::new(Plain(store)))
    }

    /// Makes a committer that has no thread of its own. The thread that submits a job does the job. If another thread
    /// is doing jobs at that moment, the other thread does this job, too. This is for a store that never waits for a
    /// disk, such as [`MemoryStore`](crate::MemoryStore): it saves the way to another thread and back. Calls by
    /// [`ask`](Committer::ask) must not wait either.
    ///
    /// ```
    /// use accp_session::Batch;
    /// use accp_store::{Committer, MemoryStore, SideId};
    ///
    /// let committer = Committer::inline(MemoryStore::new());
    /// let (side, _) = committer.open(&SideId::new("launch", "dev")).wait()?;
    /// let kept = side.commit(Box::new(Batch::new(false).with(|batch| batch.epoch = Some(1)))).wait()?;
    /// assert_eq!(kept.epoch, Some(1));
    /// # Ok::<(), accp_store::StoreError>(())
    /// ```
    pub fn inline(store: impl Store + Send + 'static) -> Self {
        let worker = Worker::new(Box::new(Plain(store)));
        let shared = Arc::new(Shared::Inline(Inline::new(worker)));
        Self { shared }
    }
}

impl<T: ?Sized + 'static> Committer<T> {
    /// Starts a thread that owns the store, for an application that writes rows along with batches
    /// ([`OpenSide::commit_with`]).
    ///
    /// # Errors
    /// As [`Committer::new`].
    pub fn with_rows(
        store: impl Transactional<Transaction = T> + Send + 'static,
    ) -> Result<Self, StoreError> {
        Self::start(Box::new(WithRows(store)))
    }

    fn start(engine: Box<dyn Engine<T>>) -> Result<Self, StoreError> {
        let (jobs, received) = mpsc::channel();
        let worker = Worker::new(engine);
        let thread = thread::Builder::new().name("accp-committer".into());
        let thread = thread.spawn(move || worker.run(&received));
        let thread = thread.map_err(|error| {
            let text = format!("the system cannot start a thread for the store: {error}");
            StoreError::new(StoreErrorKind::Io, text).caused_by(error)
        })?;
        let shared = Arc::new(Shared::Thread {
            jobs: Some(jobs),
            thread: Some(thread),
        });
        Ok(Self { shared })
    }

    /// Returns whether both are handles of one committer.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Opens a side. Returns the handle that commits for the side, and the stored state of the
    /// side. Earlier handles of the side can no longer commit.
    pub fn open(&self, side: &SideId) -> Pending<(OpenSide<T>, Option<Stored>)> {
        let (promise, pending) = pending::pending();
        let (shared, id) = (Arc::clone(&self.shared), side.clone());
        let opened: Opened = Box::new(move |opened| {
            promise.answer(opened.map(|(opening, stored)| {
                let open = OpenSide {
                    shared,
                    id,
                    opening,
                };
                (open, stored)
            }));
        });
        self.shared.submit(Job::Open(side.clone(), opened));
        pending
    }

    /// Closes every side of a session, and then calls `ask` with the store as [`ask`](Self::ask) does. Use this for a
    /// change of the store that open sessions cannot know about. The owners of the sides have to open the sides again,
    /// as after a failed batch.
    ///
    /// ```
    /// use accp_session::Batch;
    /// use accp_store::{Committer, MemoryStore, SideId, StoreErrorKind};
    ///
    /// let committer = Committer::new(MemoryStore::new())?;
    /// let (side, _) = committer.open(&SideId::new("launch", "dev")).wait()?;
    /// committer.interrupt("launch", |_| Ok(())).wait()?;
    /// let batch = Batch::new(false).with(|batch| batch.epoch = Some(1));
    /// let refused = side.commit(Box::new(batch)).wait().unwrap_err();
    /// assert_eq!(refused.kind(), StoreErrorKind::Conflict);
    /// # Ok::<(), accp_store::StoreError>(())
    /// ```
    pub fn interrupt<A: Send + 'static>(
        &self,
        session: &str,
        ask: impl FnOnce(&mut dyn Store) -> Result<A, StoreError> + Send + 'static,
    ) -> Pending<A> {
        let (ask, pending) = asking(ask);
        self.shared.submit(Job::Interrupt(session.to_owned(), ask));
        pending
    }

    /// Calls `ask` with the store, after everything that was submitted before.
    ///
    /// ```
    /// # use accp_store::{Committer, MemoryStore, Store as _};
    /// # let committer = Committer::new(MemoryStore::new())?;
    /// assert_eq!(committer.ask(|store| store.list()).wait()?, []);
    /// # Ok::<(), accp_store::StoreError>(())
    /// ```
    pub fn ask<A: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut dyn Store) -> Result<A, StoreError> + Send + 'static,
    ) -> Pending<A> {
        self.shared.ask(ask)
    }
}

impl<T: ?Sized + 'static> Shared<T> {
    /// Hands a job to the thread, or does it here if the committer has no thread. If the thread has ended, the job is
    /// dropped, and its promise answers with an error.
    fn submit(&self, job: Job<T>) {
        match self {
            Self::Thread { jobs, .. } => drop(jobs.as_ref().map(|jobs| jobs.send(job))),
            Self::Inline(here) => here.submit(job),
        }
    }

    fn ask<A: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut dyn Store) -> Result<A, StoreError> + Send + 'static,
    ) -> Pending<A> {
        let (ask, pending) = asking(ask);
        self.submit(Job::Ask(ask));
        pending
    }
}

/// Wraps a call on the store as a job. Returns the job, and the [`Pending`] for the answer to the call.
fn asking<A: Send + 'static>(
    ask: impl FnOnce(&mut dyn Store) -> Result<A, StoreError> + Send + 'static,
) -> (Ask, Pending<A>) {
    let (promise, pending) = pending::pending();
    let ask: Ask = Box::new(move |store| {
        let answer = store.and_then(ask);
        let failed = answer.as_ref().err().cloned();
        promise.answer(answer);
        failed
    });
    (ask, pending)
}

impl<T: ?Sized + 'static> Drop for Shared<T> {
    fn drop(&mut self) {
        let Self::Thread { jobs, thread } = self else {
            return;
        };
        *jobs = None;
        if let Some(thread) = thread.take()
            // The thread itself may drop the last handle, in a waker that it calls. It cannot wait
            // for its own end.
            && thread.thread().id() != thread::current().id()
        {
            // If the thread panicked, its promises have already answered with an error.
            drop(thread.join());
        }
    }
}

impl<T: ?Sized + 'static> Clone for Committer<T> {
    fn clone(&self) -> Self {
        let shared = Arc::clone(&self.shared);
        Self { shared }
    }
}

impl<T: ?Sized + 'static> fmt::Debug for Committer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer").finish_non_exhaustive()
    }
}

/// A handle to commit for a side that a [`Committer`] has opened.
pub struct OpenSide<T: ?Sized + 'static = NoRows> {
    shared: Arc<Shared<T>>,
    id: SideId,
    opening: u64,
}

impl<T: ?Sized + 'static> OpenSide<T> {
    /// Returns the name of the side.
    pub fn id(&self) -> &SideId {
        &self.id
    }

    /// Commits a batch, and gives the batch back once it is durable. Its frames may then leave.
    pub fn commit(&self, batch: Box<Batch>) -> Pending<Box<Batch>> {
        self.submit(batch, None)
    }

    /// Commits a batch together with rows of the application, or neither: see [`Transactional`].
    ///
    /// The closure may be called more than once. When it fails or panics, the batch is refused.
    pub fn commit_with(
        &self,
        batch: Box<Batch>,
        mut rows: impl FnMut(&T) -> Result<(), RowsError> + Send + 'static,
    ) -> Pending<Box<Batch>> {
        let rows = move |transaction: &T| {
            let written = catch_unwind(AssertUnwindSafe(|| rows(transaction)));
            written.unwrap_or_else(|_| Err("the closure that writes them panicked".into()))
        };
        self.submit(batch, Some(Box::new(rows)))
    }

    /// Returns at most `limit` entries of the log from a position on: see [`Store::entries`].
    pub fn entries(&self, from: u64, limit: usize) -> Pending<Vec<Entry>> {
        let id = self.id.clone();
        self.shared
            .ask(move |store| store.entries(&id, from, limit))
    }

    /// Returns the entry at a position, perhaps without its text: see [`Store::entry`].
    pub fn entry(&self, position: u64) -> Pending<Option<Entry>> {
        let id = self.id.clone();
        self.shared.ask(move |store| store.entry(&id, position))
    }

    /// Returns the value under a key: see [`Store::cold`].
    pub fn cold(&self, key: &str) -> Pending<Option<Kept>> {
        let (id, key) = (self.id.clone(), key.to_owned());
        self.shared.ask(move |store| store.cold(&id, &key))
    }

    /// Calls `ask` with the store, as [`Committer::ask`] does.
    pub(crate) fn ask<A: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut dyn Store) -> Result<A, StoreError> + Send + 'static,
    ) -> Pending<A> {
        self.shared.ask(ask)
    }

    fn submit(&self, batch: Box<Batch>, rows: Option<Rows<T>>) -> Pending<Box<Batch>> {
        let (promise, pending) = pending::pending();
        self.shared.submit(Job::Commit(Submitted {
            side: self.id.clone(),
            opening: self.opening,
            batch,
            rows,
            promise,
        }));
        pending
    }
}

impl<T: ?Sized + 'static> Drop for OpenSide<T> {
    fn drop(&mut self) {
        let id = self.id.clone();
        self.shared.submit(Job::Close(id, self.opening));
    }
}

impl<T: ?Sized + 'static> fmt::Debug for OpenSide<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSide")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
