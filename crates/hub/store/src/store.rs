//! The trait that every store implements.

use std::collections::BTreeSet;
use std::time::Duration;

use accp_context::search::{Query, Ranking};
use accp_session::{Batch, Cold, Entry, Snapshot, Stored, Time};

use crate::error::StoreError;
use crate::search::{Bytes, Document, Match, PIECE};
use crate::side::SideId;

/// Keeps sides of sessions.
///
/// # Contract
///
/// - **Whole.** [`commit`](Self::commit) keeps all batches that it is given, or none of them.
/// - **Durable.** Once `commit` has returned `Ok`, a power cut does not undo it. A store in memory
///   says in its docs that it is not durable.
/// - **In order.** The fields of a batch are applied in the order in which [`Batch`] declares them,
///   and batches in the order of the group. A side may appear in a group more than once.
/// - **Nothing is overwritten.** The log only grows. A batch that does not fit the data in the
///   store is refused as a [`Conflict`](crate::StoreErrorKind::Conflict), and so is its group. A
///   batch does not fit when
///   - the position of an entry is 0, is not after those before it, or is covered by a snapshot
///     that was kept before;
///   - an entry that takes a `seq` has the `mid` of another entry that took a `seq` (a refused frame takes no `seq`,
///     so its `mid` may come again);
///   - a position in `handled` or `lapsed` is not the position of a due entry. So if two handlers
///     handle one frame, only one of them commits, and the replies of the other never leave;
///   - a key is put with another digest or length than before, or with bytes that do not match the
///     digest or length of the put;
///   - a frame for the outbox has the place of another frame (a frame with the same `mid` is
///     replaced);
///   - a snapshot is older than the one that is kept;
///   - the epoch is not above the last one, which shows that two processes run as one side;
///   - the batch is a host's ([`Batch::host`]) and the side is a member's, or the other way round;
///   - an entry has no text;
///   - a number does not fit in 63 bits.
///
///   The store accepts these: the same put again; bytes for a key that had none; a registry that the store has
///   already; an unknown key in `expired`; the removal of a frame that is not in the outbox; an inbox for a
///   member that has one, which the new text replaces.
/// - **An inbox is one text.** The last text of a member in [`Batch::inboxes`] counts, and an empty one
///   removes the inbox. Retention and erasures leave inboxes alone.
/// - **What is erased is gone.** Once [`erase`](Self::erase) has returned `Ok`, no method gives the texts and
///   bytes back. A store in a file has overwritten them. Other stores say in their docs where erased data may
///   remain.
/// - **Equal bytes are kept once** for a side. A key that was put without its bytes gets them as
///   soon as another key with the same digest and length brings them.
///
/// # Failures
///
/// Besides conflicts, every method may fail with every other kind of [`StoreError`]. After a failed
/// commit, drop the side and restore it from the store. When the kind is
/// [`Io`](crate::StoreErrorKind::Io), the store cannot know whether the disk holds the group: open
/// the store anew first. The store then has the group as a whole or not at all.
///
/// The first durable batch begins a side. Reading never begins a side, and neither do
/// [`open`](Self::open) and [`lease`](Self::lease).
///
/// # Several processes
///
/// A store that several processes reach over a network keeps two processes from running one side:
///
/// - **Fencing.** [`open`](Self::open) says that this store runs the side from now on. After `open` has returned,
///   no commit and no deletion of a store that opened the side before succeeds: both fail as a
///   [`Conflict`](crate::StoreErrorKind::Conflict) of that side. A store also opens a side when it commits to it,
///   deletes it, or erases from it without having opened it. Reading and [`retain`](Self::retain) open nothing;
///   `retain` of a store that has lost the side fails too.
/// - **Leases.** [`lease`](Self::lease) tells which process should run a side, so that two processes do
///   not take a side from each other in turn. A lease protects no data; the fence does.
///
/// Both have a default that suits a store of one process. Such a store relies on the conflicts above
/// alone.
pub trait Store {
    /// Keeps the durable parts of these batches, each part for its side.
    ///
    /// Grouping batches of several sides shares the cost of one sync among them.
    fn commit(&mut self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError>;

    /// Returns the stored state of a side, to restore it from; `None` when the store has no such
    /// side.
    fn load(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError>;

    /// Returns the stored state of a side, as [`load`](Self::load) does, and takes the side from every
    /// store that has opened it before. A [`Committer`](crate::Committer) opens sides by this method.
    fn open(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        self.load(side)
    }

    /// Takes or renews the lease of a side for `holder`, the name of a process, if the lease is free, over or the
    /// holder's already. The lease then lasts for `time`, by the clock of the store. Returns who has the lease.
    fn lease(
        &mut self,
        _side: &SideId,
        _holder: &str,
        _time: Duration,
    ) -> Result<Lease, StoreError> {
        Ok(Lease::Held)
    }

    /// Renews the leases of sides that `holder` has, for `time` from now. Returns the sides whose lease `holder`
    /// does not have, because another holder has taken it or it was given up.
    fn renew(
        &mut self,
        _sides: &[SideId],
        _holder: &str,
        _time: Duration,
    ) -> Result<Vec<SideId>, StoreError> {
        Ok(Vec::new())
    }

    /// Gives up the leases of sides, as far as `holder` has them.
    fn release(&mut self, _sides: &[SideId], _holder: &str) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns at most `limit` entries of the log, ascending, from position `from` on. Entries
    /// whose text [`retain`](Self::retain) or [`erase`](Self::erase) has deleted are skipped.
    fn entries(&mut self, side: &SideId, from: u64, limit: usize)
    -> Result<Vec<Entry>, StoreError>;

    /// Returns the entry at a position of the log. Its text is empty if [`retain`](Self::retain) or
    /// [`erase`](Self::erase) has deleted it.
    fn entry(&mut self, side: &SideId, position: u64) -> Result<Option<Entry>, StoreError>;

    /// Looks for words in the frames of a side that still have their texts, also in the values of cold state that
    /// a frame refers to. Returns at most `limit` entries that have any of the words, the best first by BM25. Of
    /// two entries with the same score, the later comes first. Words are runs of letters and digits, of which the
    /// first 256 bytes count; capitals and small letters are the same. Frames of the session itself are left out, and so are parts, because the whole
    /// frame is an entry of its own.
    ///
    /// The default reads the whole log and searches it in memory.
    fn search(
        &mut self,
        side: &SideId,
        words: &str,
        limit: usize,
    ) -> Result<Vec<Match>, StoreError> {
        let query = Query::new(words);
        let mut ranking = Ranking::new(&query);
        let mut next = 0;
        loop {
            let piece = self.entries(side, next, PIECE)?;
            let Some(last) = piece.last() else { break };
            next = last.position.saturating_add(1);
            for entry in piece {
                let value = |key: &str| Ok::<_, StoreError>(self.cold(side, key)?.into());
                if let Some(document) = Document::of(&entry, value)? {
                    let found = document.to_match(entry.position, &query);
                    ranking.add(found, [document.text.as_str()]);
                }
            }
        }
        Ok(ranking.best(limit))
    }

    /// Returns the value under a key; `None` when the key was never put.
    fn cold(&mut self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError>;

    /// Returns all keys that were put, also the expired ones, ascending.
    fn cold_keys(&mut self, side: &SideId) -> Result<Vec<String>, StoreError>;

    /// Returns the summaries of all sides, in the order of [`SideId`]. This method,
    /// [`sides`](Self::sides) and [`summary`](Self::summary) read neither logs nor snapshots.
    ///
    /// If the summary of one side is damaged, this method fails. [`survey`](Self::survey) returns the other summaries.
    fn list(&mut self) -> Result<Vec<Summary>, StoreError>;

    /// Returns the summaries of all sides, as [`list`](Self::list) does, and after them an error for each side whose
    /// summary is damaged. The error names the side, if the name can be read.
    ///
    /// The default is [`list`](Self::list).
    fn survey(&mut self) -> Result<Vec<Result<Summary, StoreError>>, StoreError> {
        Ok(self.list()?.into_iter().map(Ok).collect())
    }

    /// Returns the summaries of the sides of one session, in the order of [`SideId`].
    fn sides(&mut self, session: &str) -> Result<Vec<Summary>, StoreError>;

    /// Returns the summary of one side; `None` when the store has no such side.
    fn summary(&mut self, side: &SideId) -> Result<Option<Summary>, StoreError>;

    /// Deletes a side. Returns whether there was one.
    fn delete(&mut self, side: &SideId) -> Result<bool, StoreError>;

    /// Deletes data that is not needed any longer: the bytes of expired keys, unless another key
    /// needs the same bytes, and the texts that `retention` names. Keys and message ids stay known
    /// for as long as the side does, so a late duplicate is still recognised.
    fn retain(&mut self, side: &SideId, retention: Retention) -> Result<Freed, StoreError>;

    /// Erases texts and values of sides, of all or of none. Positions, message ids, hashes, digests, senders and
    /// marks stay. So a late duplicate is still recognised, and later entries follow as before. To erase erased
    /// data again changes nothing.
    ///
    /// A store knows sides, and not sessions. So the caller names each side of the session that the store has,
    /// and brings the new snapshot of the side. [`ErasurePlan`](crate::ErasurePlan) does that.
    ///
    /// # Errors
    /// As a [`Conflict`](crate::StoreErrorKind::Conflict) of the side at fault: an entry after the
    /// snapshot; an entry that is due, unless [`Erasure::lapses`]; a snapshot that is older than the
    /// one that is kept. [`Corrupt`](crate::StoreErrorKind::Corrupt) when the store has bytes without a key: they
    /// may be a value that is to be erased.
    fn erase(&mut self, group: &[(&SideId, &Erasure)]) -> Result<Freed, StoreError>;

    /// Reads and checks all data of a side: that every row and every digest is right, that no entry
    /// lacks its text unless it was erased, and that the summary is true. An unknown side passes.
    ///
    /// # Errors
    /// Returns the first fault, as [`Corrupt`](crate::StoreErrorKind::Corrupt).
    fn verify(&mut self, side: &SideId) -> Result<(), StoreError>;

    /// Says whether the store can do its work now. The store really writes, as a commit does, reads the data back, and
    /// checks that other processes find the same file or database. No side changes, and the store does not grow,
    /// however many times this method is called.
    ///
    /// The default says that the store can always do its work.
    ///
    /// # Errors
    /// What a commit would fail with: [`Full`](crate::StoreErrorKind::Full),
    /// [`Io`](crate::StoreErrorKind::Io), [`Busy`](crate::StoreErrorKind::Busy).
    /// [`Gone`](crate::StoreErrorKind::Gone) when the file was removed, moved or replaced.
    fn probe(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Who has the lease of a side: see [`Store::lease`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lease {
    /// The holder that asked.
    Held,
    /// Another holder.
    Other {
        /// The name of the holder.
        holder: String,
        /// How long the lease lasts unless it is renewed.
        left: Duration,
    },
}

/// A value as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The value. Its bytes are `None` while the store has only the key, and once the key has
    /// expired.
    pub value: Cold,
    /// True once the key has expired.
    pub expired: bool,
}

impl From<Option<Kept>> for Bytes {
    fn from(kept: Option<Kept>) -> Self {
        match kept {
            Some(kept) if kept.expired => Self::Gone,
            Some(Kept { value, .. }) => value.bytes.map_or(Self::Lacking, Self::Here),
            None => Self::Lacking,
        }
    }
}

/// The limit of what [`Store::retain`] may delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Texts of entries before this position may be deleted, as far as a snapshot covers the
    /// entries and up to the first entry that is due. 0, the default, keeps all texts. Keep the
    /// entries that some member still lacks:
    /// [`Session::replicated`](accp_session::Session::replicated) returns the position
    /// that all members have reached.
    pub log_before: u64,
}

/// The data that [`Store::erase`] deletes from one side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Erasure {
    /// Entries that lose their texts. Entries without texts, and positions without an entry, are passed over.
    pub positions: BTreeSet<u64>,
    /// Keys, without their tier, that expire and lose their bytes. If another key that has not expired has the
    /// same bytes, the bytes stay for that key. Unknown keys are passed over.
    pub keys: BTreeSet<String>,
    /// The snapshot that replaces the present one: the fold of the side without the erased data
    /// ([`Session::fold_without`](accp_session::Session::fold_without)). `None` only if the present snapshot has
    /// none of this data.
    pub snapshot: Option<Snapshot>,
    /// True to let an entry lapse that waits for its handler. If false, such an entry makes the erasure fail, and
    /// nothing is erased.
    pub lapses: bool,
}

/// Counts of what [`Store::retain`] or [`Store::erase`] deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freed {
    /// The number of entries that lost their text.
    pub entries: u64,
    /// The number of bytes of deleted texts and values.
    pub bytes: u64,
}

impl Summary {
    /// Returns the name of the side for people: a host's is its session, a member's is
    /// `session@agent`.
    pub fn name(&self) -> String {
        let side = &self.side;
        if self.host {
            side.session().to_owned()
        } else {
            format!("{}@{}", side.session(), side.agent())
        }
    }
}

/// Summary of a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The name of the side.
    pub side: SideId,
    /// True when the side is the host's.
    pub host: bool,
    /// The last position of the log; 0 when it is empty.
    pub last: u64,
    /// The first position whose text retention has not deleted; 1 if retention has deleted no texts. An erasure may
    /// have deleted the text.
    pub first: u64,
    /// The last position that the snapshot covers.
    pub snapshot: Option<u64>,
    /// The number of entries in the log.
    pub entries: u64,
    /// The number of bytes of the texts of all entries.
    pub bytes: u64,
    /// The number of entries that wait to be handled.
    pub due: u64,
    /// The time of the last entry.
    pub at: Option<Time>,
}
