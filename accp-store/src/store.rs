//! What a store does.

use accp_runtime::session::Time;
use accp_session::{Batch, Cold, Entry, Stored};

use crate::{SideId, StoreError};

/// Keeps sides of sessions.
///
/// # Contract
///
/// - **Whole.** [`commit`](Self::commit) keeps all batches that it is given, or nothing.
/// - **Durable.** Once it has returned `Ok`, a power cut does not undo it. A store in memory
///   says so in its docs.
/// - **In order.** What a batch holds is applied in the order of its fields, and batches in
///   the order of the group. A side may stand in a group more than once.
/// - **Nothing is overwritten.** The log only grows. A batch that does not fit what is kept is
///   refused as a [`Conflict`](crate::StoreErrorKind::Conflict), and so is its group. It
///   does not fit when
///   - the position of an entry is 0, is not after those before it, or is covered by a
///     snapshot that was kept before;
///   - an entry that takes a `seq` has the `mid` of another that took one (a refused frame
///     consumes nothing, so that its id may come again);
///   - a position in `handled` is not that of an entry that is due. So of two handlers of
///     one frame only one commits, and the replies of the other never leave;
///   - a key is put with another digest or length than before, or with bytes that have
///     another digest or length than it says;
///   - a frame for the outbox takes the place of another (under its own `mid` it replaces what
///     was there);
///   - a snapshot is older than the one that is kept;
///   - the epoch is not above the last one, which shows that two processes run as one side;
///   - it is a host's ([`Batch::host`]) and the side is a member's, or the other way round;
///   - a number does not fit in 63 bits.
///
///   These are accepted: the same put again; bytes for a key that had none; a registry that is
///   kept already; a key in `expired` that is not known; removing what is not in the outbox.
/// - **Equal bytes are kept once** for a side. A key that was put without its bytes has them
///   as soon as another key with the same digest and length brings them.
///
/// # Failures
///
/// Beside conflicts, a store may fail with every other kind of [`StoreError`], in every
/// method. After a failed commit the side is dropped and restored from the store. When
/// the kind is [`Io`](crate::StoreErrorKind::Io), a store cannot know whether the disk holds
/// the group: open it anew first. It is there as a whole or not at all.
///
/// The first durable batch begins a side; reading begins none.
pub trait Store {
    /// Keeps the durable parts of these batches, each for its side.
    ///
    /// Grouping batches of several sides shares the cost of one sync among them.
    fn commit(&mut self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError>;

    /// What to restore a side from; `None` when nothing was kept of it.
    fn load(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError>;

    /// At most `limit` entries of the log, ascending, from position `from` on. Those whose
    /// text [`retain`](Self::retain) has let go are passed over.
    fn entries(&mut self, side: &SideId, from: u64, limit: usize)
    -> Result<Vec<Entry>, StoreError>;

    /// The value under a key; `None` when the key was never put.
    fn cold(&mut self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError>;

    /// All keys that were put, the expired ones too, ascending.
    fn cold_keys(&mut self, side: &SideId) -> Result<Vec<String>, StoreError>;

    /// All sides, in their order. Neither this nor [`sides`](Self::sides) or
    /// [`summary`](Self::summary) reads logs or snapshots.
    fn list(&mut self) -> Result<Vec<Summary>, StoreError>;

    /// The sides of one session, in their order.
    fn sides(&mut self, session: &str) -> Result<Vec<Summary>, StoreError>;

    /// One side; `None` when nothing was kept of it.
    fn summary(&mut self, side: &SideId) -> Result<Option<Summary>, StoreError>;

    /// Forgets a side; whether there was one.
    fn delete(&mut self, side: &SideId) -> Result<bool, StoreError>;

    /// Lets go of what is not needed any more: the bytes of expired keys, unless another key
    /// needs the same, and what `retention` names. Keys and message ids stay known for
    /// as long as the side does, so a late duplicate is still told.
    fn retain(&mut self, side: &SideId, retention: Retention) -> Result<Freed, StoreError>;

    /// Reads all that is kept of a side and checks it: every row, every digest, that no
    /// entry lacks its text, that the summary is true. A side that is not known is sound.
    ///
    /// # Errors
    /// The first fault, as [`Corrupt`](crate::StoreErrorKind::Corrupt).
    fn verify(&mut self, side: &SideId) -> Result<(), StoreError>;
}

/// A value as a store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The value. Its bytes are `None` while only the key is known, and once it has expired.
    pub value: Cold,
    /// Whether it has expired.
    pub expired: bool,
}

/// What may be let go of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Texts of entries before this position, as far as a snapshot covers them and up to the
    /// first that is due. 0, the default, keeps all. What some member still lacks must stay:
    /// [`Session::replicated`](accp_runtime::session::Session::replicated) says how far all
    /// of them are.
    pub log_before: u64,
}

/// What was let go of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freed {
    /// How many entries lost their text.
    pub entries: u64,
    /// How many bytes of texts and values went.
    pub bytes: u64,
}

/// A side at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Which side it is.
    pub side: SideId,
    /// Whether it is the host's.
    pub host: bool,
    /// The last position of the log; 0 when it is empty.
    pub last: u64,
    /// The first position whose text is kept; 1 unless some were let go of.
    pub first: u64,
    /// The last position that the snapshot covers.
    pub snapshot: Option<u64>,
    /// How many entries the log has.
    pub entries: u64,
    /// How many bytes their texts have.
    pub bytes: u64,
    /// How many entries wait to be handled.
    pub due: u64,
    /// The time of the last entry.
    pub at: Option<Time>,
}
