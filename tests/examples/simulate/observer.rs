//! An observer who sees everything: the log as the host has made it durable, and the checks of each
//! step of the log.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::Hash;
use accp_runtime::session::{Event, MemberId, Mid, Scope, Time};
use accp_session::{Batch, Entry, EntryKind, GroupLimits};

use super::authority::Authority;
use super::bounds::Bounds;
use super::chains::Chains;
use super::content::Content;
use super::counts::Counts;
use super::draft::Plain;
use super::names::Names;
use super::node::Result;
use super::payments::Payments;
use super::pieces::Pieces;
use super::plan::{RunPlan, USUAL};
use super::refusals::Codes;
use super::rights::Rights;
use super::seen::Seen;
use super::text::{field, intent, is_a, maker, mid_in, number_in};
use super::timeline::Timeline;
use super::wishes::Serving;

/// The most tokens of a frame (draft section 3.4).
const FRAME_TOKENS: usize = 240;

#[allow(clippy::struct_excessive_bools)] // independent facts
#[derive(Debug)]
pub(crate) struct Observer {
    pub(super) scope: Scope,
    /// The smallest number of entries between two snapshots.
    pub(super) snapshots: u64,
    /// The entries that the host has committed. The first entry has position 1.
    pub(super) log: Vec<Entry>,
    /// The position at which each id was consumed.
    pub(super) consumed: BTreeMap<Mid, u64>,
    pub(super) refused: BTreeSet<(MemberId, Mid)>,
    pub(super) codes: Codes,
    /// The version of the shared state at each refusal.
    pub(super) versions: BTreeMap<(MemberId, Mid), u64>,
    /// Frames that left an outbox without being consumed.
    pub(super) withdrawn: BTreeSet<Mid>,
    /// Members that have left, each with the position of the entry that says so.
    pub(super) left: BTreeMap<MemberId, u64>,
    /// Whether the log has a key.
    pub(super) is_keyed: bool,
    /// The hostile member.
    pub(super) enemy: Option<MemberId>,
    /// Whether the hostile member sends so much that the host forgets the oldest chains (docs/limits.md).
    pub(super) is_flooded: bool,
    /// Frames that came in parts and are complete.
    pub(super) wholes: BTreeSet<Mid>,
    /// Frames in parts whose end was reported.
    pub(super) ended: BTreeSet<Mid>,
    pub(super) senders: BTreeMap<MemberId, Sender>,
    pub(super) shared: u64,
    pub(super) chains: Chains,
    pub(super) expired: BTreeSet<String>,
    /// The sides: first the host, then the members.
    pub(super) sides: Vec<Seen>,
    /// Members whose ping the host has not answered yet.
    pub(super) asked: BTreeSet<MemberId>,
    pub(super) timeline: Timeline,
    pub(super) rights: Rights,
    pub(super) authority: Authority,
    pub(super) bounds: Bounds,
    pub(super) content: Content,
    pub(super) serving: Serving,
    names: Names,
    /// The position of the last accepted frame, and the position of the request that this frame answers.
    pub(super) newest: (u64, Option<u64>),
    pub(super) now: Time,
    /// Members of which the host has heard nothing since it sent them an entry: the time at which the host sent the
    /// first such entry, and how many times the host has sent each entry.
    pub(super) silent: BTreeMap<MemberId, (Time, BTreeMap<u64, u32>)>,
    /// How many times the host has told the sender of each frame which number the frame must take. `None` unless the
    /// link is whole and the hostile member is still in the session.
    pub(super) told: Option<BTreeMap<Mid, usize>>,
    /// The most seconds by which two clocks may differ.
    pub(super) skew: i64,
    /// Whether no clock is set during the run.
    pub(super) is_steady: bool,
    /// Whether the store of the host has discarded entries.
    pub(crate) has_discarded: bool,
    /// The positions that have left hot state.
    pub(super) gone: Vec<(u64, u64)>,
    /// Frames of which some parts have come and other parts may follow, and the time of the last part.
    pub(super) parts: BTreeMap<(MemberId, Mid), Time>,
    /// The most frames in parts that a member may have under way.
    groups: GroupLimits,
    /// The ids of the relayed entries.
    pub(super) relayed: BTreeSet<Mid>,
    pub(super) payments: Payments,
    pub(super) pieces: Pieces,
    /// The keys of the values that were put, each with its digest.
    pub(super) values: BTreeSet<(String, Hash)>,
    /// The lengths of the values whose bytes the host has.
    pub(super) bytes: BTreeMap<String, usize>,
    /// The keys of the values whose bytes came with the last batch.
    pub(super) fresh: BTreeSet<String>,
}

