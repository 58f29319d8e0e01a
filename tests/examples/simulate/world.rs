//! The world of one run: a host and its members, each with a store, a link between them, and
//! an observer who sees everything.

mod chains;
mod counts;
mod node;
mod observer;
mod plan;
mod sides;
mod talk;
mod text;
mod verdict;
mod wire;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use accp_runtime::session::{Batch, Event, Inbound, Input, MemberId, Mid, Time};
use accp_runtime::testing::{Faults, Link, Rng};
use accp_runtime::{AgentId, Message};
use accp_store::Store;

pub(crate) use counts::Counts;
pub(crate) use plan::{Plan, Trim};

use node::{Node, Result, SIDE, next_batch, said};
use observer::Observer;

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    /// What happened, step by step, if that was asked for.
    pub(crate) script: Vec<String>,
    pub(crate) verdict: Result,
}

/// The run of a seed.
pub(crate) fn run(seed: u64, trim: &Trim, script: bool) -> Outcome {
    let mut world = World::new(seed, trim, script);
    let verdict = catch_unwind(AssertUnwindSafe(|| world.run()));
    let verdict = verdict.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("it panics: {}", text.unwrap_or_default()))
    });
    world.counts.faulted = world.link.faulted();
    Outcome {
        counts: world.counts,
        script: world.script.unwrap_or_default(),
        verdict,
    }
}

struct World {
    plan: Plan,
    rng: Rng,
    now: Time,
    link: Link,
    /// The host, then the members.
    nodes: Vec<Node>,
    observer: Observer,
    /// What was said, by whom and under which number.
    said: BTreeMap<(usize, u64), Message<'static>>,
    /// The shared keys that were set.
    deltas: BTreeMap<(usize, u64), String>,
    counts: Counts,
    script: Option<Vec<String>>,
}

impl World {
    fn new(seed: u64, trim: &Trim, script: bool) -> Self {
        let mut rng = Rng::new(seed);
        let mut plan = Plan::new(&mut rng);
        plan.trim(trim);
        let nodes: Vec<_> = (0..=plan.members)
            .map(|who| Node::new(who, &plan))
            .collect();
        let mut world = Self {
            link: Link::new(rng.next_u64(), plan.faults),
            observer: Observer::new(&plan),
            rng,
            now: Time::from_secs(1_714_000_000),
            nodes,
            said: BTreeMap::new(),
            deltas: BTreeMap::new(),
            counts: Counts {
                runs: 1,
                skewed: plan.skew.iter().filter(|skew| **skew != 0).count() as u64,
                ..Counts::default()
            },
            script: script.then(Vec::new),
            plan,
        };
        let plan = format!("{:?}", world.plan);
        world.note(|| plan);
        world
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(script) = &mut self.script {
            script.push(format!("{} {}", self.now, line()));
        }
    }

    fn run(&mut self) -> Result {
        self.start(0)?;
        let last = self.plan.members;
        for who in 1..=last - usize::from(self.plan.late) {
            self.start(who)?;
        }
        let mut left = self.plan.sends;
        while left > 0 {
            self.counts.steps += 1;
            if left == self.plan.sends / 2 && self.nodes[last].side.is_none() {
                self.start(last)?;
            }
            if self.rng.per_mille(self.plan.pace) && self.say()? {
                left -= 1;
            }
            self.administer()?;
            self.fail()?;
            let ahead = self.rng.below(400);
            self.advance(Duration::from_millis(ahead))?;
            for who in 0..self.nodes.len() {
                if self.rng.per_mille(600) {
                    self.handle(who)?;
                }
                if self.rng.per_mille(800) {
                    self.flush(who, true)?;
                }
            }
        }
        self.settle()?;
        self.read_back()?;
        self.judge()
    }

    /// Something bad happens, or not.
    fn fail(&mut self) -> Result {
        let any_member = |rng: &mut Rng, members: usize| 1 + rng.below(members as u64) as usize;
        if self.rng.per_mille(self.plan.partitions) {
            let who = any_member(&mut self.rng, self.plan.members);
            let until = self.now + Duration::from_millis(self.rng.below(20_000));
            let id = self.nodes[who].id;
            self.note(|| format!("{id} is cut off until {until}"));
            self.link.partition(id, until);
            self.counts.partitions += 1;
            if self.plan.noticed && self.nodes[who].side.is_some() {
                self.nodes[who].cut_off = Some(until);
                let now = self.nodes[0].clock(self.now);
                self.nodes[0].tell(Input::Disconnected(id), now)?;
            }
        }
        if self.rng.per_mille(self.plan.host_crashes) {
            self.restart(0)?;
        }
        if self.rng.per_mille(self.plan.member_crashes) {
            let who = any_member(&mut self.rng, self.plan.members);
            if self.nodes[who].side.is_some() {
                self.restart(who)?;
            }
        }
        Ok(())
    }

