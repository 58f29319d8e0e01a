//! The fold of a side as a text, and the restore from it.

use accp_frame::{DecodeError, Registry};
use accp_registry::{Hash, Schema};
use serde::{Deserialize, Serialize};

use super::Side;
use crate::interface::event::Event;
use crate::interface::output::Snapshot;
use crate::log::entry::Entry;
use crate::log::vouch::Voucher;
use crate::state::State;
use crate::state::effect::Effect;
use crate::state::seen::Ids;
use crate::wire::scan::Scanned;

/// Decides when snapshots are due, so that all snapshots together take at most as many bytes as the log itself.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    entries: u64,
    bytes: usize,
    /// The size of the last snapshot.
    last: usize,
}

impl Schedule {
    /// Counts an entry.
    pub(crate) fn count(&mut self, entry: &Entry) {
        self.entries += 1;
        self.bytes += entry.text.len();
    }
}

/// The text of a snapshot.
#[derive(Debug, Serialize, Deserialize)]
struct Fold<S, J> {
    /// The version of this format.
    version: u32,
    state: S,
    /// The last position of the log on this side. The state may be ahead of this position, because a member starts
    /// from a fold of the host.
    received: u64,
    /// The running hash at the position of the fold.
    #[serde(default)]
    hash: Option<Hash>,
    /// For a member that starts from the fold: the voucher of the host for the log up to the fold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proof: Option<String>,
    /// The ids that frames have taken, if version is [`WITH_IDS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ids: Option<Ids>,
    /// Data that only a host keeps.
    judge: J,
}

/// The content of a fold other than the state of the session.
pub(crate) struct Beside {
    /// The data that only a host keeps.
    pub judge: serde_json::Value,
    /// The ids that frames have taken; none if the fold does not hold them.
    pub ids: Ids,
    /// The voucher of the host for the log up to the fold.
    pub voucher: Option<Voucher>,
}

/// The version of the text of a snapshot.
const FOLD_VERSION: u32 = 3;
/// The version of a text that also holds ids ([`Snapshot::WITH_IDS`]).
const WITH_IDS: u32 = 4;

impl Side {
    /// Puts a snapshot into the batch, if one is due.
    pub(crate) fn snapshot(&mut self, judge: &impl Serialize, ids: impl FnOnce() -> Option<Ids>) {
        let Schedule {
            entries,
            bytes,
            last,
        } = self.schedule;
        if entries >= self.options.snapshot_entries && bytes >= last {
            self.take_snapshot(judge, ids());
        }
    }

    pub(crate) fn take_snapshot(&mut self, judge: &impl Serialize, ids: Option<Ids>) {
        let last = self.schedule.last;
        self.schedule = Schedule {
            last,
            ..Schedule::default()
        };
        let text = match self.fold_text(judge, ids, None) {
            Ok(text) => text,
            Err(error) => return self.emit(Event::NotWritten(error.to_string())),
        };
        self.schedule.last = text.len();
        self.batch.get().snapshot = Some(Snapshot {
            // The state may be ahead of this position, because a member starts from a fold that is
            // ahead of its log. The state may also be behind, because it does not count void
            // entries.
            position: self.position,
            text,
        });
    }

    /// Returns the fold as one text.
    pub(crate) fn fold_text(
        &self,
        judge: &impl Serialize,
        ids: Option<Ids>,
        voucher: Option<Voucher>,
    ) -> serde_json::Result<String> {
        let fold = Fold {
            version: ids.as_ref().map_or(FOLD_VERSION, |_| WITH_IDS),
            state: &self.state,
            received: self.position,
            hash: self.hash,
            proof: voucher.map(|voucher| voucher.digits()),
            ids,
            judge,
        };
        serde_json::to_string(&fold)
    }

