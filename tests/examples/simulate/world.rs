//! The world of one run: a host and its members, each with a store, a link between them, and
//! what an observer knows who sees everything.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use accp_runtime::session::{
    Batch, Entry, EntryKind, Event, Host, Inbound, Member, MemberId, Mid, Options, Outbound,
    OutboxChange, Read, Rules, Scope, Session, Time,
};
use accp_runtime::testing::{Faulted, Link, Rng};
use accp_runtime::{AgentId, Map, Message, Registry, TokenCounter, Value};
use accp_store::{MemoryStore, Store};

use crate::plan::Plan;

static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::standard()));
const SESSION: &str = "s";

/// What was counted over all runs.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    runs: u64,
    frames: u64,
    fewest: Option<u64>,
    steps: u64,
    faulted: Faulted,
    host_crashes: u64,
    member_crashes: u64,
    batches_lost: u64,
    sends_lost: u64,
    partitions: u64,
    skewed: u64,
    dropped: u64,
    refused: u64,
    cancelled: u64,
    values: u64,
    handled: u64,
    snapshots: u64,
    checkpoints: u64,
    parts: u64,
    deltas: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            runs,
            frames,
            fewest,
            steps,
            faulted,
            host_crashes,
            member_crashes,
            batches_lost,
            sends_lost,
            partitions,
            skewed,
            dropped,
            refused,
            cancelled,
            values,
            handled,
            snapshots,
            checkpoints,
            parts,
            deltas,
        } = other;
        self.checkpoints += checkpoints;
        self.parts += parts;
        self.deltas += deltas;
        self.runs += runs;
        self.frames += frames;
        self.fewest = [self.fewest, *fewest].into_iter().flatten().min();
        self.steps += steps;
        self.faulted.sent += faulted.sent;
        self.faulted.delivered += faulted.delivered;
        self.faulted.lost += faulted.lost;
        self.faulted.duplicated += faulted.duplicated;
        self.faulted.delayed += faulted.delayed;
        self.faulted.reordered += faulted.reordered;
        self.faulted.partitioned += faulted.partitioned;
        self.host_crashes += host_crashes;
        self.member_crashes += member_crashes;
        self.batches_lost += batches_lost;
        self.sends_lost += sends_lost;
        self.partitions += partitions;
        self.skewed += skewed;
        self.dropped += dropped;
        self.refused += refused;
        self.cancelled += cancelled;
        self.values += values;
        self.handled += handled;
        self.snapshots += snapshots;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Faulted {
            sent,
            delivered,
            lost,
            duplicated,
            delayed,
            reordered,
            partitioned,
            ..
        } = self.faulted;
        let rows = [
            ("runs", self.runs),
            ("frames accepted", self.frames),
            ("  fewest in a run", self.fewest.unwrap_or_default()),
            ("frames handled", self.handled),
            ("texts on the link", sent),
            ("  delivered", delivered),
            ("  lost", lost),
            ("  duplicated", duplicated),
            ("  delayed", delayed),
            ("  out of order", reordered),
            ("  kept by a partition", partitioned),
            ("partitions", self.partitions),
            ("clocks out of step", self.skewed),
            ("host restarts", self.host_crashes),
            ("member restarts", self.member_crashes),
            ("  batches lost", self.batches_lost),
            ("  sends lost", self.sends_lost),
            ("dropped silently", self.dropped),
            ("refused", self.refused),
            ("cancelled", self.cancelled),
            ("values put", self.values),
            ("snapshots", self.snapshots),
            ("checkpoints", self.checkpoints),
            ("parts", self.parts),
            ("state deltas", self.deltas),
            ("steps", self.steps),
        ];
        for (name, count) in rows {
            writeln!(f, "{name:<24}{count:>14}")?;
        }
        Ok(())
    }
}