/// Facts from the log about one sender.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    /// The last `seq` that the sender used.
    pub(super) sequence: u64,
    /// The highest number that the sender put into a frame. `all` has every number that the sender put into frames.
    said: u64,
    all: BTreeSet<u64>,
    /// The numbers of the values that the sender has put.
    pub(super) puts: BTreeSet<u64>,
    pub(super) joined: u64,
}

impl Observer {
    pub(crate) fn new(plan: &RunPlan) -> Self {
        let side = |who| {
            let mut seen = Seen::new(who, who > 0 || !plan.relays_only);
            seen.plain = plan.is_plain(who).then(Plain::default);
            seen
        };
        Self {
            scope: plan.scope,
            snapshots: plan.snapshots,
            log: Vec::new(),
            consumed: BTreeMap::new(),
            refused: BTreeSet::new(),
            codes: Codes::default(),
            versions: BTreeMap::new(),
            withdrawn: BTreeSet::new(),
            left: BTreeMap::new(),
            is_keyed: !plan.keyless,
            enemy: None,
            is_flooded: plan.flood > USUAL,
            wholes: BTreeSet::new(),
            ended: BTreeSet::new(),
            senders: BTreeMap::new(),
            shared: 0,
            chains: Chains::default(),
            expired: BTreeSet::new(),
            sides: (0..=plan.members).map(side).collect(),
            asked: BTreeSet::new(),
            timeline: Timeline::default(),
            rights: Rights::default(),
            authority: Authority::default(),
            bounds: Bounds::new(plan),
            content: Content::default(),
            serving: Serving::default(),
            names: Names::default(),
            newest: (0, None),
            relayed: BTreeSet::new(),
            payments: Payments::new(plan),
            pieces: Pieces::default(),
            values: BTreeSet::new(),
            bytes: BTreeMap::new(),
            fresh: BTreeSet::new(),
            parts: BTreeMap::new(),
            groups: plan.group_limits(),
            gone: Vec::new(),
            told: None,
            skew: plan.tolerance as i64,
            is_steady: plan.clock_steps == 0,
            has_discarded: false,
            now: Time::from_secs(0),
            silent: BTreeMap::new(),
        }
    }

    /// Returns the keys of all values that have not expired.
    pub(crate) fn keys(&self) -> Vec<String> {
        let keys = self.senders.iter();
        let keys =
            keys.flat_map(|(id, sender)| sender.puts.iter().map(move |n| format!("k{id}_{n}")));
        keys.filter(|key| !self.expired.contains(key)).collect()
    }

    /// Checks a batch that a side has made durable.
    pub(crate) fn committed(
        &mut self,
        who: usize,
        batch: &Batch,
        events: &[Event],
        counts: &mut Counts,
    ) -> Result {
        self.judge_truths(who, batch, counts)?;
        self.sides[who].folded = self.folded(who, batch);
        if who == 0 {
            self.note_values(batch);
            self.judge_errands(batch)?;
            self.bounds.supplies(batch);
            self.hears_of_bytes(batch);
            self.note_what_is_gone(events);
            let back = Timeline::begin(events);
            for entry in &batch.entries {
                if back.contains(&entry.position) {
                    self.came_back(entry, counts)?;
                } else {
                    self.decided(entry, counts)?;
                }
            }
            self.judge_rejections(batch)?;
            self.judge_owners(batch)?;
            self.judge_bytes(batch)?;
            counts.expired += batch.expired.len() as u64;
            if !batch.expired.iter().all(|key| self.expired.contains(key)) {
                return Err(format!("{:?} expire without an entry", batch.expired));
            }
        }
        self.kept(who, batch, events, counts)
    }

    /// Returns the next sequence number of a sender.
    pub(super) fn next_sequence(&self, sender: MemberId) -> u64 {
        1 + match self.scope {
            Scope::Shared => self.shared,
            Scope::Sender => self
                .senders
                .get(&sender)
                .map_or(0, |sender| sender.sequence),
        }
    }

