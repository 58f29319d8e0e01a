//! Audits the log of a session: checks whether its entries agree with each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use accp_context::{Checkpoint, Trigger};
use accp_session::{Entry, EntryKind, MemberId, ReadError, Reference, Scope, Target, references};
use accp_store::{DriverError, Log, SideId, Store as _};

use crate::store_file::{SharedStore, StoredSide};
use accp_console::outcome::Failure;

/// The findings of an audit that has read the whole log.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    pub(crate) entries: u64,
    pub(crate) frames: u64,
    pub(crate) checkpoints: u64,
    /// The number of checkpoints that only the size of hot state has triggered (draft section 5.2, item 2).
    pub(crate) by_size: u64,
    /// The number of frames that the manifests of the checkpoints list.
    pub(crate) moved: u64,
    /// The number of references that can be read.
    pub(crate) references: u64,
    /// The number of references that cannot be read although nothing is wrong: another side has the bytes, the bytes
    /// have expired, or the shared state has changed since then.
    pub(crate) elsewhere: u64,
    /// The number of entries whose texts were erased.
    pub(crate) erased: u64,
    /// Faults, each with its position.
    pub(crate) faults: Vec<String>,
    /// The expected position of the next entry; `None` before the first entry.
    next: Option<u64>,
    sequence: Option<u64>,
    senders: BTreeMap<MemberId, u64>,
    /// Positions of the frames in hot state.
    hot: Option<BTreeSet<u64>>,
    /// Positions of the frames whose texts were erased. An erasure removes frames from hot state, so no later
    /// checkpoint lists them.
    gone: BTreeSet<u64>,
}

impl Audit {
    /// Reads the log of a session.
    pub(crate) fn of(
        store: &SharedStore,
        id: &SideId,
        side: &mut StoredSide,
    ) -> Result<Self, Failure> {
        let mut audit = Self::default();
        let summary = Arc::clone(store).summary(id)?;
        let mut last = summary
            .as_ref()
            .map_or(0, |summary| summary.first.saturating_sub(1));
        for entry in Log::new(Arc::clone(store), id, 1) {
            let entry = entry?;
            for position in last + 1..entry.position {
                if let Some(gone) = Arc::clone(store).entry(id, position)? {
                    audit.pass_over(&gone, side);
                }
            }
            last = entry.position;
            if audit.entries == 0 && entry.position == 1 {
                (audit.sequence, audit.hot) = (Some(1), Some(BTreeSet::new()));
            }
            audit.entries += 1;
            // A member's copy has gaps for the frames that were not relayed to it, so only a
            // host's numbers are checked.
            if side.is_host() {
                audit.number(&entry, side.state().scope());
            }
            match entry.kind {
                EntryKind::Frame => audit.frame(&entry, side)?,
                EntryKind::Control => audit.control(&entry, side),
                _ => {}
            }
        }
        let end = summary.map_or(0, |summary| summary.last);
        for position in last + 1..=end {
            if let Some(gone) = Arc::clone(store).entry(id, position)? {
                audit.pass_over(&gone, side);
            }
        }
        Ok(audit)
    }

    /// Counts an entry whose text was erased, and updates what the audit knows.
    fn pass_over(&mut self, entry: &Entry, side: &StoredSide) {
        self.entries += 1;
        self.erased += 1;
        if side.is_host() {
            self.number(entry, side.state().scope());
        }
        match (entry.kind, &mut self.hot) {
            (EntryKind::Frame, Some(hot)) => {
                hot.insert(entry.position);
                self.gone.insert(entry.position);
            }
            // Checkpoints are the only control frames whose text an erasure deletes. Without that
            // text, the audit does not know what hot state keeps.
            (EntryKind::Control, hot) => *hot = None,
            _ => {}
        }
    }

    fn fault(&mut self, entry: &Entry, what: &str) {
        let position = entry.position;
        self.faults.push(format!("position {position}: {what}"));
    }

