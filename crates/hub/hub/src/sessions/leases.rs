//! The leases of a hub that shares its store with others.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use accp_store::{Lease, SideId, StoreError};

use super::store::SharedStore;

/// How long a hub remembers that another hub runs a session, before it asks the store again.
const BELIEF: Duration = Duration::from_secs(1);
/// How many sessions of other hubs are remembered.
const REMEMBERED: usize = 10_000;

/// The leases of a hub. Other hubs reach this hub under `name`.
#[derive(Debug)]
pub(super) struct Leases {
    name: String,
    pub(super) time: Duration,
    /// The sessions of other hubs. Each has the name of its hub, and the time until which this hub remembers
    /// that.
    elsewhere: Mutex<HashMap<String, (String, Instant)>>,
}

impl Leases {
    pub(super) fn new(name: String, time: Duration) -> Self {
        Self {
            name,
            time,
            elsewhere: Mutex::default(),
        }
    }

    /// Takes or renews the lease of a session. If another hub has the lease, this returns the name of that hub.
    pub(super) async fn take(
        &self,
        store: &SharedStore,
        side: &SideId,
    ) -> Result<Option<String>, StoreError> {
        if let Some((holder, until)) = self.lock().get(side.session())
            && Instant::now() < *until
        {
            return Ok(Some(holder.clone()));
        }
        let (asked, name, time) = (side.clone(), self.name.clone(), self.time);
        let lease = store.ask(move |store| store.lease(&asked, &name, time));
        let Lease::Other { holder, left } = lease.await? else {
            self.forget(side.session());
            return Ok(None);
        };
        let mut elsewhere = self.lock();
        if elsewhere.len() >= REMEMBERED {
            elsewhere.clear();
        }
        let until = Instant::now() + left.min(BELIEF);
        elsewhere.insert(side.session().to_owned(), (holder.clone(), until));
        Ok(Some(holder))
    }

    /// Renews leases. Returns the sides whose lease another hub may have by now.
    pub(super) async fn renew(
        &self,
        store: &SharedStore,
        sides: Vec<SideId>,
    ) -> Result<Vec<SideId>, StoreError> {
        if sides.is_empty() {
            return Ok(sides);
        }
        let (name, time) = (self.name.clone(), self.time);
        let renew = store.ask(move |store| store.renew(&sides, &name, time));
        renew.await
    }

    /// Lets other hubs run these sides. The leases are given up before any later query of the store, and before
    /// the returned future is ready.
    pub(super) fn release(
        &self,
        store: &SharedStore,
        sides: Vec<SideId>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (name, none) = (self.name.clone(), sides.is_empty());
        let released = store.committer();
        let released = released.ask(move |store| {
            if none {
                return Ok(());
            }
            store.release(&sides, &name)
        });
        async move {
            if let Err(error) = released.await {
                // Leases that are not given up expire by themselves.
                tracing::debug!(%error, "leases were not given up");
            }
        }
    }

    /// Forgets which hub runs a session, so that the store is asked again.
    pub(super) fn forget(&self, session: &str) {
        self.lock().remove(session);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (String, Instant)>> {
        self.elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