/// One side, which may be down.
#[derive(Debug)]
struct Node<S> {
    id: MemberId,
    agent: &'static str,
    store: MemoryStore,
    session: Option<S>,
    /// Milliseconds that its clock is ahead.
    skew: i64,
    /// What its handlers have been given and not done.
    inbox: Vec<Inbound>,
    /// The number in its next frame.
    next: u64,
    seen: Seen,
}

/// What the observer knows of one side, by what is durable there.
#[derive(Debug, Default)]
struct Seen {
    handled: BTreeMap<u64, u32>,
    /// The numbers that its outbox has held, or a host's log.
    sent: BTreeSet<u64>,
    acknowledged: Vec<Mid>,
    refused: BTreeSet<u64>,
}

const AGENTS: [&str; 6] = ["hub", "a1", "a2", "a3", "a4", "a5"];

pub(crate) struct World {
    plan: Plan,
    rng: Rng,
    now: Time,
    link: Link,
    host: Node<Session<Host>>,
    members: Vec<Node<Session<Member>>>,
    counts: Counts,
    script: Option<Vec<String>>,
    /// The requests that may be cancelled.
    requests: Vec<(usize, Mid)>,
}

type Result<T = ()> = std::result::Result<T, String>;

/// Four characters a token: what matters here is that everybody counts alike.
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "quarters"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }
}

fn options(agent: &'static str, counted: bool) -> Options {
    let agent = AgentId::new(agent).unwrap_or_else(|error| unreachable!("{error}"));
    let mut options = Options::new(SESSION, agent, Arc::clone(&REGISTRY));
    if counted {
        options.counter = Some(Arc::new(Quarters));
    }
    options.outbox = 40;
    options.backlog = 200;
    options
}

fn rules(scope: Scope) -> Rules {
    Rules {
        scope,
        ..Rules::default()
    }
}