    /// Checks an entry that the host has given a position.
    pub(super) fn decided(&mut self, entry: &Entry, counts: &mut Counts) -> Result {
        let (position, mid, sender) = (entry.position, &entry.mid, entry.sender);
        if position != self.log.len() as u64 + 1 {
            return Err(format!("the log goes on at {position}"));
        }
        self.names.judge(entry)?;
        self.judge_authority(entry)?;
        self.judge_bounds_of(entry)?;
        self.judge_envelope(entry)?;
        self.judge_hello(entry)?;
        if let EntryKind::Refused(code) = entry.kind {
            counts.refused += 1;
            counts.contradictions += u64::from(self.contradicts(entry));
            if self.is_judged(code, sender) && !self.is_reason(code, entry) {
                return Err(format!("{mid} is refused for no reason: {code}"));
            }
            if self.consumed.contains_key(mid) {
                return Err(format!("{mid} is refused after it was consumed"));
            }
            self.judge_code(entry, code)?;
            if let Some(kind) = self.forgery(entry) {
                counts.kinds.count(kind.into());
            }
            self.refused.insert((sender, mid.clone()));
            // The first part may still be under way. When it arrives, the host may refuse it, too.
            let of = mid_in(&entry.text, "of").filter(|of| !self.consumed.contains_key(of));
            self.refused.extend(of.map(|of| (sender, of)));
            self.versions
                .insert((sender, mid.clone()), self.rights.version);
        } else if entry.sequence > 0 {
            self.consumed_by(entry)?;
        }
        if Some(sender) == self.enemy && !matches!(entry.kind, EntryKind::Refused(_)) {
            self.judge_enemy(entry)?;
        }
        let is_late = sender != MemberId::HOST && is_late(entry, self.skew);
        // An announcement belongs to no chain. The host sends the copy of an answer even if its chain is cancelled.
        let is_put = is_a(&entry.text, ">sync:put{");
        let is_copy = entry.kind == EntryKind::Repeat && entry.sequence == 0;
        let is_cancelled = !(self.is_flooded || is_put || is_copy)
            && self.chains.is_cancelled(&entry.text, position, false);
        if self.is_handed_on(entry)? {
            counts.handed_on += 1;
            return Ok(());
        }
        self.is_new(entry)?;
        self.pays(entry, counts)?;
        match entry.kind {
            EntryKind::Frame | EntryKind::Part | EntryKind::Repeat if is_late => {
                return Err(format!("{mid} is accepted and had expired"));
            }
            EntryKind::Frame | EntryKind::Part | EntryKind::Repeat if is_cancelled => {
                return Err(format!("{mid} is accepted and its chain was cancelled"));
            }
            EntryKind::Frame => {
                if entry.sequence == 0 {
                    self.wholes.insert(mid.clone());
                }
                counts.frames += 1;
                self.accepted(entry, counts)?;
            }
            EntryKind::Part => {
                counts.parts += 1;
                // Only sides that count tokens send parts. The counter of the simulation counts
                // four bytes as a token.
                let is_long = entry.text.len().div_ceil(4) > FRAME_TOKENS;
                if is_long && Some(sender) != self.enemy {
                    return Err(format!("{mid} is over the limit of tokens: {}", entry.text));
                }
            }
            EntryKind::Dropped => {
                counts.dropped += 1;
                if !is_late && !self.chains.may_be_cancelled(&entry.text) {
                    return Err(format!("{mid} is dropped for no reason"));
                }
            }
            EntryKind::Control => self.controlled(entry, counts)?,
            _ if is_copy => self.owes(sender, mid),
            _ => {}
        }
        self.gathers(entry)?;
        self.log.push(entry.clone());
        Ok(())
    }

    /// Notes which parts the host waits for, and checks that a member does not have too many frames in parts under
    /// way.
    fn gathers(&mut self, entry: &Entry) -> Result {
        let of = mid_in(&entry.text, "of").filter(|_| entry.text.contains(",pt:"));
        let whole = Some(&entry.mid).filter(|_| entry.kind.is_relayed());
        let Some(of) = of.or_else(|| whole.cloned()) else {
            return Ok(());
        };
        let (sender, before) = (entry.sender, self.parts.remove(&(entry.sender, of.clone())));
        if entry.kind != EntryKind::Part {
            return Ok(());
        }
        let is_fresh = |at: &Time| *at + self.groups.age > entry.at;
        let others = self
            .parts
            .iter()
            .filter(|((other, _), at)| *other == sender && is_fresh(at));
        if before.is_none() && others.count() >= self.groups.groups {
            return Err(format!("{} is one frame in parts too many", entry.mid));
        }
        self.parts.insert((sender, of), entry.at);
        Ok(())
    }

    /// Checks that two relayed entries never have the same id.
    pub(super) fn is_new(&mut self, entry: &Entry) -> Result {
        let is_relayed = entry.kind.is_relayed() || entry.kind == EntryKind::Lost;
        if is_relayed && !self.relayed.insert(entry.mid.clone()) {
            return Err(format!("two entries of the log have the id {}", entry.mid));
        }
        Ok(())
    }

