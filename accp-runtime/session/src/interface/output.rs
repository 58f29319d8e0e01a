//! Outputs of a session: batches to commit, and data to read from the store.
use std::sync::Arc;

use crate::log::entry::Entry;
use accp_registry::Hash;

use crate::interface::event::Event;
use crate::interface::inbound::Inbound;
use crate::log::mid::{MemberId, Mid};
use crate::log::vouch::{LogKey, Voucher};

/// A value outside the context, under a key that is used once.
///
/// Several keys may have the same digest; a store needs to keep equal bytes only once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cold {
    /// The key without its tier: `k101_12`.
    pub key: String,
    /// SHA-256 of the bytes.
    pub digest: Hash,
    /// The number of bytes.
    pub length: u64,
    /// The bytes; `None` while this side knows only the key.
    pub bytes: Option<Arc<[u8]>>,
}

impl Cold {
    pub(crate) fn of(key: String, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            digest: Hash::of(&bytes),
            length: bytes.len() as u64,
            key,
            bytes: Some(bytes),
        }
    }

    /// Makes a value from its announcement, without the bytes.
    pub(crate) fn announced((key, digest, length): &(String, Hash, u64)) -> Self {
        Self {
            key: key.clone(),
            digest: *digest,
            length: *length,
            bytes: None,
        }
    }
}

/// A frame in the outbox of a member. The member does not know yet whether the host takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The place in the outbox, ascending over the life of the session.
    pub order: u64,
    /// The id of the frame, each time that the frame goes out.
    pub mid: Mid,
    /// The text of the frame up to its metadata.
    pub head: String,
    /// The metadata pairs after `mid` and `seq`, each with its comma in front.
    pub tail: String,
}

/// A change to the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxChange {
    /// A frame to keep.
    Put(Outgoing),
    /// A frame to remove, because the host has taken it, dropped it or refused it.
    Remove(Mid),
}

/// The fold of a session up to a position, as one text.
///
/// A later snapshot replaces an earlier one. The format is JSON and contains its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last position of the log that the snapshot covers.
    pub position: u64,
    /// The text.
    pub text: String,
}

impl Snapshot {
    /// The beginning of the text of a snapshot that holds the ids of all frames up to its position. A store that sees
    /// this beginning need not read older rows to restore a host.
    pub const WITH_IDS: &str = r#"{"version":4,"#;

    /// Returns whether the snapshot holds the ids of all frames up to its position.
    pub fn holds_ids(&self) -> bool {
        self.text.starts_with(Self::WITH_IDS)
    }
}

/// A frame for a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// The receiver: on a host the member, on a member always [`MemberId::HOST`].
    pub to: MemberId,
    /// The text of the frame.
    pub text: String,
}

/// The data that a session wants committed, and the frames that may leave after that.
///
/// The contract: carry out batches in the order in which they came. For each batch, first commit
/// everything in its durable part as a whole, and the cold values not later than the entries that
/// refer to them. Only then send `sends` and hand the frames of `inbound` to their handlers. When a
/// commit fails, nothing of the batch may leave: discard the session and restore it from its store.
///
/// Later versions may add fields. [`Batch::new`] makes a batch, for a program that commits by itself:
///
/// ```
/// use accp_session::Batch;
///
/// let batch = Batch::new(true).with(|batch| batch.epoch = Some(1));
/// assert!(batch.is_durable());
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Batch {
    /// True if the session is a host, false if it is a member. A store keeps this with the side.
    pub host: bool,
    /// Values to keep.
    pub cold: Vec<Cold>,
    /// Keys whose bytes may be deleted; the keys stay known as expired.
    pub expired: Vec<String>,
    /// Entries of the log.
    pub entries: Vec<Entry>,
    /// Positions of due entries that have been handled.
    pub handled: Vec<u64>,
    /// Positions of due entries that no handler gets, because their `ttl` is over.
    pub lapsed: Vec<u64>,
    /// Changes to the outbox, in order.
    pub outbox: Vec<OutboxChange>,
    /// The `seq` of the first frame in the outbox, from now on; 0 when this side does not know it.
    pub outbox_sequence: Option<u64>,
    /// The number of the last value that this side put.
    pub last_put: Option<u64>,
    /// The epoch of the message ids that this side makes.
    pub epoch: Option<u32>,
    /// Host: the secret of its log.
    pub key: Option<LogKey>,
    /// Member: the last voucher of the host. Host: a voucher of this host that a member has sent back, for a position
    /// that the log of this host does not have.
    pub voucher: Option<Voucher>,
    /// Host: how far the members that live in its process have handled the log, each as one text. The last text of
    /// a member counts. An empty text removes the text that was kept.
    pub inboxes: Vec<(MemberId, String)>,
    /// Registries as JSON, by their hash.
    pub registries: Vec<(Hash, String)>,
    /// The fold of all entries so far, if a snapshot is due.
    pub snapshot: Option<Snapshot>,
    /// Frames that may leave once the rest is committed.
    pub sends: Vec<Transmit>,
    /// Frames that may be handled once the rest is committed.
    pub inbound: Vec<Inbound>,
    /// Events for the caller. Nothing depends on the caller reading them.
    pub events: Vec<Event>,
}