/// What the observer reads of a frame: whose it is and its number.
fn number(text: &str) -> Option<u64> {
    let at = text.find("{n:").or_else(|| text.find("|n:"))?;
    let digits = text[at + 3..].split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

impl World {
    pub(crate) fn new(seed: u64, script: bool) -> Self {
        let mut rng = Rng::new(seed);
        let plan = Plan::new(&mut rng);
        let node = |index: usize, skew| (MemberId::new(100 + index as u16), AGENTS[index], skew);
        let now = Time::from_secs(1_714_000_000);
        let (id, agent, skew) = node(0, 0);
        let host = Node {
            id: id.unwrap_or(MemberId::HOST),
            agent,
            store: MemoryStore::new(),
            session: None,
            skew,
            inbox: Vec::new(),
            next: 1,
            seen: Seen::default(),
        };
        let members = (1..=plan.members)
            .map(|index| {
                let (id, agent, skew) = node(index, plan.skew[index - 1]);
                Node {
                    id: id.unwrap_or(MemberId::HOST),
                    agent,
                    store: MemoryStore::new(),
                    session: None,
                    skew,
                    inbox: Vec::new(),
                    next: 1,
                    seen: Seen::default(),
                }
            })
            .collect();
        let skewed = plan.skew.iter().filter(|skew| **skew != 0).count() as u64;
        let mut world = Self {
            link: Link::new(rng.next_u64(), plan.faults),
            plan,
            rng,
            now,
            host,
            members,
            counts: Counts {
                runs: 1,
                skewed,
                ..Counts::default()
            },
            script: script.then(Vec::new),
            requests: Vec::new(),
        };
        let plan = format!("{:?}", world.plan);
        world.note(|| plan);
        world
    }

    pub(crate) fn script(&self) -> &[String] {
        self.script.as_deref().unwrap_or_default()
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        counts.add(&self.counts);
        counts.faulted = self.link.faulted();
        counts
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(script) = &mut self.script {
            script.push(format!("{} {}", self.now, line()));
        }
    }

    fn time_at(&self, skew: i64) -> Time {
        Time::from_millis(self.now.as_millis() + skew)
    }

    pub(crate) fn run(&mut self) -> Result {
        self.start_host()?;
        let present = self.plan.members - usize::from(self.plan.late);
        for index in 0..present {
            self.start_member(index)?;
        }
        let mut left = self.plan.sends;
        let half = left / 2;
        while left > 0 {
            self.counts.steps += 1;
            if self.plan.late
                && left == half
                && self
                    .members
                    .last()
                    .is_some_and(|m| m.session.is_none() && m.next == 1)
            {
                self.start_member(self.plan.members - 1)?;
            }
            if self.rng.per_mille(300) && self.say()? {
                left -= 1;
            }
            self.maybe_fail()?;
            self.step()?;
        }
        self.settle()?;
        self.judge()
    }

    /// Something bad happens, or not.
    fn maybe_fail(&mut self) -> Result {
        if self.rng.per_mille(self.plan.partitions) {
            let index = self.rng.below(self.members.len() as u64) as usize;
            let until = self.now + Duration::from_millis(self.rng.below(20_000));
            let id = self.members[index].id;
            self.note(|| format!("{id} is cut off until {until}"));
            self.link.partition(id, until);
            self.counts.partitions += 1;
        }
        if self.rng.per_mille(self.plan.host_crashes) {
            self.note(|| "the host restarts".into());
            self.counts.host_crashes += 1;
            self.start_host()?;
        }
        if self.rng.per_mille(self.plan.member_crashes) {
            let index = self.rng.below(self.members.len() as u64) as usize;
            if self.members[index].session.is_some() {
                self.note(|| format!("member {index} restarts"));
                self.counts.member_crashes += 1;
                self.start_member(index)?;
            }
        }
        Ok(())
    }

    fn start_host(&mut self) -> Result {
        let now = self.time_at(self.host.skew);
        self.host.inbox.clear();
        let stored = self.host.store.load(SESSION).map_err(|e| e.to_string())?;
        let options = options(self.host.agent, self.plan.counted);
        let rules = rules(self.plan.scope);
        let session = match stored {
            None => Session::host(options, rules, now),
            Some(stored) => Session::restore_host(options, rules, &stored, now)
                .map_err(|error| format!("the host cannot be restored: {error}"))?,
        };
        self.host.session = Some(session);
        for index in 0..self.members.len() {
            if self.members[index].session.is_some() {
                self.join(index)?;
            }
        }
        Ok(())
    }

    fn join(&mut self, index: usize) -> Result {
        let (id, agent) = (self.members[index].id, self.members[index].agent);
        let now = self.time_at(self.host.skew);
        if let Some(host) = &mut self.host.session {
            let agent = AgentId::new(agent).map_err(|e| e.to_string())?;
            let joined = host.join(&agent, now).map_err(|e| e.to_string())?;
            // Numbers go by the order of joining.
            if joined != id {
                self.members[index].id = joined;
            }
        }
        Ok(())
    }

    fn start_member(&mut self, index: usize) -> Result {
        self.join(index)?;
        let node = &mut self.members[index];
        node.inbox.clear();
        let stored = node.store.load(SESSION).map_err(|e| e.to_string())?;
        let options = options(node.agent, self.plan.counted);
        let session = match stored {
            None => Session::member(options),
            Some(stored) => Session::restore_member(options, &stored)
                .map_err(|error| format!("a member cannot be restored: {error}"))?,
        };
        node.session = Some(session);
        Ok(())
    }

    /// An agent says something; whether it could.
    fn say(&mut self) -> Result<bool> {
        let who = self.rng.below(self.members.len() as u64 + 1) as usize;
        let cancel = self.rng.per_mille(40);
        let own: Vec<_> = self.requests.iter().filter(|(by, _)| *by == who).collect();
        let chain = match own.len() {
            0 => None,
            len => Some(own[self.rng.below(len as u64) as usize].1.clone()),
        };
        let value = match self.rng.below(10) {
            0 => "x".repeat(60 + self.rng.below(400) as usize),
            1 => format!("v{}", self.rng.below(4)).repeat(30),
            _ => "short".into(),
        };
        let kind = self.rng.below(100);
        let wide = self.rng.per_mille(60);
        let key = format!("k{}", self.rng.below(6));
        let ttl = self
            .rng
            .per_mille(100)
            .then(|| 1 + self.rng.below(40) as i64);
        let (agent, next, skew) = match who {
            0 => (self.host.agent, &mut self.host.next, self.host.skew),
            _ => {
                let node = &mut self.members[who - 1];
                (node.agent, &mut node.next, node.skew)
            }
        };
        let n = *next;
        *next += 1;
        let now = Time::from_millis(self.now.as_millis() + skew);
        let (intent, operation) = match kind {
            0..5 => ("esc", "plan"),
            5..8 => ("comp", "state"),
            8..12 => ("qry", "lookup"),
            _ => ("req", "plan"),
        };
        let mut message = Message::new(agent, intent, operation)
            .map_err(|e| e.to_string())?
            .with("n", n as i64)
            .with("text", value.clone());
        if wide {
            for at in 0..24 {
                message = message.with(format!("field_{at}"), "wide_".repeat(9));
            }
        }
        if kind >= 90 {
            let shared = match who {
                0 => self.host.session.as_ref().map(|s| s.state().shared()),
                _ => self.members[who - 1]
                    .session
                    .as_ref()
                    .map(|s| s.state().shared()),
            };
            if let Some(shared) = shared {
                let mut target: Map<'static> = shared.entries().clone();
                target.insert(key, Value::from(format!("{agent}_{n}")));
                let delta = shared.delta_to(&target).to_message(agent);
                message = delta
                    .map_err(|e| e.to_string())?
                    .into_owned()
                    .with("n", n as i64);
            }
        }
        let cancelled = chain.filter(|_| cancel);
        if let Some(chain) = &cancelled {
            message = Message::new(agent, "cancel", "task")
                .map_err(|e| e.to_string())?
                .with("n", n as i64);
            message.envelope.correlation_id = Some(chain.to_string().into());
        } else {
            message.envelope.ttl = ttl;
        }
        let outbound = Outbound::message(&message);
        let sent = match who {
            0 => self.host.session.as_mut().map(|s| s.send(&outbound, now)),
            _ => self.members[who - 1]
                .session
                .as_mut()
                .map(|s| s.send(&outbound, now)),
        };
        let Some(sent) = sent else { return Ok(false) };
        self.note(|| format!("{agent} says {n}: {sent:?}"));
        match sent {
            Ok(mid) => {
                if cancelled.is_none() {
                    self.requests.push((who, mid));
                } else {
                    self.counts.cancelled += 1;
                }
                Ok(true)
            }
            Err(_) => Ok(false),
        }
    }

    /// Time passes, frames arrive, handlers work, batches are carried out.
    fn step(&mut self) -> Result {
        let ahead = self.rng.below(400);
        self.advance(Duration::from_millis(ahead))?;
        for who in 0..=self.members.len() {
            if self.rng.per_mille(600) {
                self.handle(who)?;
            }
            if self.rng.per_mille(800) {
                self.flush(who, true)?;
            }
        }
        Ok(())
    }

    fn advance(&mut self, by: Duration) -> Result {
        self.now = self.now + by;
        let now = self.now;
        while let Some(frame) = self.link.deliver(now) {
            self.note(|| format!("{} -> {}: {}", frame.from, frame.to, frame.text));
            if frame.to == self.host.id {
                let at = self.time_at(self.host.skew);
                if let Some(host) = &mut self.host.session {
                    host.receive(frame.from, frame.text.as_bytes(), at);
                }
            } else if let Some(index) = self.members.iter().position(|m| m.id == frame.to) {
                let at = self.time_at(self.members[index].skew);
                if let Some(member) = &mut self.members[index].session {
                    member.receive(frame.text.as_bytes(), at);
                }
            }
        }
        let at = self.time_at(self.host.skew);
        if let Some(host) = &mut self.host.session {
            if host.next_timeout().is_some_and(|due| due <= at) {
                host.handle_timeout(at);
            }
        }
        for index in 0..self.members.len() {
            let at = self.time_at(self.members[index].skew);
            if let Some(member) = &mut self.members[index].session {
                if member.next_timeout().is_some_and(|due| due <= at) {
                    member.handle_timeout(at);
                }
            }
        }
        Ok(())
    }

    /// A handler does its work, and answers or not.
    fn handle(&mut self, who: usize) -> Result {
        let (inbox, skew, agent) = match who {
            0 => (&mut self.host.inbox, self.host.skew, self.host.agent),
            _ => {
                let node = &mut self.members[who - 1];
                (&mut node.inbox, node.skew, node.agent)
            }
        };
        if inbox.is_empty() {
            return Ok(());
        }
        let inbound = inbox.remove(0);
        let position = inbound.position();
        let now = Time::from_millis(self.now.as_millis() + skew);
        // The same handler does the same again.
        let answers = (position + who as u64).is_multiple_of(4) && inbound.text().contains(">req:");
        let reply = Message::new(agent, "done", "plan")
            .map_err(|e| e.to_string())?
            .with("re", position as i64);
        let mut replies = Vec::new();
        if answers {
            let reply = Outbound::message(&reply);
            replies.push(reply.answering(&inbound).map_err(|e| e.to_string())?);
        }
        let done = match who {
            0 => self
                .host
                .session
                .as_mut()
                .map(|s| s.handled(position, &replies, now)),
            _ => self.members[who - 1]
                .session
                .as_mut()
                .map(|s| s.handled(position, &replies, now)),
        };
        self.note(|| format!("{agent} handles {position}: {done:?}"));
        if let Some(Err(_)) = done {
            // The outbox is full; later.
            match who {
                0 => self.host.inbox.insert(0, inbound),
                _ => self.members[who - 1].inbox.insert(0, inbound),
            }
        }
        Ok(())
    }

    /// Carries out the batches of one side; it may crash on the way.
    fn flush(&mut self, who: usize, may_crash: bool) -> Result {
        loop {
            let now = match who {
                0 => self.time_at(self.host.skew),
                _ => self.time_at(self.members[who - 1].skew),
            };
            self.read(who, now)?;
            let batch = match who {
                0 => self.host.session.as_mut().and_then(|s| s.poll_batch(now)),
                _ => self.members[who - 1]
                    .session
                    .as_mut()
                    .and_then(|s| s.poll_batch(now)),
            };
            let Some(batch) = batch else { return Ok(()) };
            let rate = match who {
                0 => self.plan.host_crashes,
                _ => self.plan.member_crashes,
            };
            if may_crash && self.rng.per_mille(rate) {
                self.counts.batches_lost += 1;
                self.note(|| format!("{who} loses a batch: {batch:?}"));
                return self.restart(who);
            }
            self.commit(who, &batch)?;
            let cut = if may_crash && self.rng.per_mille(rate) {
                self.rng.below(batch.sends.len() as u64 + 1) as usize
            } else {
                usize::MAX
            };
            let from = match who {
                0 => self.host.id,
                _ => self.members[who - 1].id,
            };
            for send in batch.sends.into_iter().take(cut) {
                self.link.send(self.now, from, send.to, send.text);
            }
            if cut != usize::MAX {
                self.counts.sends_lost += 1;
                self.note(|| format!("{who} loses sends"));
                return self.restart(who);
            }
            match who {
                0 => self.host.inbox.extend(batch.inbound),
                _ => self.members[who - 1].inbox.extend(batch.inbound),
            }
        }
    }

    fn restart(&mut self, who: usize) -> Result {
        match who {
            0 => {
                self.counts.host_crashes += 1;
                self.start_host()
            }
            _ => {
                self.counts.member_crashes += 1;
                self.start_member(who - 1)
            }
        }
    }

    fn read(&mut self, who: usize, now: Time) -> Result {
        loop {
            match who {
                0 => {
                    let Some(session) = &mut self.host.session else {
                        return Ok(());
                    };
                    let Some(read) = session.poll_read() else {
                        return Ok(());
                    };
                    let store = &mut self.host.store;
                    answer(read, store, session, now)?;
                }
                _ => {
                    let node = &mut self.members[who - 1];
                    let Some(session) = &mut node.session else {
                        return Ok(());
                    };
                    let Some(read) = session.poll_read() else {
                        return Ok(());
                    };
                    answer(read, &mut node.store, session, now)?;
                }
            }
        }
    }

    /// Makes a batch durable, and lets the observer see it.
    fn commit(&mut self, who: usize, batch: &Batch) -> Result {
        let (store, seen, events) = match who {
            0 => {
                let events = self.host.session.as_mut().map(drain).unwrap_or_default();
                (&mut self.host.store, &mut self.host.seen, events)
            }
            _ => {
                let node = &mut self.members[who - 1];
                let events = node.session.as_mut().map(drain).unwrap_or_default();
                (&mut node.store, &mut node.seen, events)
            }
        };
        store
            .commit(&[(SESSION, batch)])
            .map_err(|error| format!("{who} cannot commit: {error}"))?;
        for position in &batch.handled {
            self.counts.handled += 1;
            *seen.handled.entry(*position).or_default() += 1;
        }
        let mut gone: BTreeSet<Mid> = BTreeSet::new();
        for event in &events {
            match event {
                Event::Refused(mid, _) | Event::Cancelled(mid) => {
                    gone.insert(mid.clone());
                    self.counts.refused += 1;
                }
                Event::Retried { old, .. } => {
                    gone.insert(old.clone());
                }
                Event::Dropped(_) => self.counts.dropped += 1,
                _ => {}
            }
        }
        for change in &batch.outbox {
            match change {
                OutboxChange::Put(outgoing) => {
                    if let Some(n) = number(&outgoing.head) {
                        seen.sent.insert(n);
                    }
                }
                OutboxChange::Remove(mid) if !gone.contains(mid) => {
                    seen.acknowledged.push(mid.clone());
                }
                OutboxChange::Remove(_) => {}
            }
        }
        if who == 0 {
            for entry in &batch.entries {
                if entry.sender == MemberId::HOST && entry.kind == EntryKind::Frame {
                    seen.sent.extend(number(&entry.text));
                }
            }
        }
        self.counts.values += batch
            .cold
            .iter()
            .filter(|cold| cold.bytes.is_some())
            .count() as u64;
        self.counts.snapshots += u64::from(batch.snapshot.is_some());
        if self.script.is_some() {
            let what = format!("{who} commits {batch:?}; {events:?}");
            self.note(|| what);
        }
        Ok(())
    }

    /// The faults end, and everybody has time.
    fn settle(&mut self) -> Result {
        self.link
            .set_faults(accp_runtime::testing::Faults::default());
        self.link.heal();
        self.note(|| "the faults end".into());
        for _ in 0..2000 {
            self.advance(Duration::from_millis(500))?;
            for who in 0..=self.members.len() {
                for _ in 0..20 {
                    self.handle(who)?;
                }
                self.flush(who, false)?;
            }
            let quiet = self
                .host
                .session
                .as_ref()
                .is_some_and(Session::<Host>::is_quiet)
                && self.host.inbox.is_empty()
                && self.members.iter().all(|node| {
                    node.inbox.is_empty()
                        && node
                            .session
                            .as_ref()
                            .is_none_or(Session::<Member>::is_quiet)
                })
                && self.link.next_arrival().is_none();
            if quiet {
                return Ok(());
            }
        }
        let waiting: Vec<_> = self
            .members
            .iter()
            .map(|node| {
                node.session
                    .as_ref()
                    .map(|s| (s.is_quiet(), s.outbox_len(), s.position()))
            })
            .collect();
        Err(format!("it does not come to rest: {waiting:?}"))
    }

    /// The invariants.
    fn judge(&mut self) -> Result {
        let log = log_of(&mut self.host.store)?;
        let accepted: Vec<&Entry> = log.iter().filter(|e| e.kind == EntryKind::Frame).collect();
        self.counts.frames += accepted.len() as u64;
        self.counts.fewest = Some(accepted.len() as u64);
        let count =
            |is: &dyn Fn(&Entry) -> bool| log.iter().filter(|entry| is(entry)).count() as u64;
        self.counts.parts += count(&|entry| entry.kind == EntryKind::Part);
        self.counts.checkpoints += count(&|entry| entry.text.contains(">sync:checkpoint{"));
        self.counts.deltas +=
            count(&|entry| entry.kind == EntryKind::Frame && entry.text.contains(">sync:state{"));
        let mids: BTreeSet<&Mid> = log
            .iter()
            .filter(|entry| !matches!(entry.kind, EntryKind::Refused(_)))
            .map(|entry| &entry.mid)
            .collect();
        // In order per sender, each once.
        let mut last: BTreeMap<MemberId, u64> = BTreeMap::new();
        for entry in &accepted {
            if let Some(n) = number(&entry.text) {
                let before = last.insert(entry.sender, n);
                if before.is_some_and(|before| before >= n) {
                    return Err(format!("{} of {} is out of order", n, entry.sender));
                }
            }
        }
        // Numbers of the frames: contiguous.
        self.judge_numbers(&log)?;
        self.judge_side(0, &log, &mids)?;
        for who in 1..=self.members.len() {
            if self.members[who - 1].session.is_some() {
                self.judge_side(who, &log, &mids)?;
            }
        }
        self.judge_replicas(&log)?;
        self.judge_values()
    }

    fn judge_numbers(&self, log: &[Entry]) -> Result {
        let mut shared = 0;
        let mut each: BTreeMap<MemberId, u64> = BTreeMap::new();
        for entry in log.iter().filter(|entry| entry.sequence > 0) {
            let last = match self.plan.scope {
                Scope::Shared => &mut shared,
                Scope::Sender => each.entry(entry.sender).or_default(),
            };
            if entry.sequence != *last + 1 {
                return Err(format!(
                    "seq {} after {last} at {}",
                    entry.sequence, entry.position
                ));
            }
            *last += 1;
        }
        Ok(())
    }

    fn judge_side(&mut self, who: usize, log: &[Entry], mids: &BTreeSet<&Mid>) -> Result {
        let (seen, id) = match who {
            0 => (&self.host.seen, self.host.id),
            _ => (&self.members[who - 1].seen, self.members[who - 1].id),
        };
        for mid in &seen.acknowledged {
            if !mids.contains(mid) {
                return Err(format!(
                    "{mid} of {who} was acknowledged and is not in the log"
                ));
            }
        }
        let joined = match who {
            0 => 0,
            _ => self
                .host
                .session
                .as_ref()
                .and_then(|host| host.state().members().find(|(member, _)| *member == id))
                .map_or(0, |(_, party)| party.joined),
        };
        let mine = log.iter().filter(|entry| {
            entry.kind == EntryKind::Frame && entry.sender != id && entry.position > joined
        });
        let mut due: BTreeSet<u64> = mine.map(|entry| entry.position).collect();
        for (position, times) in &seen.handled {
            if *times != 1 {
                return Err(format!("{who} has handled {position} {times} times"));
            }
            if !due.remove(position) {
                return Err(format!("{who} has handled {position}, which is not its"));
            }
        }
        if let Some(position) = due.first() {
            return Err(format!("{who} has not handled {position}"));
        }
        // What was said is in the log once, or its sender was told why not.
        let mut replies: BTreeMap<&str, u32> = BTreeMap::new();
        for entry in log
            .iter()
            .filter(|e| e.sender == id && e.kind == EntryKind::Frame)
        {
            if let Some((head, _)) = entry.text.split_once("}[") {
                if head.contains(">done:") {
                    *replies.entry(head).or_default() += 1;
                }
            }
        }
        if let Some((reply, _)) = replies.iter().find(|(_, times)| **times > 1) {
            return Err(format!("{reply} was said twice"));
        }
        let said: BTreeSet<u64> = log
            .iter()
            .filter(|entry| entry.sender == id)
            .filter(|entry| {
                matches!(
                    entry.kind,
                    EntryKind::Frame | EntryKind::Part | EntryKind::Dropped | EntryKind::Refused(_)
                )
            })
            .filter_map(|entry| number(&entry.text))
            .collect();
        let mut lost = seen
            .sent
            .difference(&said)
            .filter(|n| !seen.refused.contains(n));
        if let Some(n) = lost.next() {
            // Frames of a cancelled chain that never went out may be missing.
            if self.counts.cancelled == 0 && self.counts.refused == 0 {
                return Err(format!("{n} of {who} was kept and is nowhere"));
            }
        }
        Ok(())
    }

    fn judge_replicas(&mut self, log: &[Entry]) -> Result {
        let Some(host) = &self.host.session else {
            return Ok(());
        };
        let (hot, warm) = (host.state().hot().tokens(), host.state().warm().tokens());
        if hot > 500 || warm > 2000 {
            return Err(format!("{hot} tokens in hot and {warm} in warm state"));
        }
        let relayed: BTreeMap<u64, &Entry> = log
            .iter()
            .filter(|entry| entry.kind.is_relayed())
            .map(|entry| (entry.position, entry))
            .collect();
        for node in &mut self.members {
            let Some(member) = &node.session else {
                continue;
            };
            if member.state() != host.state() {
                return Err(format!("{} folds to something else", node.id));
            }
            let own = log_of(&mut node.store)?;
            let first = own.first().map_or(0, |entry| entry.position);
            let theirs = relayed.range(first..).map(|(_, entry)| &entry.text);
            if !own.iter().map(|entry| &entry.text).eq(theirs) {
                return Err(format!("{} has another log", node.id));
            }
        }
        Ok(())
    }

    /// Every value that a frame of the log may refer to can be read at the host.
    fn judge_values(&mut self) -> Result {
        let log = log_of(&mut self.host.store)?;
        let keys = self
            .host
            .store
            .cold_keys(SESSION)
            .map_err(|e| e.to_string())?;
        for key in &keys {
            let kept = self
                .host
                .store
                .cold(SESSION, key)
                .map_err(|e| e.to_string())?;
            if kept.is_none_or(|kept| kept.value.bytes.is_none()) {
                return Err(format!("the bytes of {key} are gone"));
            }
        }
        for entry in log.iter().filter(|entry| entry.kind == EntryKind::Frame) {
            let message = Message::decode(&entry.text, &REGISTRY).map_err(|e| e.to_string())?;
            for (_, value) in message.payload.iter() {
                if let Value::Ref(key) = value {
                    let key = key.strip_prefix("cold.").unwrap_or(key);
                    if !keys.iter().any(|known| known == key) {
                        return Err(format!("{key} is not known"));
                    }
                }
            }
        }
        Ok(())
    }
}

fn drain<R: accp_runtime::session::Role>(session: &mut Session<R>) -> Vec<Event> {
    std::iter::from_fn(|| session.poll_event()).collect()
}

fn answer<R: accp_runtime::session::Role>(
    read: Read,
    store: &mut MemoryStore,
    session: &mut Session<R>,
    now: Time,
) -> Result {
    match read {
        Read::Entries { from, limit } => {
            let entries = store
                .entries(SESSION, from, limit)
                .map_err(|e| e.to_string())?;
            session.supply_entries(from, &entries);
        }
        Read::Cold { key } => {
            let cold = store.cold(SESSION, &key).map_err(|e| e.to_string())?;
            session.supply_cold(&key, cold.map(|kept| kept.value), now);
        }
        other => return Err(format!("no answer to {other:?}")),
    }
    Ok(())
}

fn log_of(store: &mut MemoryStore) -> Result<Vec<Entry>> {
    store
        .entries(SESSION, 1, usize::MAX)
        .map_err(|e| e.to_string())
}