    /// Returns whether a member knows that it has joined.
    pub(super) fn has_joined(&self, who: usize) -> bool {
        let side = &self.sides[who];
        let joined = self.senders.get(&side.id).map_or(0, |sender| sender.joined);
        side.last > joined
    }

    /// Checks that the hostile member uses no id and cancels no chain of another member.
    fn judge_enemy(&self, entry: &Entry) -> Result {
        let is_another_s = |id: &Mid| {
            let mut members = self.sides.iter().map(|side| Some(side.id));
            members.any(|member| member == maker(id))
        };
        let cancels = entry.kind == EntryKind::Frame && intent(&entry.text) == "cancel";
        let chain = mid_in(&entry.text, "cid").filter(|_| cancels);
        if is_another_s(&entry.mid) || chain.as_ref().is_some_and(is_another_s) {
            return Err(format!(
                "an enemy takes what belongs to another: {}",
                entry.text
            ));
        }
        Ok(())
    }

    /// Checks a frame that the host has consumed: the frame takes its sequence number and uses up its id.
    pub(super) fn consumed_by(&mut self, entry: &Entry) -> Result {
        let (mid, sender) = (&entry.mid, entry.sender);
        if let Some(before) = self.consumed.insert(mid.clone(), entry.position) {
            return Err(format!("{mid} is consumed at {before} and again"));
        }
        // The host remembers a limited number of refusals. The hostile member may have more, so this check leaves
        // the hostile member out.
        let is_honest = Some(sender) != self.enemy;
        if is_honest && self.refused.contains(&(sender, mid.clone())) {
            return Err(format!("{mid} was refused and is consumed"));
        }
        if self.withdrawn.contains(mid)
            && !(self.is_plain(sender) && entry.kind == EntryKind::Dropped)
        {
            return Err(format!("{mid} was given up by its sender and is consumed"));
        }
        let next = self.next_sequence(sender);
        // A host that has lost part of its log may lack frames that it had dropped, so a frame may skip numbers.
        let has_lost = self.timeline.has_lost() || Some(sender) == self.enemy;
        let may_jump = has_lost && entry.sequence > next;
        if entry.sequence != next && !may_jump {
            return Err(format!(
                "{mid} takes seq {}, and {next} is next",
                entry.sequence
            ));
        }
        self.shared = entry.sequence;
        self.senders.entry(sender).or_default().sequence = entry.sequence;
        Ok(())
    }

    pub(super) fn accepted(&mut self, entry: &Entry, counts: &mut Counts) -> Result {
        let text = &entry.text;
        if intent(text) == "sync" {
            counts.deltas += 1;
        }
        if text.contains("schema:CH}[") && !text.contains("content:") {
            return Err(format!("{} lacks what its schema requires", entry.mid));
        }
        let sender = self.senders.entry(entry.sender).or_default();
        if let Some(n) = field(text, "n") {
            // A member with an older copy of its store sends some frames again, which is allowed.
            let is_early = self.timeline.was_put_back(entry.sender);
            let was_renamed = self.timeline.renamed.contains(&(entry.sender, n));
            if n <= sender.said && !is_early || !sender.all.insert(n) && !was_renamed {
                let (id, said) = (entry.sender, sender.said);
                return Err(format!("{id} has said {n} after {said}"));
            }
            sender.said = sender.said.max(n);
        }
        if Some(entry.sender) != self.enemy || !self.is_flooded {
            self.judge_rights(entry)?;
        }
        self.note_rights(entry);
        self.judge_answer(entry)?;
        self.content.tells(entry);
        self.goes_on(entry)?;
        self.newest = (
            entry.position,
            self.chains.parent(text).filter(|_| !self.is_flooded),
        );
        if !self.is_flooded && self.has_too_many_requests(text) {
            return Err(format!("{} is a request too many in its chain", entry.mid));
        }
        self.chains.addresses.judge(entry)?;
        let may_all =
            entry.sender == MemberId::HOST || self.rights.supervisors.contains(&entry.sender);
        if !may_all && !self.is_flooded && !self.chains.may_answer(text, entry.sender) {
            return Err(format!("{} answers for another: {text}", entry.mid));
        }
        self.chains.apply(entry);
        Ok(())
    }
}

/// Returns whether a frame arrived after it had expired (draft section 3.7, item 5).
pub(super) fn is_late(entry: &Entry, skew: i64) -> bool {
    let ttl: i64 = number_in(&entry.text, "ttl").unwrap_or_default();
    let ts: i64 = number_in(&entry.text, "ts").unwrap_or_default();
    ttl > 0 && ts.saturating_add(ttl) < entry.at.as_secs() - skew
}