    /// Checks that the position follows the position of the previous entry, and that the number of the frame is the
    /// next number in its scope.
    fn number(&mut self, entry: &Entry, scope: Scope) {
        if let Some(next) = self.next.filter(|next| *next != entry.position) {
            self.fault(entry, &format!("expected position {next} before it"));
        }
        self.next = Some(entry.position + 1);
        if entry.sequence == 0 {
            return;
        }
        let next = match scope {
            Scope::Shared => self.sequence,
            Scope::Sender => match self.senders.get(&entry.sender) {
                None => self.sequence,
                next => next.copied(),
            },
        };
        let found = entry.sequence;
        if let Some(next) = next.filter(|next| *next != found) {
            self.fault(entry, &format!("expected seq:{next}, found seq:{found}"));
        }
        match scope {
            Scope::Shared => self.sequence = Some(found + 1),
            Scope::Sender => {
                self.senders.insert(entry.sender, found + 1);
            }
        }
    }

    /// Checks that the frame can be read, and that its references lead somewhere.
    fn frame(&mut self, entry: &Entry, side: &mut StoredSide) -> Result<(), Failure> {
        self.frames += 1;
        if let Some(hot) = &mut self.hot {
            hot.insert(entry.position);
        }
        if let Err(error) = side.message(&entry.text) {
            self.fault(entry, &format!("the frame cannot be read: {error}"));
            return Ok(());
        }
        let keys = references(&entry.text);
        for reference in keys.filter_map(Reference::parse) {
            match side.read(&reference) {
                Ok(Some(_)) => self.references += 1,
                Ok(None) if !side.is_host() => self.elsewhere += 1,
                Ok(None) => {
                    self.fault(entry, &format!("${reference}: its bytes are not here"));
                }
                Err(DriverError::Reference(_, why)) if is_past(reference.target, why) => {
                    self.elsewhere += 1;
                }
                Err(DriverError::Reference(key, why)) => {
                    self.fault(entry, &format!("${key}: {why}"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn control(&mut self, entry: &Entry, side: &StoredSide) {
        if let Err(error) = side.message(&entry.text) {
            return self.fault(entry, &format!("it cannot be read: {error}"));
        }
        if !entry.text.contains(">sync:checkpoint{") {
            return;
        }
        match Checkpoint::decode(&entry.text) {
            Ok(checkpoint) => self.checkpoint(entry, &checkpoint),
            Err(error) => self.fault(entry, &format!("no checkpoint: {error}")),
        }
    }

    /// Checks that the checkpoint keeps or lists every hot frame that was not erased, and no other frame.
    fn checkpoint(&mut self, entry: &Entry, checkpoint: &Checkpoint) {
        self.checkpoints += 1;
        self.by_size += u64::from(checkpoint.triggers() == [Trigger::Hot]);
        let kept: BTreeSet<u64> = checkpoint.kept().iter().map(|kept| kept.position).collect();
        if let Some(hot) = self.hot.take() {
            let left = checkpoint.left();
            let is_listed = |at: &u64| left.iter().any(|(from, to)| (from..=to).contains(&at));
            let mut moved: BTreeSet<u64> = hot.difference(&kept).copied().collect();
            moved.retain(|at| is_listed(at) || !self.gone.contains(at));
            self.moved += moved.len() as u64;
            let mut ends = left.iter().flat_map(|(from, to)| [from, to]);
            let unlisted = moved.iter().find(|at| !is_listed(at));
            let invented = ends.find(|at| !moved.contains(at));
            let unknown = kept.iter().find(|at| !hot.contains(at));
            let both = kept.iter().find(|at| is_listed(at));
            for (at, what) in [
                (unlisted, "left hot state and is not listed"),
                (invented, "is listed and was not in hot state"),
                (unknown, "is kept and was not in hot state"),
                (both, "is kept, and listed as left"),
            ] {
                if let Some(at) = at {
                    self.fault(entry, &format!("frame {at} {what}"));
                }
            }
        }
        self.hot = Some(kept);
    }
}

/// Returns whether it is normal that a reference can no longer be read: values expire, and shared or remembered state
/// changes.
fn is_past(target: Target<'_>, why: ReadError) -> bool {
    match why {
        ReadError::Expired => true,
        ReadError::NotFound => {
            matches!(
                target,
                Target::Context(_) | Target::Warm(_) | Target::Foreign { .. }
            )
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use accp_session::{Batch, Mid, Time};
    use accp_store::{MemoryStore, Store as _};

    use super::*;

    /// Returns the faults that an audit finds in a log of these frames. In a line, the number before a frame is its
    /// `seq`. A line without a number is a control frame of the host.
    fn faults(lines: &[&str]) -> String {
        let mut store: SharedStore = Arc::new(Mutex::new(MemoryStore::new()));
        let opening = [
            "@h>sync:open{agent:h|scope:shared|tok:bytes}",
            "@h>sync:join{agents:[a]|n:101}",
        ];
        let lines = opening.iter().chain(lines);
        let entries = (1..).zip(lines).map(|(position, line)| {
            let (sequence, text) = line.split_once(' ').unwrap_or(("0", line));
            let sequence = sequence.parse().unwrap();
            let mid = format!("100000001{position:03}");
            Entry::new(
                position,
                Time::from_secs(0),
                Mid::parse(&mid),
                format!("{text}[mid:{mid},seq:{sequence},ts:0]"),
            )
            .with(|entry| {
                entry.kind = if sequence > 0 {
                    EntryKind::Frame
                } else {
                    EntryKind::Control
                };
                entry.sequence = sequence;
                entry.tokens = 1;
            })
        });
        let batch = Batch::new(true).with(|batch| batch.entries = entries.collect());
        let id = SideId::new("s", "h");
        store.commit(&[(&id, &batch)]).unwrap();
        let mut side = StoredSide::open(&store, &id, true, None).unwrap();
        let audit = Audit::of(&store, &id, &mut side).unwrap();
        format!(
            "{} references, {} elsewhere, {} checkpoints, {} moved; {}",
            audit.references,
            audit.elsewhere,
            audit.checkpoints,
            audit.moved,
            audit.faults.join("; ")
        )
    }

    fn checkpoint(id: u64, manifest: &str) -> String {
        format!("@h>sync:checkpoint{{at:0|covers:4|id:ckpt_{id}|{manifest}|on:[done]}}")
    }

    #[test]
    fn a_log_that_holds_together_has_no_faults() {
        let (first, second) = (
            checkpoint(1, "kept:[[4,1]]|left:[3]"),
            checkpoint(2, "left:[4-6]"),
        );
        let log = [
            "1 @a>req:plan{x:1}",
            "2 @a>req:plan{x:$cold.p3.x|y:$42.30|z:$ctx.gone}",
            &first,
            "3 @a>qry:lookup{q:$hot.p3}",
            &second,
        ];
        insta::assert_snapshot!(faults(&log), @"2 references, 1 elsewhere, 2 checkpoints, 3 moved;");
    }

    #[test]
    fn every_fault_is_found() {
        let frames = ["1 @a>req:plan{}", "2 @a>done:plan{}"];
        let with = |manifest: &str| faults(&[frames[0], frames[1], &checkpoint(1, manifest)]);
        let found = [
            faults(&["1 @a>req:plan{}", "3 @a>req:plan{}"]),
            faults(&["1 @a>req:plan{q:$cold.k101_1|p:$cold.p9}"]),
            faults(&["1 @a>req:schedule{task:x|schema:TA}"]),
            with("kept:[[4,1]]"),
            with("kept:[[4,1]]|left:[3,5]"),
            with("kept:[[4,1],[5,1]]|left:[3]"),
            with("kept:[[4,1]]|left:[3-4]"),
        ];
        insta::assert_snapshot!(found.join("\n"), @r"
        0 references, 0 elsewhere, 0 checkpoints, 0 moved; position 4: expected seq:2, found seq:3
        0 references, 0 elsewhere, 0 checkpoints, 0 moved; position 3: $cold.k101_1: E2001: the session holds nothing under this reference; position 3: $cold.p9: E2001: the session holds nothing under this reference
        0 references, 0 elsewhere, 0 checkpoints, 0 moved; position 3: the frame cannot be read: E1004 at byte 32: expected the field `assignee`, which schema TA requires
        0 references, 0 elsewhere, 1 checkpoints, 1 moved; position 5: frame 3 left hot state and is not listed
        0 references, 0 elsewhere, 1 checkpoints, 1 moved; position 5: frame 5 is listed and was not in hot state
        0 references, 0 elsewhere, 1 checkpoints, 1 moved; position 5: frame 5 is kept and was not in hot state
        0 references, 0 elsewhere, 1 checkpoints, 1 moved; position 5: frame 4 is listed and was not in hot state; position 5: frame 4 is kept, and listed as left
        ");
    }
}