    fn restart(&mut self, who: usize) -> Result {
        if who == 0 {
            self.counts.host_restarts += 1;
        } else {
            self.counts.member_restarts += 1;
        }
        self.start(who)
    }

    /// A side starts from what its store holds.
    fn start(&mut self, who: usize) -> Result {
        self.note(|| format!("{who} starts"));
        self.nodes[who].start(&self.plan, self.now)?;
        self.observer.started(who);
        // Ids that nobody has seen and that are not durable are given again.
        let observer = &self.observer;
        let is_durable = |mid: &Mid| {
            observer.consumed.contains_key(mid) || observer.sides[who].outbox.contains_key(mid)
        };
        self.nodes[who]
            .known
            .retain(|(mid, chain)| is_durable(mid) && is_durable(chain));
        let there = |node: &Node| node.side.is_some();
        for who in 1..self.nodes.len() {
            if there(&self.nodes[who]) {
                self.join(who)?;
            }
        }
        Ok(())
    }

    fn join(&mut self, who: usize) -> Result {
        let (agent, id) = (self.nodes[who].agent, self.nodes[who].id);
        let now = self.nodes[0].clock(self.now);
        let Some(host) = self.nodes[0].host() else {
            return Ok(());
        };
        let agent = AgentId::new(agent).map_err(said)?;
        let joined = host.join(&agent, now).map_err(said)?;
        if joined != id {
            return Err(format!("@{agent} is {id} and joins as {joined}"));
        }
        Ok(())
    }

    /// Time passes, and frames arrive.
    fn advance(&mut self, by: Duration) -> Result {
        self.now = self.now + by;
        let now = self.now;
        while let Some(frame) = self.link.deliver(now) {
            self.note(|| format!("{} -> {}: {}", frame.from, frame.to, frame.text));
            let who = usize::from(frame.to.number() - MemberId::HOST.number());
            let text = frame.text.as_bytes();
            let Some(node) = self.nodes.get_mut(who) else {
                return Err(format!("a frame for {}, who is nobody", frame.to));
            };
            let at = node.clock(now);
            if node.host().is_some() {
                self.observer.heard(frame.from, &frame.text);
            }
            let (from, bytes) = (frame.from, text);
            node.tell(Input::Frame { from, bytes }, at)?;
        }
        for node in &mut self.nodes {
            let at = node.clock(now);
            if node.cut_off.is_some_and(|until| until <= now) {
                node.cut_off = None;
                node.tell(Input::Connected(MemberId::HOST), at)?;
            }
            node.tell(Input::Timeout, at)?;
        }
        Ok(())
    }

    /// Carries out the batches of one side, or crashes on the way.
    fn flush(&mut self, who: usize, may_crash: bool) -> Result {
        let rate = match (may_crash, who) {
            (false, _) => 0,
            (_, 0) => self.plan.host_crashes,
            _ => self.plan.member_crashes,
        };
        for _ in 0..1000 {
            let node = &mut self.nodes[who];
            let now = node.clock(self.now);
            let Some(side) = &mut node.side else {
                return Ok(());
            };
            let Some(batch) = next_batch(side, &mut node.store, now)? else {
                return Ok(());
            };
            if self.rng.per_mille(rate) {
                self.counts.batches_lost += 1;
                self.note(|| format!("{who} loses a batch: {}", in_short(&batch)));
                return self.restart(who);
            }
            self.commit(who, &batch)?;
            let is_cut = self.rng.per_mille(rate);
            let all = batch.sends.len();
            let leaving = if is_cut {
                self.rng.below(all as u64 + 1) as usize
            } else {
                all
            };
            let from = self.nodes[who].id;
            for send in batch.sends.into_iter().take(leaving) {
                self.observer.leaves(who, send.to, &send.text)?;
                self.link.send(self.now, from, send.to, send.text);
            }
            if is_cut {
                self.counts.sends_lost += 1;
                self.note(|| format!("{who} loses {} sends", all - leaving));
                return self.restart(who);
            }
            let cancels = batch
                .entries
                .iter()
                .any(|e| text::intent(&e.text) == "cancel");
            self.deliver(who, batch.inbound, cancels)?;
            // What a snapshot has left out shows when nothing follows it.
            if batch.snapshot.is_some() && rate > 0 && self.rng.per_mille(500) {
                return self.restart(who);
            }
        }
        Err(format!("there is no end to the batches of {who}"))
    }