    /// Takes over a fold. Returns its content other than the state of the session.
    pub(crate) fn restore(&mut self, snapshot: &Snapshot) -> Result<Beside, RestoreError> {
        let fold: Fold<State, serde_json::Value> = serde_json::from_str(&snapshot.text)
            .map_err(|error| RestoreError::new(snapshot.position, &error))?;
        // Without its ids, a host would take frames twice.
        let ids = match (fold.version, fold.ids) {
            (FOLD_VERSION, None) => Ids::default(),
            (WITH_IDS, Some(ids)) => ids,
            (FOLD_VERSION | WITH_IDS, _) => {
                let what = format!("ids stand in format version {WITH_IDS} and in no other");
                return Err(RestoreError::new(snapshot.position, &what));
            }
            (version, _) => {
                let what =
                    format!("format version {version} instead of {FOLD_VERSION} or {WITH_IDS}");
                return Err(RestoreError::new(snapshot.position, &what));
            }
        };
        self.schedule.last = snapshot.text.len();
        self.state = fold.state;
        self.position = fold.received;
        self.hash = fold.hash;
        // The fold may contain a cancellation that this side has missed, so its handlers learn of
        // it now.
        self.fire();
        Ok(Beside {
            judge: fold.judge,
            ids,
            voucher: fold.proof.and_then(|digits| Voucher::read(&digits)),
        })
    }

    /// Folds an entry that is already committed.
    pub(crate) fn replay(
        &mut self,
        entry: &Entry,
        mut look: impl FnMut(&State, &Scanned<'_>, &Effect),
    ) -> Result<(), RestoreError> {
        let bad = |error: DecodeError| RestoreError::new(entry.position, &error);
        let frame = Scanned::of_entry(&entry.text).map_err(bad)?;
        let effect = self
            .effect(entry.position, entry.kind, &frame)
            .map_err(bad)?;
        look(&self.state, &frame, &effect);
        if entry.position > self.state.position {
            self.state.apply(entry, &frame, effect);
        }
        self.schedule.count(entry);
        self.position = self.position.max(entry.position);
        self.hash = entry.hash.or(self.hash);
        Ok(())
    }

    /// Delivers a frame again that was not handled before the restart.
    pub(crate) fn redeliver(&mut self, entry: &Entry) -> Result<(), RestoreError> {
        let frame = Scanned::of_entry(&entry.text)
            .map_err(|error| RestoreError::new(entry.position, &error))?;
        self.deliver(entry, &frame, true);
        Ok(())
    }
}

impl Snapshot {
    /// Returns the frames that were hot when the snapshot was made, each with its position and without its metadata.
    ///
    /// # Errors
    /// When the text is not that of a snapshot.
    pub fn hot(&self) -> Result<Vec<(u64, String)>, RestoreError> {
        let bad = |error: serde_json::Error| RestoreError::new(self.position, &error);
        let fold: Fold<State, serde_json::Value> = serde_json::from_str(&self.text).map_err(bad)?;
        let hot = fold.state.hot();
        let texts = hot
            .positions()
            .filter_map(|at| Some((at, hot.frame(at)?.to_owned())));
        Ok(texts.collect())
    }
}

/// The reason why a session could not be restored: its store gave back data that differs from what it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreError {
    position: u64,
    message: String,
}

impl RestoreError {
    #[cold]
    pub(crate) fn new(position: u64, what: &dyn std::fmt::Display) -> Self {
        Self {
            position,
            message: format!("{what}"),
        }
    }

    /// Returns the position of the entry or the snapshot at fault.
    pub fn position(&self) -> u64 {
        self.position
    }
}

impl std::fmt::Display for RestoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { position, message } = self;
        write!(
            f,
            "position {position} of the log cannot be read: {message}"
        )
    }
}

impl std::error::Error for RestoreError {}

/// Returns a registry with the schemas that earlier runs of a side have kept, as far as they do not
/// clash.
pub(crate) fn with_kept(registry: &Registry, kept: &[(Hash, String)]) -> Registry {
    let mut all = registry.clone();
    if kept.is_empty() {
        return all;
    }
    let own = registry.hash();
    for (_, json) in kept.iter().filter(|(hash, _)| *hash != own) {
        let Ok(before) = Registry::from_json(json) else {
            continue;
        };
        let has = |schema: &Schema| all.schema(&schema.code) == Some(schema);
        if before.version <= all.version && before.schemas().all(has) {
            continue;
        }
        let mut merged = all.clone();
        if merged.merge(before).is_ok() {
            all = merged;
        }
    }
    all
}
