//! The link of an agent in another process.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use accp_session::MemberId;
use tokio::sync::mpsc;

use crate::command::Command;
use crate::handle::Handle;
use crate::wire::{Frame, Removed, Wire};

/// The link of one agent to the host of its session, for a program that carries the frames itself: a
/// server, say. The link ends when it is dropped, and when another link of the agent opens.
pub struct Link {
    pub(crate) member: MemberId,
    pub(crate) up: Wire,
    pub(crate) down: mpsc::Receiver<Frame>,
    /// The number of the wire by which the host sends to `down`.
    pub(crate) own: u64,
    pub(crate) removed: Removed,
    pub(crate) host: Arc<Handle>,
    /// The hub lives at least as long as its links.
    pub(crate) _hub: Arc<dyn Any + Send + Sync>,
}

impl Link {
    /// Returns the number of the agent's member.
    pub fn member(&self) -> MemberId {
        self.member
    }

    /// Hands a frame of the agent to the host, and waits for room. Returns false if the host has
    /// ended.
    pub async fn send(&self, text: String) -> bool {
        self.up.send(self.member, text).await
    }

    /// Returns the next frame for the agent; `None` when the link has ended.
    pub async fn recv(&mut self) -> Option<String> {
        Some(self.down.recv().await?.text)
    }

    /// Returns the next frame for the agent if it has already arrived.
    pub fn try_recv(&mut self) -> Option<String> {
        Some(self.down.try_recv().ok()?.text)
    }

    /// Returns whether the host of the session has ended: see [`Hub::has_ended`](crate::Hub::has_ended).
    pub fn has_ended(&self) -> bool {
        self.host.has_ended()
    }

    /// Returns whether the link has ended because the agent was taken out of the session: see
    /// [`Hub::remove`](crate::Hub::remove).
    pub fn was_removed(&self) -> bool {
        self.removed.is_true()
    }

    /// Pings the agent with `ping:link`.
    pub fn ping(&self) {
        let _ = self.host.tell(Command::Ping(self.member));
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = self.host.tell(Command::Unlink {
            member: self.member,
            wire: self.own,
        });
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("member", &self.member)
            .finish_non_exhaustive()
    }
}
