//! Subscriptions of MCP clients to the context.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use accp_client::{Error, Frames, Principal};
use accp_session::Session;
use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotification, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::connection::Connection;
use crate::inbox::Inbox;
use crate::request::over;

/// The changes of a session, also after the session's agent was opened anew.
struct Changes {
    inboxes: watch::Receiver<Option<Arc<Inbox>>>,
    /// The log from the next change on, while the agent is open.
    frames: Option<Frames>,
    /// The position of the next change.
    next: u64,
}

impl Changes {
    /// Returns the changes from now on.
    async fn of(connection: &Connection) -> Result<Self, Error> {
        let mut changes = Self {
            inboxes: connection.inboxes(),
            frames: None,
            next: u64::MAX,
        };
        connection.inbox().await?;
        changes.follow().await?;
        Ok(changes)
    }

    /// Follows the log of the agent that was opened last.
    async fn follow(&mut self) -> Result<(), Error> {
        let inbox = self.inboxes.borrow_and_update().clone();
        let agent = inbox.as_ref().map(|inbox| &inbox.agent);
        if let Some(agent) = agent {
            // If the session has begun anew, its log is shorter, so `next` may lie after the end of the log.
            let end = agent.look(Session::position).await? + 1;
            self.next = self.next.min(end);
            self.frames = Some(agent.frames(self.next));
        }
        Ok(())
    }

    /// Waits for the next change. Returns false when there will be none.
    ///
    /// The end of the agent counts as a change: the session was opened anew, or another process has opened the
    /// agent. A client that then reads the resource opens the agent again, and gets the changes since. The server
    /// does not open the agent by itself, because two servers that do so would end each other for ever.
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
            if self.inboxes.changed().await.is_err() {
                return false;
            }
            if let Err(error) = self.follow().await {
                tracing::debug!(%error, "an agent has ended as soon as it was open");
            }
        }
    }
}

/// The subscriptions of a client. They end with the client.
#[derive(Default)]
pub(crate) struct Subscriptions {
    tasks: Mutex<BTreeMap<String, AbortHandle>>,
}

impl Subscriptions {
    /// Notifies the peer of each change of the session, from now on and as long as `who` has the right. One
    /// notification may stand for many changes.
    pub(crate) async fn add(
        &self,
        connection: &Connection,
        uri: String,
        peer: Peer<RoleServer>,
        who: Option<Principal>,
    ) -> Result<(), Error> {
        let mut changes = Changes::of(connection).await?;
        let resource = uri.clone();
        let notify = async move {
            while changes.next().await {
                let notice = ResourceUpdatedNotificationParam::new(resource.clone());
                if peer.notify_resource_updated(notice).await.is_err() {
                    return;
                }
            }
        };
        let task = tokio::spawn(async move {
            tokio::select! {
                biased;
                _ = over(who.as_ref()) => {}
                () = notify => {}
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

impl Drop for Subscriptions {
    fn drop(&mut self) {
        let tasks = self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
        tasks.values().for_each(AbortHandle::abort);
    }
}

/// Notifies a listener of each change, until the listener is gone.
pub(crate) async fn listen(
    connection: &Connection,
    context: &SubscriptionContext,
) -> Result<(), Error> {
    let uris = context.accepted().resource_subscriptions.iter().flatten();
    let uris: BTreeSet<&String> = uris.collect();
    if uris.is_empty() {
        // Nothing is subscribed, so no agent is opened.
        return std::future::pending().await;
    }
    let mut changes = Changes::of(connection).await?;
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
