//! One side, as an observer knows it from the side's durable state.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use accp_runtime::session::{MemberId, Mid, Time};
use accp_session::{Batch, Entry, EntryKind, OutboxChange, Outgoing, Snapshot};

use super::draft::Plain;
use super::node::Result;
use super::text::{field, intent};
use super::waiting::Fates;

/// One side: the host or a member.
#[allow(clippy::struct_excessive_bools)] // independent facts
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(super) id: MemberId,
    /// Whether the host has answered a hello of the side since the side's last start.
    pub(super) is_met: bool,
    /// Whether the side handles frames.
    handles: bool,
    /// Positions after which the side's log may begin: where the member has joined, or where it has joined again
    /// before its log began. Empty once the log has begun.
    starts: Vec<u64>,
    /// The last position of the side's log.
    pub(super) last: u64,
    /// The bytes of the text of each entry of the side's log.
    pub(super) held: BTreeMap<u64, u64>,
    /// The last position that a fold of the host may cover, with which the side began. The side has the effects of
    /// these entries before it has the entries.
    pub(super) folded: u64,
    /// The last position that the side's snapshot covers.
    pub(super) covered: u64,
    /// The number of entries and of bytes in the log since the last snapshot or start. `snapshot` is the size of
    /// the last snapshot.
    since: (u64, u64),
    snapshot: u64,
    /// The positions that wait to be handled.
    pub(super) due: BTreeSet<u64>,
    /// Positions of requests that another member has now.
    taken: BTreeSet<u64>,
    /// When the side took each frame that waits for a handler.
    pub(super) came: BTreeMap<u64, Time>,
    /// All positions that handlers of the side have ever got.
    pub(super) handed: BTreeSet<u64>,
    /// Whether the side has ever started again.
    pub(super) has_started: bool,
    /// The last position that was delivered since the side started.
    pub(super) told: u64,
    pub(super) outbox: BTreeMap<Mid, Outgoing>,
    pub(super) fates: Fates,
    /// Whether a frame has left the outbox before an earlier frame that the host has consumed. Then the side may
    /// have wrong numbers, until the host corrects them.
    pub(super) is_unsure: bool,
    /// The ids that the side has used.
    pub(super) used: BTreeSet<Mid>,
    /// The positions that the side's handlers have finished but not committed, each with the number
    /// of replies.
    pub(super) answers: BTreeMap<u64, RangeInclusive<usize>>,
    /// The additional facts about a member that speaks the draft alone; `None` for other sides.
    pub(super) plain: Option<Plain>,
}

impl Seen {
    pub(super) fn new(who: usize, handles: bool) -> Self {
        Self {
            id: MemberId::new(100 + who as u16).unwrap_or(MemberId::HOST),
            is_met: false,
            handles,
            starts: Vec::new(),
            last: 0,
            held: BTreeMap::new(),
            folded: 0,
            covered: 0,
            since: (0, 0),
            snapshot: 0,
            due: BTreeSet::new(),
            taken: BTreeSet::new(),
            came: BTreeMap::new(),
            handed: BTreeSet::new(),
            has_started: false,
            told: 0,
            outbox: BTreeMap::new(),
            fates: Fates::new(),
            is_unsure: false,
            used: BTreeSet::new(),
            answers: BTreeMap::new(),
            plain: None,
        }
    }

    /// Notes that the side joins at a position, perhaps again.
    pub(super) fn joins(&mut self, position: u64) {
        if let Some(plain) = &mut self.plain {
            return plain.joins(position);
        }
        if self.last == self.starts.last().copied().unwrap_or_default() {
            self.last = position;
            self.starts.push(position);
        }
    }

    /// Notes that the host's log ends at an earlier position now. The side has joined there at `joined`, if it has
    /// joined at all.
    pub(super) fn host_goes_back(&mut self, end: u64, joined: Option<u64>) {
        if self.starts.last() != Some(&self.last) {
            return;
        }
        self.starts.retain(|start| *start <= end);
        if let Some(joined) = joined.filter(|joined| !self.starts.contains(joined)) {
            self.starts.push(joined);
        }
        self.last = self.starts.last().copied().unwrap_or_default();
    }

    /// Returns the positions after which the next entry of the side may come.
    pub(super) fn lasts(&self) -> &[u64] {
        match self.starts.last() {
            Some(last) if *last == self.last => &self.starts,
            _ => std::slice::from_ref(&self.last),
        }
    }

    /// Takes note of entries that the host does not have any more and the side never got.
    pub(super) fn missed(&mut self, gap: &RangeInclusive<u64>) -> Result {
        let (id, last) = (self.id, self.last);
        let follows = self.lasts().iter().any(|last| *gap.start() == last + 1);
        if !follows || gap.is_empty() {
            return Err(format!("{id} is at {last} and has missed {gap:?}"));
        }
        self.last = *gap.end();
        Ok(())
    }

