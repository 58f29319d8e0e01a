//! The ways of frames between sides.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use accp_runtime::session::MemberId;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::command::Command;

/// Frames that may be under way on a link.
const FRAMES: usize = 1024;
/// Bytes that may be under way on a link. A frame has at most 64 KiB by default.
const BYTES: usize = 4 << 20;

/// A frame on its way to another side.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) from: MemberId,
    pub(crate) text: String,
    _room: OwnedSemaphorePermit,
}

impl Frame {
    fn new(from: MemberId, text: String, room: OwnedSemaphorePermit) -> Self {
        Self {
            from,
            text,
            _room: room,
        }
    }
}

/// The way to a side.
#[derive(Clone)]
pub(crate) struct Wire {
    /// No two wires of a process have the same number.
    pub(crate) number: u64,
    frames: mpsc::Sender<Frame>,
    room: Arc<Semaphore>,
}

/// Makes the way to a side, and its end at that side.
pub(crate) fn wire() -> (Wire, mpsc::Receiver<Frame>) {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let (frames, received) = mpsc::channel(FRAMES);
    let wire = Wire {
        number: NUMBERS.fetch_add(1, Ordering::Relaxed),
        frames,
        room: Arc::new(Semaphore::new(BYTES)),
    };
    (wire, received)
}

impl Wire {
    /// Sends a frame. It is lost if it finds no room; then its sender sends it again. Returns false if
    /// the side is gone.
    pub(crate) fn try_send(&self, from: MemberId, text: String) -> bool {
        let room = Arc::clone(&self.room).try_acquire_many_owned(size(&text));
        let Ok(room) = room else {
            return !self.frames.is_closed();
        };
        let sent = self.frames.try_send(Frame::new(from, text, room));
        !matches!(sent, Err(mpsc::error::TrySendError::Closed(_)))
    }

    /// Waits for room and sends a frame. Returns false if the side is gone.
    pub(crate) async fn send(&self, from: MemberId, text: String) -> bool {
        let room = Arc::clone(&self.room).acquire_many_owned(size(&text));
        let room = tokio::select! {
            room = room => room,
            () = self.frames.closed() => return false,
        };
        let Ok(room) = room else {
            return false;
        };
        let frame = Frame::new(from, text, room);
        self.frames.send(frame).await.is_ok()
    }

    /// Returns when the side is gone.
    pub(crate) async fn closed(&self) {
        self.frames.closed().await;
    }
}

fn size(text: &str) -> u32 {
    u32::try_from(text.len().min(BYTES)).unwrap_or(u32::MAX)
}

/// The link of one agent to the host of its session, for a program that carries the frames itself: a
/// server, say. The link ends when it is dropped, and when another link of the agent opens.
pub struct Link {
    pub(crate) member: MemberId,
    pub(crate) up: Wire,
    pub(crate) down: mpsc::Receiver<Frame>,
    /// The number of the host's wire to `down`.
    pub(crate) own: u64,
    pub(crate) host: UnboundedSender<Command>,
    /// The hub lives at least as long as its links.
    pub(crate) hub: crate::Hub,
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

    /// Returns a frame for the agent that is here already.
    pub fn try_recv(&mut self) -> Option<String> {
        Some(self.down.try_recv().ok()?.text)
    }

    /// Returns the hub of the session.
    pub fn hub(&self) -> &crate::Hub {
        &self.hub
    }

    /// Asks the agent for a sign of life: `ping:link` goes to it.
    pub fn ping(&self) {
        let _ = self.host.send(Command::Ping(self.member));
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = self.host.send(Command::Unlink {
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
