//! The world of one run: a host and members, each with a store, a link between them, and an
//! observer who sees everything.

mod addresses;
mod answering;
mod authority;
mod bounds;
mod chains;
mod checkpoints;
mod clocks;
mod codes;
mod company;
mod content;
mod control;
mod copies;
mod counts;
mod crowding;
mod damage;
mod deferring;
mod disks;
mod draft;
mod effects;
mod enemy;
mod erasing;
mod folds;
mod forged;
mod guests;
mod hearing;
mod hubs;
mod kinds;
mod lapsing;
mod limits;
mod mirror;
mod moves;
mod names;
mod node;
mod observer;
mod opening;
mod outcome;
mod paying;
mod payments;
mod pieces;
mod plain;
mod plan;
mod posts;
mod probes;
mod prompt;
mod queue;
mod reading;
mod reasons;
mod refusals;
mod restored;
mod rewind;
mod rights;
mod rows;
mod rules;
mod schemas;
mod searching;
mod seen;
mod serving;
mod sides;
mod speaking;
mod streams;
mod summaries;
mod talk;
mod tape;
mod text;
mod timeline;
mod truths;
mod verdict;
mod waiters;
mod waiting;
mod waking;
mod wire;
mod wishes;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accp_runtime::DynamicFrame;
use accp_runtime::session::{Event, Inbound, Input, MemberId, Mid, Rules, Session, Time};
use accp_session::Batch;
use accp_testkit::{Faults, Rng, Room, Side};

pub(crate) use counts::Counts;
pub(crate) use outcome::run;
pub(crate) use plan::{RunPlan, Trim};

use copies::Copies;
use deferring::Told;
use disks::Disks;
use enemy::Enemy;
use node::{Node, Result, said};
use observer::Observer;
use restored::is_rare;
use serving::judge_wishes;
use tape::{Fate, Kept, Tape};
use text::{abbreviated, in_short};
use waking::{asks_and_sends_little, sends_no_more};

struct World {
    plan: RunPlan,
    rng: Rng,
    room: Room<Kept>,
    tape: Arc<Mutex<Tape>>,
    /// The sides: the host first, then the members.
    nodes: Vec<Node>,
    observer: Observer,
    /// Each message, by the index of its sender and by the number that the sender put into it.
    said: BTreeMap<(usize, u64), DynamicFrame<'static>>,
    counts: Counts,
    script: Option<Vec<String>>,
    enemy: Option<Enemy>,
    weigh: Option<fn() -> usize>,
    copies: Copies,
    disks: Disks,
    rules: Rules,
    told: Arc<Mutex<Told>>,
    /// Whether the faults have ended.
    is_whole: bool,
}

