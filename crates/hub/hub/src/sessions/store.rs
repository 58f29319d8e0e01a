//! The store that all sessions share.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use accp_store::{Committer, Store, StoreError, StoreErrorKind};
use tokio::sync::oneshot;

/// How long to wait after a failure before the store is opened again.
const PAUSE: Duration = Duration::from_secs(1);

type Open = dyn Fn() -> Result<Committer, StoreError> + Send + Sync;

/// The store that all sessions share. It is opened again when it has failed.
pub(super) struct SharedStore {
    open: Arc<Open>,
    committer: Mutex<Committer>,
    /// Locked while the store is opened again. Holds when and why the last attempt failed.
    opening: tokio::sync::Mutex<Option<(Instant, StoreError)>>,
}

impl SharedStore {
    pub(super) fn new(
        open: impl Fn() -> Result<Committer, StoreError> + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            committer: Mutex::new(open()?),
            open: Arc::new(open),
            opening: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn committer(&self) -> Committer {
        self.lock().clone()
    }

    /// Runs a query on the store, and once more if the store had to be opened again.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + Clone + 'static,
    ) -> Result<T, StoreError> {
        let committer = self.committer();
        match committer.ask(ask.clone()).await {
            Err(error) if error.kind() == StoreErrorKind::Io => {}
            answer => return answer,
        }
        self.reopen(&committer).await?.ask(ask).await
    }

    /// Returns the committer to use after a failure of `failed`: `failed` itself if its store still answers, and
    /// otherwise the committer of a store that is opened again.
    pub(super) async fn after(&self, failed: &Committer) -> Result<Committer, StoreError> {
        match failed.ask(|store| store.sides("")).await {
            Ok(_) => Ok(failed.clone()),
            Err(_) => self.reopen(failed).await,
        }
    }

    /// Opens the store again, unless another request has done so since `failed` was in use.
    async fn reopen(&self, failed: &Committer) -> Result<Committer, StoreError> {
        let mut last = self.opening.lock().await;
        let now = self.committer();
        if !now.is(failed) {
            return Ok(now);
        }
        if let Some((at, error)) = &*last
            && at.elapsed() < PAUSE
        {
            return Err(error.clone());
        }
        tracing::warn!("the store is opened again");
        let opened = open_apart(Arc::clone(&self.open)).await;
        *last = opened
            .as_ref()
            .err()
            .map(|error| (Instant::now(), error.clone()));
        let opened = opened?;
        *self.lock() = opened.clone();
        Ok(opened)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Committer> {
        self.committer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a store on a thread of its own, where it may wait for a server.
async fn open_apart(open: Arc<Open>) -> Result<Committer, StoreError> {
    let failed = |why: &dyn std::fmt::Display| {
        let text = format!("the store cannot be opened: {why}");
        StoreError::new(StoreErrorKind::Io, text)
    };
    let (done, opened) = oneshot::channel();
    let thread = thread::Builder::new().name("accp-open".to_owned());
    let thread = thread.spawn(move || drop(done.send(open())));
    thread.map_err(|error| failed(&error))?;
    let opened = opened.await;
    opened.unwrap_or_else(|_| Err(failed(&"the program panicked")))
}
