//! Channels for frames between the sides of a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use accp_session::MemberId;
use tokio::sync::mpsc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many frames may be under way on a link.
const FRAMES: usize = 1024;
/// How many bytes may be under way on a link. A frame has at most 64 KiB by default.
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

/// The sending end of the channel to a side.
#[derive(Clone)]
pub(crate) struct Wire {
    /// No two wires of a process have the same number.
    pub(crate) number: u64,
    frames: mpsc::Sender<Frame>,
    room: Arc<Semaphore>,
    removed: Removed,
}

/// Whether the member of a wire was taken out of its session.
#[derive(Clone, Default)]
pub(crate) struct Removed(Arc<AtomicBool>);

impl Removed {
    pub(crate) fn is_true(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Makes the channel to a side, and its receiving end.
pub(crate) fn wire() -> (Wire, mpsc::Receiver<Frame>) {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let (frames, received) = mpsc::channel(FRAMES);
    let wire = Wire {
        number: NUMBERS.fetch_add(1, Ordering::Relaxed),
        frames,
        room: Arc::new(Semaphore::new(BYTES)),
        removed: Removed::default(),
    };
    (wire, received)
}

impl Wire {
    /// Sends a frame. A frame that finds no room is lost, and its session sends it again. Returns false if
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

    /// Ends the wire because its member was taken out of the session.
    pub(crate) fn remove(self) {
        self.removed.0.store(true, Ordering::Release);
    }

    /// Returns the value that tells, once the wire has ended, whether its member was taken out of the session.
    pub(crate) fn removed(&self) -> Removed {
        self.removed.clone()
    }

    /// Returns when the side is gone.
    pub(crate) async fn closed(&self) {
        self.frames.closed().await;
    }
}

fn size(text: &str) -> u32 {
    u32::try_from(text.len().min(BYTES)).unwrap_or(u32::MAX)
}