impl World {
    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(script) = &mut self.script {
            script.push(format!("{} {}", self.room.now, abbreviated(&line())));
        }
    }

    fn run(&mut self) -> Result {
        let last = self.plan.members;
        for who in 1..=last - usize::from(self.plan.late) {
            self.enter(who)?;
        }
        if self.plan.hostile {
            self.invite_enemy()?;
        }
        let mut left = self.plan.sends;
        while left > 0 {
            self.counts.steps += 1;
            if left == self.plan.sends / 2 {
                self.enter_late()?;
            }
            if self.rng.per_mille(self.plan.pace) && self.say()? {
                left -= 1;
            }
            self.administer()?;
            self.attack()?;
            self.crowd_a_chain()?;
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
        self.judge_promptness()?;
        self.judge_wants()?;
        self.read_back()?;
        self.read_references()?;
        self.judge()
    }

    /// Lets a random fault happen, or none.
    fn fail(&mut self) -> Result {
        let any_member = |rng: &mut Rng, members: usize| 1 + rng.below(members as u64) as usize;
        if self.rng.per_mille(self.plan.partitions) {
            let who = any_member(&mut self.rng, self.plan.members);
            let until = self.room.now + Duration::from_millis(self.rng.below(20_000));
            let id = self.nodes[who].id;
            self.note(|| format!("{id} is cut off until {until}"));
            self.room.wire.partition(id, until);
            self.counts.partitions += 1;
            if self.plan.noticed && who <= self.room.members.len() {
                self.nodes[who].cut_off = Some(until);
                self.moves("disconnect", 0);
                let now = self.host_clock();
                let host = self.room.host.driver.session_mut().map_err(said)?;
                host.handle(Input::Disconnected(id), now).map_err(said)?;
            }
        }
        if self.rng.per_mille(self.plan.deafness) {
            let who = any_member(&mut self.rng, self.plan.members);
            let until = self.room.now + Duration::from_millis(self.rng.below(60_000));
            self.nodes[who].deaf = Some(until);
            self.note(|| format!("{who} hears no entries until {until}"));
        }
        if self.rng.per_mille(self.plan.clock_steps) {
            let who = self.rng.below(1 + self.plan.members as u64) as usize;
            self.step_clock(who);
        }
        if self.rng.per_mille(self.plan.copies) {
            self.copy_or_restore()?;
        }
        if self.rng.per_mille(self.plan.leaves) {
            self.come_or_go()?;
        }
        if self.rng.per_mille(self.plan.discards) {
            self.discard()?;
        }
        if self.rng.per_mille(self.plan.host_crashes) {
            self.restart(0)?;
        }
        if self.rng.per_mille(self.plan.member_crashes) {
            let who = any_member(&mut self.rng, self.plan.members);
            if who <= self.room.members.len() && !self.nodes[who].is_unmet {
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
        self.note(|| format!("{who} starts"));
        self.moves("restart", who);
        self.nodes[who].starts += 1;
        if who == 0 {
            self.disks.reopen()?;
        }
        self.room.restart(self.nodes[who].id).map_err(said)?;
        if who == 0 {
            self.hook()?;
        }
        for node in &self.nodes {
            let member = self.room.host.session().state().member_of(node.agent);
            let has_lost = self.room.host.session().rolled_back().is_some();
            if !has_lost && self.room.side(node.id).is_some() && member != Some(node.id) {
                return Err(format!(
                    "@{} is {member:?} to the host, not {}",
                    node.agent, node.id
                ));
            }
        }
        self.nodes[who].wakes = None;
        self.nodes[who].starts_again();
        self.set_alarm(who)?;
        self.observer.started(who);
        // After a crash, a side may reuse an id that is not durable and that no other side has
        // seen.
        let observer = &self.observer;
        let is_durable = |mid: &Mid| {
            observer.consumed.contains_key(mid) || observer.sides[who].outbox.contains_key(mid)
        };
        self.nodes[who]
            .known
            .retain(|(mid, chain)| is_durable(mid) && is_durable(chain));
        Ok(())
    }

    /// Returns the session of a side that has joined, with the time on its clock.
    fn session(&mut self, who: usize) -> Result<Option<(&mut Session, Time)>> {
        let now = self.room.now;
        let Some(side) = self.room.side(self.nodes[who].id) else {
            return Ok(None);
        };
        let at = side.clock(now);
        Ok(Some((side.driver.session_mut().map_err(said)?, at)))
    }

    /// Moves time on, and delivers the frames that arrive.
    fn advance(&mut self, by: Duration) -> Result {
        self.decide()?;
        self.room.now = self.room.now + by;
        self.observer.now = self.room.now;
        for frame in self.room.arrive().map_err(said)? {
            self.note(|| format!("{} -> {}: {}", frame.from, frame.to, frame.text));
            if let Some(enemy) = self.enemy.as_mut().filter(|enemy| enemy.id == frame.to) {
                enemy.hears(&frame.text);
            } else if !self.is_side(frame.to) {
                return Err(format!("a frame for {}, which is not a side", frame.to));
            }
            if let Some(who) = self.nodes.iter().position(|node| node.id == frame.to) {
                let is_answer = self.nodes[who].is_answer(&frame.text);
                self.nodes[who].is_unmet &= !is_answer;
                // If the answer names a snapshot, the side fetches the snapshot first.
                self.observer.sides[who].is_met |= is_answer && !frame.text.contains("|snap:");
                self.set_alarm(who)?;
            }
            if frame.to == MemberId::HOST {
                self.observer.heard(frame.from, &frame.text);
            }
        }
        self.wake()
    }

    /// Returns whether the member is, or was, a side or the hostile member.
    fn is_side(&self, id: MemberId) -> bool {
        self.observer.enemy == Some(id) || self.nodes.iter().any(|node| node.id == id)
    }

    /// Carries out the batches of one side, or makes the side crash on the way.
    fn flush(&mut self, who: usize, may_crash: bool) -> Result {
        let may_crash = may_crash && !self.nodes[who].is_unmet;
        let rate = match (may_crash, who) {
            (false, _) => 0,
            (_, 0) => self.plan.host_crashes,
            _ => self.plan.member_crashes,
        };
        let (id, now) = (self.nodes[who].id, self.room.now);
        let Some(side) = self.room.side(id) else {
            return Ok(());
        };
        Tape::begin(&self.tape, rate);
        let carried_out = side.carry_out(side.clock(now));
        let mut left = side.left().into_iter();
        let (batches, misread, reads) = Tape::end(&self.tape);
        let crashes = |(_, fate): &(Batch, Fate)| *fate != Fate::Kept;
        if !batches.last().is_some_and(crashes) && !misread {
            carried_out.map_err(|error| format!("{who} cannot go on: {error}"))?;
        }
        let (mut cancels, mut keeps_rarely) = (false, false);
        let committed = batches.len() as u64;
        for (batch, fate) in batches {
            keeps_rarely |= is_rare(&batch);
            if fate == Fate::Lost {
                self.counts.batches_lost += 1;
                self.note(|| format!("{who} loses a batch: {}", in_short(&batch)));
                sends_no_more(who, left)?;
                return self.restart(who);
            }
            self.committed(who, &batch)?;
            let all = batch.sends.len();
            let leaving = if let Fate::Cut(at) = fate { at } else { all };
            asks_and_sends_little(who, &batch)?;
            judge_wishes(who, &self.nodes[who], &batch)?;
            for (at, send) in batch.sends.into_iter().enumerate() {
                if left.next().as_ref() != Some(&send) {
                    return Err(format!(
                        "{who} does not send what it has kept: {}",
                        send.text
                    ));
                }
                if at < leaving {
                    self.observer.leaves(who, send.to, &send.text, reads)?;
                    if !self.is_unheard(send.to, &send.text) {
                        let text = self.damaged(who, send.text);
                        self.room.wire.send(now, id, send.to, text);
                    }
                }
            }
            if fate != Fate::Kept && fate != Fate::Last {
                self.counts.sends_lost += 1;
                self.note(|| format!("{who} loses {} sends", all - leaving));
                sends_no_more(who, left)?;
                return self.restart(who);
            }
            self.deliver(who, &batch.inbound)?;
            cancels |= batch
                .entries
                .iter()
                .any(|e| text::intent(&e.text) == "cancel");
            if fate == Fate::Last {
                self.look(who, cancels)?;
                sends_no_more(who, left)?;
                return self.restart(who);
            }
        }
        sends_no_more(who, left)?;
        self.look(who, cancels)?;
        if misread {
            self.counts.misread += 1;
            self.note(|| format!("{who} fails to read"));
            return self.restart(who);
        }
        if who == 0 {
            self.observer.judge_served()?;
        }
        self.judge_stored(who, committed, keeps_rarely)?;
        self.judge_alarm(who)
    }

    /// Shows the observer a batch that a side has made durable.
    fn committed(&mut self, who: usize, batch: &Batch) -> Result {
        if let Some(script) = &mut self.script {
            let quiet = |event: &&Event| !matches!(event, Event::OverSoftLimit { .. });
            let events: Vec<_> = batch.events.iter().filter(quiet).collect();
            let what = in_short(batch);
            script.push(format!(
                "{} {who} commits {what}; {events:?}",
                self.room.now
            ));
        }
        let snapshots = match who {
            0 => &mut self.counts.host_snapshots,
            _ => &mut self.counts.snapshots,
        };
        *snapshots += u64::from(batch.snapshot.is_some());
        let side = match (who, self.nodes[who].plain) {
            (0, _) => "host",
            (_, true) => "draft",
            _ => "member",
        };
        self.counts.kinds.note(side, batch);
        self.observer
            .committed(who, batch, &batch.events, &mut self.counts)?;
        self.hear_of_values(who, &batch.events)?;
        if who == 0 {
            self.hear_of_the_log(&batch.events);
            self.judge_hook(batch)?;
        }
        self.judge_context(who, batch)
    }

    /// Gives frames to the handlers of a side.
    fn deliver(&mut self, who: usize, inbound: &[Inbound]) -> Result {
        for inbound in inbound {
            self.observer.delivered(who, inbound)?;
        }
        for inbound in inbound {
            let fired = self.observer.judge_token(who, inbound)?;
            self.counts.tokens_fired += u64::from(fired);
            self.watch(who, inbound);
        }
        Ok(())
    }

    /// If a chain was cancelled, checks the cancel token of every frame at a handler.
    fn look(&mut self, who: usize, cancels: bool) -> Result {
        let side = self.room.sides().nth(who).filter(|_| cancels);
        let inbox = side.iter().flat_map(|side| &side.inbox);
        let working = self.nodes[who].working.iter().filter(|_| cancels);
        for inbound in inbox.chain(working) {
            let fired = self.observer.judge_token(who, inbound)?;
            self.counts.tokens_fired += u64::from(fired);
        }
        self.judge_watches(who)
    }

    /// Ends the faults, and gives every side time to come to rest.
    fn settle(&mut self) -> Result {
        self.is_whole = true;
        self.room.wire.set_faults(Faults::default());
        self.room.wire.heal();
        self.set_clocks_right();
        self.note(|| "the faults end".into());
        self.enter_late()?;
        for node in &mut self.nodes {
            node.cut_off = node.cut_off.map(|_| self.room.now);
            node.deaf = None;
        }
        self.outlast_enemy()?;
        self.expel_enemy()?;
        let (mut turns, entries) = (0, self.observer.log.len());
        let held = self.observer.sides.iter().map(|side| side.last).min();
        let behind = entries - held.unwrap_or_default() as usize;
        let mut most = self.turns_to_rest(0, behind);
        while turns < most {
            turns += 1;
            most = most.max(self.turns_to_rest(self.observer.log.len() - entries, behind));
            self.rest(Duration::from_millis(500))?;
            self.enter_late()?;
            self.let_all_in()?;
            self.expel_enemy()?;
            let arrival = self.room.wire.next_arrival();
            if arrival.is_none() && self.room.sides().all(Side::is_quiet) {
                // A host that asks for schemas waits longer after each question that was lost, so
                // it may still wait for a timer.
                match self.judge_timers() {
                    Err(_) if self.plan.brings => {}
                    verdict => return verdict,
                }
            }
        }
        let busy = self.room.sides().filter(|side| !side.is_quiet());
        let busy: Vec<_> = busy.map(|side| side.options.agent.as_str()).collect();
        Err(format!("{busy:?} do not come to rest in {turns} turns"))
    }
}
