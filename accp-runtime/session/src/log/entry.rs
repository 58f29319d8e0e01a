//! Entries of the log.

use std::sync::Arc;

use accp_registry::{ErrorCode, Hash};

use crate::log::mid::{MemberId, Mid};
use accp_context::Time;
use accp_frame::Intent;

/// An entry in the log of a session.
///
/// Only the host makes entries; members copy the entries that are relayed to them. The context of a
/// session is the fold of its entries, in the order of their positions.
///
/// Later versions may add fields. [`Entry::new`] makes an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The position in the log, from 1; ascending, with gaps on a member's side.
    pub position: u64,
    /// The time of the host's decision; on a member, the time at which the entry arrived.
    pub at: Time,
    /// The host's decision.
    pub kind: EntryKind,
    /// The member that sent the frame.
    pub sender: MemberId,
    /// The member that the frame is for: only its handlers get the frame, and only this member answers. `None` for a
    /// frame that all members handle, and [`MemberId::NOBODY`] for a request that waits for a taker.
    pub to: Option<MemberId>,
    /// The id of the frame, unique in the session.
    pub mid: Mid,
    /// The `seq` that the frame took; 0 for an entry that takes no `seq`.
    pub sequence: u64,
    /// The tokens that the frame takes in hot state; 0 when no tokens are counted.
    pub tokens: u32,
    /// True if hot state shows a preview, because the frame is too large for it.
    pub cut: bool,
    /// Whether the entry waits on this side to be handled. A store keeps the entry until it is marked as handled.
    pub due: Due,
    /// The frame as its sender wrote it.
    pub text: Arc<str>,
    /// The running hash of the log at a relayed entry, which covers all relayed entries up to it.
    /// `None` when the host does not vouch for its log.
    pub hash: Option<Hash>,
}

impl Entry {
    /// Makes the entry of a frame of the host that takes no `seq` and no tokens, and that does not wait to be
    /// handled. The other fields are then set one by one.
    pub fn new(position: u64, at: Time, mid: Mid, text: impl Into<Arc<str>>) -> Self {
        Self {
            position,
            at,
            kind: EntryKind::Frame,
            sender: MemberId::HOST,
            to: None,
            mid,
            sequence: 0,
            tokens: 0,
            cut: false,
            due: Due::No,
            text: text.into(),
            hash: None,
        }
    }

    /// Returns the entry with the changes that the closure makes.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns whether the entry waits on this side to be handled.
    pub const fn is_due(&self) -> bool {
        matches!(self.due, Due::Yes)
    }
}

/// Whether an entry waits on a side to be handled, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Due {
    /// The entry does not wait: it is for no handler of this side, or a handler has had it.
    No,
    /// The entry waits.
    Yes,
    /// No handler gets the entry, because the `ttl` of its frame was over before its turn came (draft section 3.5).
    Lapsed,
}

/// The host's decision on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// Accepted, relayed and handled.
    Frame,
    /// A control frame: membership, grants, schemas, checkpoints, puts. Relayed, not handled.
    Control,
    /// A part of a split frame; the whole frame follows as an entry of its own.
    Part,
    /// One of three frames, all relayed. First, a repeated request of a transaction that is under way or has ended
    /// ([`SchemaRules::idempotency`]); nobody handles it. Second, a copy of the answer for the member that repeated
    /// the request; this member counts as the sender, and it alone handles the copy. Third, with [`Entry::to`], a
    /// request that goes to its next taker, which handles it.
    ///
    /// [`SchemaRules::idempotency`]: accp_registry::SchemaRules::idempotency
    Repeat,
    /// Expired, or in a cancelled chain. The frame took its `seq`, and the host answers nothing.
    Dropped,
    /// Refused for good, with this code; the frame took no `seq`.
    Refused(ErrorCode),
    /// The host has lost the entry at this position, which was never relayed. The host took the entries around it
    /// from a member ([`Input::Recover`](crate::Input::Recover)).
    Lost,
}

impl EntryKind {
    /// Returns whether entries of this kind are relayed to members.
    pub const fn is_relayed(self) -> bool {
        matches!(self, Self::Frame | Self::Control | Self::Repeat)
    }
}

/// Returns whether the handlers of a member get an entry like this. They get a frame for that member, a frame of
/// another member for all, a request that was handed on to that member, and a copy of an answer that was made for
/// that member.
pub(crate) fn is_for(
    member: MemberId,
    kind: EntryKind,
    sender: MemberId,
    to: Option<MemberId>,
    intent: Intent,
) -> bool {
    match (kind, to) {
        (EntryKind::Frame | EntryKind::Repeat, Some(to)) => to == member,
        (EntryKind::Frame, None) => sender != member,
        (EntryKind::Repeat, None) => sender == member && intent != Intent::REQ,
        _ => false,
    }
}
