//! Tells a client of MCP that the context has changed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use accp_runtime::session::Session;
use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotification, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::task::AbortHandle;

use crate::desk::Desk;

/// The resources that a client watches. They end with the client.
#[derive(Default)]
pub(crate) struct Watches {
    tasks: Mutex<BTreeMap<String, AbortHandle>>,
}

impl Watches {
    /// Tells the peer of each change of the session, from now on. One notice may stand for many changes.
    pub(crate) async fn add(
        &self,
        desk: &Desk,
        uri: String,
        peer: Peer<RoleServer>,
    ) -> Result<(), accp_client::Error> {
        let last = desk.agent.look(Session::position).await?;
        let mut frames = desk.agent.frames(last + 1);
        let told = uri.clone();
        let task = tokio::spawn(async move {
            loop {
                match frames.next().await {
                    Ok(Some(_)) => {}
                    Ok(None) => return,
                    Err(error) => {
                        tracing::error!(uri = told, %error, "a resource is watched no longer");
                        return;
                    }
                }
                let changed = ResourceUpdatedNotificationParam::new(told.clone());
                if peer.notify_resource_updated(changed).await.is_err() {
                    return;
                }
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

/// Tells a listener of each change, until it has gone or the agent has ended.
pub(crate) async fn listen(
    desk: &Desk,
    uris: Vec<String>,
    context: &SubscriptionContext,
) -> Result<(), accp_client::Error> {
    let last = desk.agent.look(Session::position).await?;
    let mut frames = desk.agent.frames(last + 1);
    loop {
        tokio::select! {
            next = frames.next() => if next?.is_none() {
                return Ok(());
            },
            () = context.cancelled() => return Ok(()),
        }
        for uri in &uris {
            let changed = ResourceUpdatedNotificationParam::new(uri.clone());
            let notice = ResourceUpdatedNotification::new(changed);
            if context.sink().send(notice.into()).await.is_err() {
                return Ok(());
            }
        }
    }
}
