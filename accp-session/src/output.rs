//! What a session asks of the world: batches to make durable, and what may leave after.
use std::sync::Arc;

use accp_registry::{ErrorCode, Hash};

use crate::{Event, Inbound, MemberId, Mid, Time};

/// One place of the log of a session.
///
/// Only the host makes entries; members copy those that are relayed to them. The context of
/// a session is what its entries fold to, in the order of their positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The place in the log, from 1; ascending, with gaps on a member's side.
    pub position: u64,
    /// When the host decided.
    pub at: Time,
    /// What the host decided.
    pub kind: EntryKind,
    /// Who sent the frame.
    pub sender: MemberId,
    /// The id of the frame, unique in the session.
    pub mid: Mid,
    /// The `seq` that the frame took; 0 for an entry that takes none.
    pub sequence: u64,
    /// Tokens of the frame as it stands in hot state; 0 where nothing is counted.
    pub tokens: u32,
    /// Whether hot state shows a preview, because the frame is too large for it.
    pub cut: bool,
    /// Whether it waits here to be handled: a store keeps this until the mark comes.
    pub due: bool,
    /// The frame as its sender wrote it.
    pub text: Arc<str>,
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// Accepted, relayed and handled.
    Frame,
    /// By the host or for it: membership, checkpoints, state, puts. Relayed, not handled.
    Control,
    /// A part of a frame that was split; the whole follows as an entry of its own.
    Part,
    /// Expired, or of a cancelled chain: it took its place and nobody hears of it.
    Dropped,
    /// Refused for good, with this code; it took no `seq`.
    Refused(ErrorCode),
}

impl EntryKind {
    /// Whether members get it.
    pub const fn is_relayed(self) -> bool {
        matches!(self, Self::Frame | Self::Control)
    }
}

/// A value that is kept outside the context, under a key that is used once.
///
/// Several keys may have one digest; equal bytes need to be kept once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cold {
    /// The key without its tier: `k101_12`.
    pub key: String,
    /// SHA-256 of the bytes.
    pub digest: Hash,
    /// How many bytes there are.
    pub length: u64,
    /// The bytes; `None` while only the key is known here.
    pub bytes: Option<Arc<[u8]>>,
}

/// A frame that a member has sent and whose fate it does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The place in the outbox, ascending over the life of the session.
    pub order: u64,
    /// The id under which it goes out, and again.
    pub mid: Mid,
    /// The text up to its metadata.
    pub head: String,
    /// The pairs of the metadata after `mid` and `seq`, each with its comma in front.
    pub tail: String,
}

/// A change to the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxChange {
    /// A frame to keep.
    Put(Outgoing),
    /// The fate of the frame is known.
    Remove(Mid),
}

/// All that a session has folded up to a position, in one text.
///
/// A later snapshot replaces an earlier one. The format is JSON and has its version inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last position of the log that it covers.
    pub position: u64,
    /// The text.
    pub text: String,
}

/// A frame for a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// Who gets it: on a host the member, on a member always [`MemberId::HOST`].
    pub to: MemberId,
    /// The text of the frame.
    pub text: String,
}

/// What a session wants kept, and what it lets go once that is so.
///
/// The contract: batches are carried out in the order in which they came. Of each, first
/// everything in its durable part is committed as a whole, the cold values not later than
/// what refers to them; then, and only then, the sends leave and the frames of `inbound` go
/// to their handlers. When a commit fails, nothing of the batch may leave: the session is
/// put aside and restored from its store.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Whether the host of the session hands it out, and not a member. A store keeps this with the
    /// side.
    pub host: bool,
    /// Values to keep.
    pub cold: Vec<Cold>,
    /// Keys whose bytes may be deleted; the keys stay known, as expired.
    pub expired: Vec<String>,
    /// Places of the log.
    pub entries: Vec<Entry>,
    /// Positions of entries that were due and have been handled.
    pub handled: Vec<u64>,
    /// Changes to the outbox, in order.
    pub outbox: Vec<OutboxChange>,
    /// The `seq` that the first frame of the outbox goes out under, from now on.
    pub outbox_sequence: Option<u64>,
    /// The number of the last value that was put here, from now on.
    pub last_put: Option<u64>,
    /// The epoch of the message ids made here.
    pub epoch: Option<u32>,
    /// Registries by their hash, as JSON.
    pub registries: Vec<(Hash, String)>,
    /// The fold so far.
    pub snapshot: Option<Snapshot>,
    /// Frames that may leave once the rest is durable.
    pub sends: Vec<Transmit>,
    /// Frames that may be handled once the rest is durable.
    pub inbound: Vec<Inbound>,
    /// What happened, for whoever wants to know. Nothing depends on its being read.
    pub events: Vec<Event>,
}

impl Batch {
    /// Whether there is anything to commit.
    pub fn is_durable(&self) -> bool {
        !(self.cold.is_empty()
            && self.expired.is_empty()
            && self.entries.is_empty()
            && self.handled.is_empty()
            && self.outbox.is_empty()
            && self.outbox_sequence.is_none()
            && self.last_put.is_none()
            && self.epoch.is_none()
            && self.registries.is_empty()
            && self.snapshot.is_none())
    }

    /// Whether there is nothing in it at all.
    pub fn is_empty(&self) -> bool {
        !self.is_durable()
            && self.sends.is_empty()
            && self.inbound.is_empty()
            && self.events.is_empty()
    }
}

/// A message id that was consumed, as the index of the log holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The id.
    pub mid: Mid,
    /// Who sent it.
    pub sender: MemberId,
    /// The `seq` it took.
    pub sequence: u64,
    /// Whether it was dropped silently.
    pub dropped: bool,
}

/// What a store gives back of a session, to restore it from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stored {
    /// Whether this is the side of the host.
    pub host: bool,
    /// The last snapshot.
    pub snapshot: Option<Snapshot>,
    /// The entries after it, ascending.
    pub entries: Vec<Entry>,
    /// The last position of the log.
    pub last: u64,
    /// Entries that are due still, at or before the snapshot, ascending.
    pub due: Vec<Entry>,
    /// Every entry that took a `seq` ([`EntryKind::Frame`], [`Part`](EntryKind::Part) and
    /// [`Dropped`](EntryKind::Dropped)), ascending by position. Only a host needs them.
    pub seen: Vec<Seen>,
    /// The outbox in its order.
    pub outbox: Vec<Outgoing>,
    /// The last [`Batch::outbox_sequence`]; 0 when there was none.
    pub outbox_sequence: u64,
    /// The last [`Batch::last_put`]; 0 when there was none.
    pub last_put: u64,
    /// The last epoch.
    pub epoch: u32,
    /// The registry of this hash and every other that was kept.
    pub registries: Vec<(Hash, String)>,
}

/// What a session asks of the world.
#[derive(Debug)]
#[non_exhaustive]
pub enum Output {
    /// This is to be committed as a whole; its sends leave and its frames are handled after
    /// that. The contract stands at [`Batch`].
    Batch(Box<Batch>),
    /// This is to be read from the store. The answer is an [`Input`](crate::Input), whenever
    /// that is convenient; the session goes on meanwhile.
    Read(Read),
}

/// What a session wants read from its store: what was committed with the batches before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Read {
    /// Entries from this position on, at most so many; answered by
    /// [`Input::Entries`](crate::Input::Entries).
    Entries {
        /// The first position.
        from: u64,
        /// How many at most.
        limit: usize,
    },
    /// The value under a key; answered by [`Input::Cold`](crate::Input::Cold).
    Cold {
        /// The key without its tier.
        key: String,
    },
}
