//! Finds the entries and values that a store erases with a frame, and makes the fold of a side without them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use accp_context::Checkpoint;
use accp_frame::Intent;
use accp_registry::Hash;

use crate::delivery::parts::Part;
use crate::host::Host;
use crate::interface::output::{Snapshot, Stored};
use crate::log::entry::{Entry, EntryKind};
use crate::log::mid::{MemberId, Mid};
use crate::member::Member;
use crate::options::{Options, Rules};
use crate::reference::{ColdKey, Reference, Target, references};
use crate::session::Session;
use crate::side::Side;
use crate::side::fold::RestoreError;
use crate::state::shared::StateUpdate;
use crate::wire::control::{Control, put_key};
use crate::wire::scan::Scanned;
use accp_context::Time;

/// Which data of a session to erase.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The frames at these positions. Control frames are passed over.
    pub positions: Vec<RangeInclusive<u64>>,
    /// All frames and values of this member.
    pub sender: Option<MemberId>,
    /// The agents for whom the member `sender` speaks.
    pub agents: Vec<String>,
    /// The values under these keys, without their tier: `k101_7`.
    pub keys: BTreeSet<String>,
}

/// What has to be erased from a side, so that nothing of a selection is left in its log.
#[derive(Debug, Clone, Default)]
pub struct Erased {
    /// The entries, ascending, with their texts.
    pub entries: Vec<Entry>,
    /// The keys of values, without their tier.
    pub keys: BTreeSet<String>,
    /// The frames that the fold of the side has and its log lacks, each without its metadata.
    folded: BTreeMap<u64, String>,
    /// The checkpoints whose facts may stem from these entries.
    checkpoints: BTreeSet<u64>,
    /// The last checkpoint whose entry is in the log. Later checkpoints, if any, are known only from a fold.
    last: Option<u64>,
    /// Whether erased entries were still hot at the end of the log.
    are_hot: bool,
}

/// The most checkpoints in one gap of a log that are taken into account: the latest ones. Warm state has far fewer
/// lines.
const IN_A_GAP: usize = 4096;

impl Erased {
    /// Returns whether the side has nothing of the selection.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.keys.is_empty() && self.folded.is_empty()
    }

    /// Adds the checkpoints between the last one that was read and `next`. A log that begins again at a fold lacks
    /// the entries of these checkpoints, and they may state facts of frames that were hot before the gap.
    fn pass(&mut self, next: u64) {
        if let Some(last) = self.last {
            let unread = (last + 1..next).rev().take(IN_A_GAP);
            self.checkpoints.extend(unread);
        }
    }
}

/// Finds what has to be erased, as it reads the log of a side.
///
/// With a frame, these are erased too:
/// - its parts, and the copies of it that the host has made for requests that came again;
/// - the copy of it that a member has fetched;
/// - the values that its sender has put for it, or the host for a guest, unless a frame that stays refers
///   to them;
/// - the text of each checkpoint that was taken while the frame was in hot state, because the
///   checkpoint may state facts of the frame.
#[derive(Debug, Default)]
pub struct Erasing {
    selection: Selection,
    found: Erased,
    /// The parts of frames whose whole text comes later in the log. The entry of the whole frame decides whether its
    /// parts are erased.
    parts: BTreeMap<(MemberId, Mid), Vec<Entry>>,
    /// The erased frames that came in parts.
    wholes: BTreeSet<(MemberId, Mid)>,
    /// The digests of the erased frames, without their metadata.
    heads: BTreeSet<Hash>,
    /// The positions of erased frames that may still be in hot state.
    hot: BTreeSet<u64>,
    /// The keys that erased frames refer to (`used`), and those that remaining frames refer to
    /// (`needed`).
    used: BTreeSet<String>,
    needed: BTreeSet<String>,
    /// The keys of the erased frames that the side has fetched.
    fetched: BTreeSet<String>,
}

impl Erasing {
    /// Begins to read a log for the data that a selection names.
    pub fn new(selection: Selection) -> Self {
        Self {
            selection,
            ..Self::default()
        }
    }

    /// Takes the next entry of the log that has a text.
    pub fn read(&mut self, entry: &Entry) {
        match entry.kind {
            EntryKind::Control => self.control(entry),
            EntryKind::Part => self.part(entry),
            EntryKind::Frame => self.frame(entry),
            EntryKind::Repeat => self.repeat(entry),
            _ if self.names(entry) => self.found.entries.push(entry.clone()),
            _ => {}
        }
    }

