//! What a store does.

use accp_runtime::session::{Batch, Cold, Entry, Stored, Time};

use crate::StoreError;

/// Keeps sessions.
///
/// # Contract
///
/// - **Whole.** [`commit`](Self::commit) keeps all batches that it is given, or nothing.
/// - **Durable.** Once it has returned `Ok`, a power cut does not undo it. A store in memory
///   says so in its docs.
/// - **In order.** What a batch holds is applied in the order of its fields, and batches in
///   the order of the group. A session may stand in a group more than once.
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
///   - the epoch is not above the last one, which shows that two sides run as one member;
///   - a number does not fit in 63 bits.
///
///   These are accepted: the same put again; bytes for a key that had none; a registry that is
///   kept already; a key in `expired` that is not known; removing what is not in the outbox.
/// - **Equal bytes are kept once** in a session. A key that was put without its bytes has them
///   as soon as another key with the same digest and length brings them.
///
/// # Failures
///
/// Beside conflicts, a store may fail with every other kind of [`StoreError`], in every
/// method. After a failed commit the session is dropped and restored from the store. When
/// the kind is [`Io`](crate::StoreErrorKind::Io), a store cannot know whether the disk holds
/// the group: open it anew first. It is there as a whole or not at all.
///
/// A session is named by any text; none is made by reading.
pub trait Store {
    /// Keeps the durable parts of these batches, each under the name of its session.
    ///
    /// Grouping batches of several sessions shares the cost of one sync among them.
    fn commit(&mut self, group: &[(&str, &Batch)]) -> Result<(), StoreError>;

    /// What to restore a session from; `None` when nothing was kept of it.
    fn load(&mut self, session: &str) -> Result<Option<Stored>, StoreError>;

    /// At most `limit` entries of the log, ascending, from position `from` on. Those whose
    /// text [`retain`](Self::retain) has let go are passed over.
    fn entries(&mut self, session: &str, from: u64, limit: usize)
    -> Result<Vec<Entry>, StoreError>;

    /// The value under a key; `None` when the key was never put.
    fn cold(&mut self, session: &str, key: &str) -> Result<Option<Kept>, StoreError>;

    /// All keys that were put, the expired ones too, ascending.
    fn cold_keys(&mut self, session: &str) -> Result<Vec<String>, StoreError>;

    /// All sessions, by name.
    fn list(&mut self) -> Result<Vec<Summary>, StoreError>;

    /// Forgets a session; whether there was one.
    fn delete(&mut self, session: &str) -> Result<bool, StoreError>;

    /// Lets go of what is not needed any more: the bytes of expired keys, unless another key
    /// needs the same, and what `retention` names. Keys and message ids stay known for
    /// as long as the session does, so a late duplicate is still told.
    fn retain(&mut self, session: &str, retention: Retention) -> Result<Freed, StoreError>;

    /// Reads all that is kept of a session and checks it: every row, every digest, that no
    /// entry lacks its text, that the summary is true. A session that is not known is sound.
    ///
    /// # Errors
    /// The first fault, as [`Corrupt`](crate::StoreErrorKind::Corrupt).
    fn verify(&mut self, session: &str) -> Result<(), StoreError>;
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

/// A session at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The name.
    pub session: String,
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
