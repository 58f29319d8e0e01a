//! Tells a client of MCP that the context has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use accp_client::{Error, Frames, Principal};
use accp_session::Session;
use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotification, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::desk::Desk;
use crate::request::over;
use crate::seat::Seat;

/// The changes of a session, across the desks that its agent gets one after the other.
struct Changes {
    desks: watch::Receiver<Option<Arc<Desk>>>,
    /// The log from the next change on, while the agent is open.
    frames: Option<Frames>,
    /// The position of the next change.
    next: u64,
}

impl Changes {
    /// Returns the changes from now on.
    async fn of(seat: &Seat) -> Result<Self, Error> {
        let mut changes = Self {
            desks: seat.desks(),
            frames: None,
            next: u64::MAX,
        };
        seat.desk().await?;
        changes.follow().await?;
        Ok(changes)
    }

    /// Follows the log of the agent that was opened last.
    async fn follow(&mut self) -> Result<(), Error> {
        let desk = self.desks.borrow_and_update().clone();
        let agent = desk.as_ref().map(|desk| &desk.agent);
        if let Some(agent) = agent {
            // A session that has begun anew begins its log anew, too.
            let end = agent.look(Session::position).await? + 1;
            self.next = self.next.min(end);
            self.frames = Some(agent.frames(self.next));
        }
        Ok(())
    }

    /// Waits for the next change. Returns false when there will be none.
    ///
    /// That the agent has ended is a change: the session was opened anew, or somebody else has opened the
    /// agent. A client that then reads what it watches opens the agent again, and hears the changes since.
    /// Nothing opens it by itself, because two who do that would end each other for ever.
    async fn next(&mut self) -> bool {
        loop {
            if let Some(frames) = &mut self.frames {
                let has_more = matches!(frames.next().await, Ok(Some(_)));
                self.next = frames.position();
                if !has_more {
                    self.frames = None;
                }
                return true;
            }
            if self.desks.changed().await.is_err() {
                return false;
            }
            if let Err(error) = self.follow().await {
                tracing::debug!(%error, "an agent has ended as soon as it was open");
            }
        }
    }
}

/// The resources that a client watches. They end with the client.
#[derive(Default)]
pub(crate) struct Watches {
    tasks: Mutex<BTreeMap<String, AbortHandle>>,
}

impl Watches {
    /// Tells the peer of each change of the session, from now on and as long as `who` has the right. One
    /// notice may stand for many changes.
    pub(crate) async fn add(
        &self,
        seat: &Seat,
        uri: String,
        peer: Peer<RoleServer>,
        who: Option<Principal>,
    ) -> Result<(), Error> {
        let mut changes = Changes::of(seat).await?;
        let told = uri.clone();
        let tell = async move {
            while changes.next().await {
                let notice = ResourceUpdatedNotificationParam::new(told.clone());
                if peer.notify_resource_updated(notice).await.is_err() {
                    return;
                }
            }
        };
        let task = tokio::spawn(async move {
            tokio::select! {
                biased;
                _ = over(who.as_ref()) => {}
                () = tell => {}
            }
        });
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = tasks.insert(uri, task.abort_handle()) {
            before.abort();
        }
        Ok(())
    }

    pub(crate) fn remove(&self, uri: &str) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = tasks.remove(uri) {
            task.abort();
        }
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        let tasks = self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
        tasks.values().for_each(AbortHandle::abort);
    }
}

/// Tells a listener of each change, until it has gone.
pub(crate) async fn listen(seat: &Seat, context: &SubscriptionContext) -> Result<(), Error> {
    let uris = context.accepted().resource_subscriptions.iter().flatten();
    let uris: BTreeSet<&String> = uris.collect();
    if uris.is_empty() {
        // There is nothing to hear, so nothing is opened for it.
        return std::future::pending().await;
    }
    let mut changes = Changes::of(seat).await?;
    while changes.next().await {
        for uri in &uris {
            let notice = ResourceUpdatedNotificationParam::new(*uri);
            let notice = ResourceUpdatedNotification::new(notice);
            if context.sink().send(notice.into()).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}