    /// Takes a frame that the side has fetched, because its log does not have the frame. Call this after the whole log
    /// was read.
    ///
    /// `key` is the key under which the store has the frame, such as `p57`. Other keys are passed over.
    pub fn fetched(&mut self, key: &str, text: &str) {
        if place_in(key).is_some_and(|position| self.chooses(position, text)) {
            self.fetched.insert(key.to_owned());
        }
    }

    /// Takes a frame that was hot when the fold of the side was made, because its log does not have the frame: the log of a
    /// member that comes late begins at a fold ([`Snapshot::hot`]). Call this before the entries behind the fold are read.
    pub fn folded(&mut self, position: u64, text: &str) {
        if self.chooses(position, text) {
            if let Ok(frame) = Scanned::of_entry(text) {
                self.heads.insert(Hash::of(frame.head().as_bytes()));
            }
            self.hot.insert(position);
            self.found.folded.insert(position, text.to_owned());
        }
    }

    /// Returns whether the selection chooses a frame that the log does not have.
    fn chooses(&self, position: u64, text: &str) -> bool {
        let mut ranges = self.selection.positions.iter();
        let is_named = ranges.any(|range| range.contains(&position));
        match Scanned::of_entry(text) {
            Ok(frame) if Control::is(&frame) => false,
            Ok(frame) => {
                let mut agents = self.selection.agents.iter();
                is_named
                    || agents.any(|agent| agent == frame.header.agent)
                    || self.heads.contains(&Hash::of(frame.head().as_bytes()))
            }
            Err(_) => is_named,
        }
    }

    /// Returns what has to be erased. `keys` are all keys of the side, without their tier.
    pub fn finish(self, keys: &[String]) -> Erased {
        let Self {
            selection,
            mut found,
            used,
            needed,
            hot,
            fetched,
            ..
        } = self;
        found.are_hot = !hot.is_empty();
        let owner = |key: &str| put_key(key).map(|(owner, _)| owner);
        let is_chosen = |key: &&String| {
            let is_sender_s = selection.sender.is_some() && owner(key) == selection.sender;
            let is_alone = used.contains(*key) && !needed.contains(*key);
            let is_named = selection.keys.contains(*key) || fetched.contains(*key);
            is_sender_s || is_alone || is_named
        };
        found.keys = keys.iter().filter(is_chosen).cloned().collect();
        found.entries.sort_by_key(|entry| entry.position);
        found
    }

    /// Returns whether the selection itself names an entry.
    fn names(&self, entry: &Entry) -> bool {
        let mut ranges = self.selection.positions.iter();
        self.selection.sender == Some(entry.sender)
            || ranges.any(|range| range.contains(&entry.position))
    }

    fn frame(&mut self, entry: &Entry) {
        let whole = (entry.sender, entry.mid.clone());
        let parts = self.parts.remove(&whole);
        if !self.names(entry) && !self.wholes.contains(&whole) {
            self.needed.extend(keys_in(entry).map(|(_, key)| key));
            return;
        }
        self.found.entries.extend(parts.into_iter().flatten());
        self.wholes.insert(whole);
        if let Ok(frame) = Scanned::of_entry(&entry.text) {
            self.heads.insert(Hash::of(frame.head().as_bytes()));
        }
        let puts = [entry.sender, MemberId::HOST];
        let own = keys_in(entry).filter(|(owner, _)| puts.contains(owner));
        self.used.extend(own.map(|(_, key)| key));
        self.hot.insert(entry.position);
        self.found.entries.push(entry.clone());
    }

    fn part(&mut self, entry: &Entry) {
        let is_named = self.names(entry);
        let Some(part) = part_of(entry) else {
            if is_named {
                self.found.entries.push(entry.clone());
            }
            return;
        };
        let whole = (entry.sender, part.of);
        if is_named {
            self.wholes.insert(whole.clone());
        }
        let parts = self.parts.entry(whole.clone()).or_default();
        parts.push(entry.clone());
        if self.wholes.contains(&whole) {
            self.found.entries.append(parts);
        }
    }