impl Batch {
    /// Makes an empty batch for the side of a host or, if `host` is false, of a member.
    pub fn new(host: bool) -> Self {
        Self {
            host,
            ..Self::default()
        }
    }

    /// Returns the batch with the changes that the closure makes.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns whether there is anything to commit.
    pub fn is_durable(&self) -> bool {
        !(self.cold.is_empty()
            && self.expired.is_empty()
            && self.entries.is_empty()
            && self.handled.is_empty()
            && self.lapsed.is_empty()
            && self.outbox.is_empty()
            && self.outbox_sequence.is_none()
            && self.last_put.is_none()
            && self.epoch.is_none()
            && self.key.is_none()
            && self.voucher.is_none()
            && self.inboxes.is_empty()
            && self.registries.is_empty()
            && self.snapshot.is_none())
    }

    /// Returns whether the batch holds nothing at all.
    pub fn is_empty(&self) -> bool {
        !self.is_durable()
            && self.sends.is_empty()
            && self.inbound.is_empty()
            && self.events.is_empty()
    }
}

/// A consumed message id, as a store gives it back from its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The id.
    pub mid: Mid,
    /// The member that sent the frame.
    pub sender: MemberId,
    /// The `seq` that the frame took.
    pub sequence: u64,
    /// True if the frame was dropped silently.
    pub dropped: bool,
}

/// The data of a session that a store gives back, to restore the session from.
///
/// Later versions may add fields. A store makes the data with [`Stored::new`] and sets the fields.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Stored {
    /// True for the side of the host.
    pub host: bool,
    /// The last snapshot.
    pub snapshot: Option<Snapshot>,
    /// The entries after the snapshot, ascending.
    pub entries: Vec<Entry>,
    /// The last position of the log.
    pub last: u64,
    /// Entries that are still due, at or before the snapshot, ascending.
    pub due: Vec<Entry>,
    /// Every entry that took a `seq` ([`EntryKind::Frame`](crate::EntryKind::Frame), [`Repeat`](crate::EntryKind::Repeat),
    /// [`Part`](crate::EntryKind::Part) and [`Dropped`](crate::EntryKind::Dropped)), ascending by position. Only a host needs them.
    /// On a host whose snapshot holds the ids ([`Snapshot::holds_ids`]), only the entries after it.
    pub seen: Vec<Seen>,
    /// The outbox, in order.
    pub outbox: Vec<Outgoing>,
    /// The last [`Batch::outbox_sequence`]; 0 when there was none.
    pub outbox_sequence: u64,
    /// The last [`Batch::last_put`]; 0 when there was none.
    pub last_put: u64,
    /// The last epoch.
    pub epoch: u32,
    /// The last [`Batch::key`].
    pub key: Option<LogKey>,
    /// The last [`Batch::voucher`].
    pub voucher: Option<Voucher>,
    /// The last text of each member in [`Batch::inboxes`], ascending by member.
    pub inboxes: Vec<(MemberId, String)>,
    /// Every registry that was kept, as JSON, by its hash.
    pub registries: Vec<(Hash, String)>,
}

impl Stored {
    /// Makes the data of a side that has kept nothing: of a host or, if `host` is false, of a member.
    pub fn new(host: bool) -> Self {
        Self {
            host,
            ..Self::default()
        }
    }
}

/// An output of a session, for the caller to carry out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Output {
    /// A batch to commit as a whole; after that its sends leave and its frames are handled.
    /// [`Batch`] has the contract.
    Batch(Box<Batch>),
    /// Data to read from the store. The caller answers with an [`Input`](crate::Input) at any later
    /// time; the session goes on meanwhile.
    Read(Read),
}

/// Data that a session needs from its store. Earlier batches have committed it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Read {
    /// At most `limit` entries from a position on; answered by
    /// [`Input::Entries`](crate::Input::Entries).
    Entries {
        /// The first position.
        from: u64,
        /// The greatest number of entries.
        limit: usize,
    },
    /// The entry at a position, perhaps without its text; answered by
    /// [`Input::Entry`](crate::Input::Entry).
    Entry {
        /// The position.
        at: u64,
    },
    /// The value under a key; answered by [`Input::Cold`](crate::Input::Cold).
    Cold {
        /// The key without its tier.
        key: String,
    },
}