    /// Makes a batch durable, and lets the observer see it.
    fn commit(&mut self, who: usize, batch: &Batch) -> Result {
        let node = &mut self.nodes[who];
        if let Some(script) = &mut self.script {
            let quiet = |event: &&Event| !matches!(event, Event::OverSoftLimit { .. });
            let events: Vec<_> = batch.events.iter().filter(quiet).collect();
            let what = in_short(batch);
            script.push(format!("{} {who} commits {what}; {events:?}", self.now));
        }
        node.store
            .commit(&[(&SIDE, batch)])
            .map_err(|error| format!("@{} cannot commit: {error}", node.agent))?;
        let snapshots = match who {
            0 => &mut self.counts.host_snapshots,
            _ => &mut self.counts.snapshots,
        };
        *snapshots += u64::from(batch.snapshot.is_some());
        self.observer
            .committed(who, batch, &batch.events, &mut self.counts)?;
        self.judge_context(who, batch)
    }

    /// Frames come to the handlers of a side, which look whether they are to stop.
    fn deliver(&mut self, who: usize, inbound: Vec<Inbound>, cancels: bool) -> Result {
        for inbound in &inbound {
            self.observer.delivered(who, inbound)?;
        }
        let inbox = &mut self.nodes[who].inbox;
        let looking = if cancels { 0 } else { inbox.len() };
        inbox.extend(inbound);
        for inbound in inbox.iter().skip(looking) {
            let fired = self.observer.judge_token(who, inbound)?;
            self.counts.tokens_fired += u64::from(fired);
        }
        Ok(())
    }

    /// The faults end, and everybody has time.
    fn settle(&mut self) -> Result {
        self.link.set_faults(Faults::default());
        self.link.heal();
        self.note(|| "the faults end".into());
        let last = self.plan.members;
        if self.nodes[last].side.is_none() {
            self.start(last)?;
        }
        for node in &mut self.nodes {
            node.cut_off = node.cut_off.map(|_| self.now);
        }
        for _ in 0..2000 {
            self.rest(Duration::from_millis(500))?;
            if self.nodes.iter().all(Node::is_at_rest) && self.link.next_arrival().is_none() {
                return Ok(());
            }
        }
        let busy: Vec<_> = self
            .nodes
            .iter()
            .filter(|node| !node.is_at_rest())
            .collect();
        let busy: Vec<_> = busy.iter().map(|node| node.agent).collect();
        Err(format!("{busy:?} do not come to rest"))
    }

    fn rest(&mut self, step: Duration) -> Result {
        self.advance(step)?;
        for who in 0..self.nodes.len() {
            for _ in 0..20 {
                self.handle(who)?;
            }
            self.flush(who, false)?;
        }
        Ok(())
    }
}

/// A batch, as a script shows it.
fn in_short(batch: &Batch) -> String {
    use accp_runtime::session::OutboxChange;
    use std::fmt::Write as _;

    let mut out = String::new();
    for entry in &batch.entries {
        let (position, kind, text) = (entry.position, entry.kind, &entry.text);
        let _ = write!(out, "{kind:?} {position}={text}, ");
    }
    for change in &batch.outbox {
        let _ = match change {
            OutboxChange::Put(frame) => write!(out, "keeps {}, ", frame.text(0)),
            OutboxChange::Remove(mid) => write!(out, "forgets {mid}, "),
        };
    }
    for cold in &batch.cold {
        let bytes = if cold.bytes.is_some() {
            "the bytes of "
        } else {
            ""
        };
        let _ = write!(out, "{bytes}{}, ", cold.key);
    }
    for position in &batch.handled {
        let _ = write!(out, "{position} is handled, ");
    }
    if let Some(snapshot) = &batch.snapshot {
        let _ = write!(out, "a snapshot at {}, ", snapshot.position);
    }
    for (what, number) in [
        ("outbox from", batch.outbox_sequence),
        ("last put", batch.last_put),
        ("epoch", batch.epoch.map(u64::from)),
    ] {
        if let Some(number) = number {
            let _ = write!(out, "{what} {number}, ");
        }
    }
    let _ = write!(out, "then {} sends", batch.sends.len());
    out
}