    /// Reads an entry of a repeated frame. A repeated request is erased like any other frame of its
    /// sender. The copy of an answer is erased with the answer itself, because its entry names the asker
    /// as the sender.
    fn repeat(&mut self, entry: &Entry) {
        let Ok(frame) = Scanned::of_entry(&entry.text) else {
            return;
        };
        let mut ranges = self.selection.positions.iter();
        let mut agents = self.selection.agents.iter();
        let is_chosen = ranges.any(|range| range.contains(&entry.position))
            || self.heads.contains(&Hash::of(frame.head().as_bytes()))
            || agents.any(|agent| agent == frame.header.agent)
            || (entry.to.is_some() || frame.intent == Intent::REQ) && self.names(entry);
        if is_chosen {
            self.found.entries.push(entry.clone());
        }
    }

    fn control(&mut self, entry: &Entry) {
        let is_checkpoint = Scanned::of_entry(&entry.text)
            .is_ok_and(|frame| frame.header.operation == "checkpoint");
        if !is_checkpoint {
            return;
        }
        let Ok(checkpoint) = Checkpoint::decode(&entry.text) else {
            if !self.hot.is_empty() {
                self.found.entries.push(entry.clone());
            }
            return;
        };
        let draws = !self.hot.is_empty();
        if draws {
            self.found.pass(checkpoint.id());
        }
        self.found.last = Some(checkpoint.id());
        let before = &self.found.checkpoints;
        let merges = checkpoint.merged().is_some_and(|(through, _)| {
            let oldest = before.first();
            oldest.is_some_and(|oldest| *oldest <= through)
        });
        let late = checkpoint.digest().and_then(|digest| digest.late());
        let tells_late = late.is_some_and(|(id, _)| before.contains(&id));
        if draws {
            self.found.checkpoints.insert(checkpoint.id());
        }
        if draws || merges || tells_late {
            self.found.entries.push(entry.clone());
        }
        let left = checkpoint.left();
        let has_left = |at: &u64| left.iter().any(|(from, to)| (from..=to).contains(&at));
        self.hot.retain(|at| !has_left(at));
    }
}

/// Returns the keys of values to which a frame refers, each with the member that has put the value.
fn keys_in(entry: &Entry) -> impl Iterator<Item = (MemberId, String)> {
    let all = references(&entry.text);
    all.filter_map(|key| match Reference::parse(key)?.target {
        Target::Cold(ColdKey::Value { member, number }) => {
            Some((member, format!("k{member}_{number}")))
        }
        _ => None,
    })
}

impl Session {
    /// Returns the fold of a stored side up to the end of its log, without the erased data. The store keeps this
    /// fold as its snapshot from then on. The frames leave hot state. Facts and summaries that may stem from the
    /// frames leave warm state. Values that the frames have set leave the shared state, unless they have changed
    /// since.
    ///
    /// Members have folds of their own, which this function does not change.
    ///
    /// # Errors
    /// When the stored data cannot be read.
    pub fn fold_without(
        options: Options,
        rules: Rules,
        stored: &Stored,
        erased: &Erased,
    ) -> Result<Snapshot, RestoreError> {
        let now = Time::default();
        let snapshot = if stored.host {
            let mut host = Host::folded(options, rules, stored, now)?;
            forget(&mut host.side, erased);
            let numbers = &mut host.gate.numbers;
            for entry in &erased.entries {
                if let Some(wanted) = &mut numbers.summary {
                    wanted.frames.retain(|(at, _)| *at != entry.position);
                }
                if let Some(part) = part_of(entry) {
                    numbers.groups.forget(entry.sender, &part.of);
                }
            }
            // If an erased value counted as missing, a member would send its bytes again.
            numbers.missing.retain(|key, _| !erased.keys.contains(key));
            let ids = host.gate.seen.to_ids();
            host.side.take_snapshot(&host.gate.numbers, ids);
            host.side.batch.get().snapshot.take()
        } else {
            let mut member = Member::restore(options, stored, now)?;
            forget(&mut member.side, erased);
            member.side.take_snapshot(&(), None);
            member.side.batch.get().snapshot.take()
        };
        snapshot.ok_or_else(|| RestoreError::new(stored.last, &"the fold cannot be written"))
    }
}