    /// Takes note of an entry of the side's log. For a request that is handed on, `given` is the member that had the
    /// request before, with the positions at which this member got it.
    pub(super) fn took(&mut self, entry: &Entry, given: Option<(MemberId, Vec<u64>)>) -> Result {
        let id = self.id;
        let given = given.filter(|(to, _)| *to == id);
        let mut given = given.into_iter().flat_map(|(_, all)| all);
        let waits = given.find(|at| self.due.contains(at));
        let is_due = match entry.kind {
            EntryKind::Frame => entry.to.map_or(entry.sender != id, |to| to == id),
            // A request that is handed on does not wait twice at a side. The member that had the request before
            // loses the request.
            EntryKind::Repeat if entry.to.is_some() => {
                let is_mine = entry.to == Some(id);
                if let Some(at) = waits.filter(|_| !is_mine) {
                    self.taken.insert(at);
                }
                // The handler may have finished before the request came again, or after.
                let has_ended = waits.is_some_and(|at| self.answers.contains_key(&at));
                is_mine && (waits.is_none() || has_ended && entry.is_due())
            }
            // The copy of an answer is for the side that has asked again.
            EntryKind::Repeat => entry.sender == id && intent(&entry.text) != "req",
            _ => false,
        };
        self.notes(entry, is_due && self.handles)
    }

    /// Takes note of an entry of the side's log, and checks whether it waits for a handler.
    pub(super) fn notes(&mut self, entry: &Entry, is_due: bool) -> Result {
        let (id, position) = (self.id, entry.position);
        self.last = position;
        self.held.insert(position, entry.text.len() as u64);
        self.starts.clear();
        self.since.0 += 1;
        self.since.1 += entry.text.len() as u64;
        if entry.is_due() != is_due {
            return Err(format!("{position} waits for {id}: {:?}", entry.due));
        }
        if is_due {
            self.due.insert(position);
            self.came.insert(position, entry.at);
        }
        Ok(())
    }

    /// Notes that the side starts again, and resets its counts.
    pub(super) fn starts_again(&mut self) {
        (self.told, self.since, self.is_met) = (0, (0, 0), false);
        self.has_started = true;
        self.answers.clear();
        self.fates.retain(|_, is_part| !*is_part);
    }

    /// Takes note of a snapshot, if there is one, and checks that the next snapshot is not long overdue.
    pub(super) fn snapped(&mut self, snapshot: Option<&Snapshot>, every: u64) -> Result {
        if let Some(snapshot) = snapshot {
            (self.covered, self.since) = (snapshot.position, (0, 0));
            self.snapshot = snapshot.text.len() as u64;
        }
        let (entries, bytes) = self.since;
        if entries > 2 * every + 200 && bytes > 2 * self.snapshot {
            return Err(format!("{} has {entries} entries and no snapshot", self.id));
        }
        Ok(())
    }

    /// Checks that the mark of a handled frame and the replies to this frame are in the same batch.
    pub(super) fn handled(
        &mut self,
        batch: &Batch,
        renamed: &BTreeSet<&Mid>,
        back: &RangeInclusive<u64>,
    ) -> Result {
        let id = self.id;
        let kept = batch.outbox.iter().filter_map(|change| match change {
            OutboxChange::Put(frame) if !renamed.contains(&frame.mid) => Some(&*frame.head),
            _ => None,
        });
        let is_said = |e: &&Entry| e.sender == MemberId::HOST && e.kind == EntryKind::Frame;
        let said = batch.entries.iter().filter(is_said);
        // The entries that the host recovers from a member are not new frames.
        let said = said.filter(|e| id == MemberId::HOST && !back.contains(&e.position));
        let heads = kept.chain(said.map(|entry| &*entry.text));
        let mut replies: BTreeMap<u64, usize> = BTreeMap::new();
        for position in heads.filter_map(|head| field(head, "re")) {
            *replies.entry(position).or_default() += 1;
        }
        for position in &batch.handled {
            if !self.due.remove(position) {
                return Err(format!("{id} has handled {position}, which did not wait"));
            }
            if self.taken.remove(position) {
                self.answers.remove(position);
                continue;
            }
            let wanted = self.answers.remove(position);
            let sent = replies.remove(position).unwrap_or_default();
            if !wanted.as_ref().is_some_and(|wanted| wanted.contains(&sent)) {
                let text = format!("{id} marks {position} with {sent} replies of {wanted:?}");
                return Err(text);
            }
        }
        for position in &batch.lapsed {
            if !self.due.remove(position) {
                return Err(format!("{position} lapses at {id}, and did not wait"));
            }
            let waited = self.answers.remove(position).is_some();
            if !self.taken.remove(position) && !waited {
                return Err(format!("{position} lapses at {id}, and is not over"));
            }
        }
        match replies.keys().next() {
            Some(position) => Err(format!("{id} replies to {position} and does not mark it")),
            None => Ok(()),
        }
    }
}
