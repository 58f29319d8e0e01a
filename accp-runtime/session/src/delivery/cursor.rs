//! The progress of one member through the log of its host.

use std::sync::Arc;
use std::time::Duration;

use accp_registry::{Change, Hash};

use crate::delivery::backoff::Backoff;
use crate::delivery::draft::DraftMember;
use crate::log::mid::Mid;
use crate::wire::link::Hello;
use accp_context::Time;

/// The greatest number of breaking schema changes that a host keeps for one member.
pub(crate) const SHOWN: usize = 16;

/// The progress of one member through the log.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// True while the host says hello to the member, until the member answers.
    pub greeting: bool,
    /// True if the link to the member is gone, and nothing has come from the member since.
    pub gone: bool,
    /// The position that the member last acknowledged. `None` when the member cannot be reached, or has
    /// acknowledged nothing since the start of the host.
    pub acked: Option<u64>,
    /// The last position that went out to the member.
    pub sent: u64,
    /// The position that the member has acknowledged twice, if the host has sent the entries after it again because
    /// of that.
    pub rewound: Option<u64>,
    pub retry: Backoff,
    /// The last position that was read for the member. The entries after `sent`, up to `read`, are not relayed.
    pub read: u64,
    /// The position from which the store is reading the log for the member.
    pub reading: Option<u64>,
    /// The last frame of the member that is to be acknowledged, and its `seq`.
    pub ack: Option<(Mid, u64)>,
    /// The hash of the schemas that the host last asked the member for.
    pub schemas: Option<String>,
    /// The changes between these schemas and those of the host that break a reader, at most [`SHOWN`]. `None` until
    /// the host has compared the schemas.
    pub clashes: Option<Vec<Change>>,
    /// The fold that the member may fetch.
    pub offer: Option<Offer<Arc<[u8]>>>,
    /// A hello of the member, and the position that it claims. The host judges the hello when the store has read the
    /// hash of the log at this position.
    pub claim: Option<Box<(u64, Hello)>>,
    /// The number of false claims of the member in a row.
    pub doubts: u8,
    /// Whether the member understands the pairs that vouch for an entry; `None` before its hello.
    pub vouched: Option<bool>,
    /// The frames that were sent to the member, if it knows only the draft.
    pub draft: Option<Box<DraftMember>>,
    /// The time of the last hello to the member, if it knows only the draft.
    pub greeted: Option<Time>,
    /// The number of values whose bytes the host still has to read and send to the member.
    pub wants: u8,
    /// The greatest position that the member has acknowledged.
    pub furthest: u64,
    /// The number of hellos from the member since it reached `furthest`.
    pub hellos: u8,
}

/// A fold for members: its position, the running hash there, and the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Offer<B> {
    pub position: u64,
    pub hash: Option<Hash>,
    pub bytes: B,
}

impl Cursor {
    pub(crate) fn new(retry: Duration) -> Self {
        Self {
            greeting: false,
            gone: false,
            acked: None,
            sent: 0,
            rewound: None,
            retry: Backoff::new(retry),
            read: 0,
            reading: None,
            ack: None,
            schemas: None,
            clashes: None,
            offer: None,
            claim: None,
            doubts: 0,
            vouched: None,
            draft: None,
            greeted: None,
            wants: 0,
            furthest: 0,
            hellos: 0,
        }
    }

    /// Returns whether the member understands the pairs that vouch for an entry.
    pub(crate) fn is_vouched(&self) -> bool {
        self.vouched == Some(true)
    }

    /// Returns the state of the member, if it knows only the draft.
    pub(crate) fn draft(&mut self) -> Option<&mut DraftMember> {
        self.draft.as_deref_mut()
    }

    /// Returns whether the member knows only the draft.
    pub(crate) fn is_draft(&self) -> bool {
        self.draft.is_some()
    }

    /// Makes the entries after `held` go out again.
    pub(crate) fn rewind(&mut self, held: u64) {
        self.sent = held;
        self.read = held;
        self.reading = None;
        self.rewound = None;
    }
}