fn forget(side: &mut Side, erased: &Erased) {
    let state = &mut side.state;
    for entry in &erased.entries {
        state.hot.erase(entry.position);
    }
    for position in erased.folded.keys() {
        state.hot.erase(*position);
    }
    let frames = erased
        .entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Frame);
    let frames = frames
        .map(|entry| &*entry.text)
        .chain(erased.folded.values().map(String::as_str));
    for update in frames.filter_map(|text| StateUpdate::decode(text).ok()) {
        state.shared.erase(&update);
    }
    let mut behind = Erased {
        last: erased.last.filter(|_| erased.are_hot),
        checkpoints: erased.checkpoints.clone(),
        ..Erased::default()
    };
    behind.pass(state.warm.last() + 1);
    state.warm.erase(&behind.checkpoints);
    let values = erased.keys.iter().filter(|key| put_key(key).is_some());
    state.expired.extend(values.cloned());
}

/// Returns the position in the key of a frame that a side has fetched.
fn place_in(key: &str) -> Option<u64> {
    key.strip_prefix('p')?.parse().ok()
}

fn part_of(entry: &Entry) -> Option<Part> {
    if entry.kind != EntryKind::Part {
        return None;
    }
    let frame = Scanned::of_entry(&entry.text).ok()?;
    Part::of(&frame).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::entry::Due;

    fn entry(position: u64, kind: EntryKind, sender: u16, text: &str) -> Entry {
        Entry {
            position,
            at: Time::default(),
            kind,
            sender: MemberId::new(sender).unwrap(),
            to: None,
            mid: Mid::parse(&format!("{sender}{position:09}")),
            sequence: position,
            tokens: 1,
            cut: false,
            due: Due::No,
            text: text.into(),
            hash: None,
        }
    }

    fn checkpoint(position: u64, id: u64, left: &str) -> Entry {
        let text = format!(
            "@hub>sync:checkpoint{{at:1714000000000|covers:{position}|id:ckpt_{id}|left:[{left}]|on:[esc]}}[mid:100000001001,seq:1]"
        );
        entry(position, EntryKind::Control, 100, &text)
    }

    fn frame(position: u64) -> Entry {
        let text = "@a>req:plan{n:1}[mid:101000001001,seq:1]";
        entry(position, EntryKind::Frame, 101, text)
    }

    fn erasing(entries: &[Entry]) -> Erased {
        let mut erasing = Erasing::new(Selection {
            sender: MemberId::new(101),
            ..Selection::default()
        });
        for entry in entries {
            erasing.read(entry);
        }
        erasing.finish(&[])
    }

    #[test]
    fn a_frame_that_was_fetched_goes_with_its_sender_and_with_its_position() {
        let keys = ["p7", "p8", "p9", "k101_1"].map(String::from);
        let fetched = |selection: Selection| {
            let mut erasing = Erasing::new(selection);
            erasing.fetched("p7", "@a>req:plan{n:7}[mid:101000001007,seq:7]");
            erasing.fetched("p8", "@b>req:plan{n:8}[mid:102000001008,seq:8]");
            let put = "@a>sync:put{keys:[]}[mid:101000001009,seq:9]";
            erasing.fetched("p9", put);
            erasing.finish(&keys).keys
        };
        let by_agent = fetched(Selection {
            agents: vec!["a".into()],
            ..Selection::default()
        });
        assert_eq!(by_agent, ["p7".into()].into());
        let by_position = fetched(Selection {
            positions: vec![8..=9],
            ..Selection::default()
        });
        assert_eq!(by_position, ["p8".into()].into());
    }

    /// The log of a member that begins again at a fold lacks the checkpoints before the fold. These checkpoints may
    /// state facts of an erased frame that was hot when the log broke off.
    #[test]
    fn checkpoints_in_a_gap_may_tell_of_what_was_hot_before_it() {
        let first = checkpoint(5, 4, "1");
        let erased = erasing(&[first.clone(), frame(6), checkpoint(90, 7, "6")]);
        assert_eq!(erased.checkpoints, [5, 6, 7].into());
        let erased = erasing(&[first.clone(), checkpoint(90, 7, "6"), frame(91)]);
        assert!(erased.checkpoints.is_empty());
        assert!(erased.are_hot);
        let erased = erasing(&[
            first,
            frame(6),
            checkpoint(7, 5, "6"),
            checkpoint(90, 9, "8"),
        ]);
        assert_eq!(erased.checkpoints, [5].into());
    }
}
