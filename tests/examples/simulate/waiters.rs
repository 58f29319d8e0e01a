//! Checks that everybody who waits is told once: those that wait for a cancellation, for a value, or for the fate of
//! a frame.

use std::collections::BTreeSet;
use std::time::Duration;

use accp_runtime::session::{Event, Inbound, Input, Mid};
use accp_session::{Batch, OutboxChange, Outgoing};

use super::World;
use super::node::{Result, said};
use super::observer::Observer;
use super::text::mid_in;
use super::waiting::Watch;

/// The most frames of a side for whose cancellation somebody waits.
const WATCHED: usize = 4;
/// Values that a member asks for at the same time.
const MANY: usize = 24;
/// The turns of half a second within which a member must be told that it gets a value, or that nobody has it.
const PATIENCE: usize = 400;

impl World {
    /// Lets several tasks wait for the cancellation of some of the frames that a handler gets.
    pub(super) fn watch(&mut self, who: usize, inbound: &Inbound) {
        if !inbound.position().is_multiple_of(3) {
            return;
        }
        let watches = &mut self.nodes[who].watches;
        let done = (watches.len() + 1).saturating_sub(WATCHED);
        watches.drain(..done);
        watches.push(Watch::new(inbound));
    }

    /// Checks that each waiting task was told once if the chain was cancelled, and otherwise was not told.
    pub(super) fn judge_watches(&self, who: usize) -> Result {
        for watch in &self.nodes[who].watches {
            self.observer.judge_token(who, &watch.inbound)?;
            watch.judge()?;
        }
        Ok(())
    }

    /// Lets all members ask for one value at the same time, perhaps before the host has its bytes.
    pub(super) fn want_together(&mut self) -> Result {
        let keys = self.observer.keys();
        let from = keys.len().saturating_sub(3);
        let at = from as u64 + self.rng.below((keys.len() - from) as u64);
        let Some(key) = keys.get(at as usize) else {
            return Ok(());
        };
        self.note(|| format!("all ask for {key}"));
        for who in 1..self.nodes.len() {
            let is_asked = self.nodes[who].wanted.told.get(key) == Some(&false);
            if self.nodes[who].plain || is_asked || self.nodes[who].is_unmet {
                continue;
            }
            // The side may know the value from its log.
            let announced = self.cold(who, key)?;
            let announced = announced.map(|cold| (cold.digest, cold.length));
            let Some((side, now)) = self.session(who)? else {
                continue;
            };
            let fetch = Input::Fetch { key, announced };
            side.handle(fetch, now).map_err(said)?;
            self.nodes[who].wanted.told.insert(key.clone(), false);
            self.counts.wanted += 1;
            self.moves("fetch together", who);
            self.set_alarm(who)?;
        }
        Ok(())
    }

    /// Lets a member ask for many values and frames at the same time.
    pub(super) fn want_everything(&mut self) -> Result {
        let who = 1 + self.rng.below(self.plan.members as u64) as usize;
        let node = self
            .nodes
            .get(who)
            .filter(|node| !node.plain && !node.is_unmet);
        let Some(node) = node else { return Ok(()) };
        let last = self.observer.log.len() as u64;
        let frames = (0..MANY / 4).map(|_| format!("p{}", 1 + self.rng.below(last)));
        let mut keys: BTreeSet<String> = frames.collect();
        keys.extend(self.observer.keys().into_iter().rev().take(MANY));
        keys.retain(|key| node.wanted.told.get(key) != Some(&false));
        self.note(|| format!("{who} asks for {keys:?}"));
        for key in keys {
            let announced = self.cold(who, &key)?;
            let announced = announced.map(|cold| (cold.digest, cold.length));
            let Some((side, now)) = self.session(who)? else {
                return Ok(());
            };
            let fetch = Input::Fetch {
                key: &key,
                announced,
            };
            side.handle(fetch, now).map_err(said)?;
            self.nodes[who].wanted.told.insert(key, false);
            self.counts.wanted_alone += 1;
            self.moves("fetch many", who);
        }
        self.set_alarm(who)
    }

    /// Takes note of the events of a batch that tell a side about values.
    pub(super) fn hear_of_values(&mut self, who: usize, events: &[Event]) -> Result {
        let heard = self.nodes[who].wanted.hears(events);
        heard.map_err(|what| format!("{who}: {what}"))
    }

    /// Checks that each member is told of each value that it wants.
    pub(super) fn judge_wants(&mut self) -> Result {
        for _ in 0..PATIENCE {
            if self.nodes.iter().all(|node| node.wanted.is_told()) {
                break;
            }
            self.rest(Duration::from_millis(500))?;
        }
        for (who, node) in self.nodes.iter_mut().enumerate() {
            node.wanted.is_over = true;
            if !node.wanted.is_told() {
                return Err(format!("{who} is not told of {:?}", node.wanted));
            }
        }
        Ok(())
    }
}

impl Observer {
    /// Checks that a side is told of the end of each frame once, and only as the frame leaves its outbox.
    pub(super) fn judge_fates(&mut self, who: usize, batch: &Batch, events: &[Event]) -> Result {
        let side = &mut self.sides[who];
        let id = side.id;
        let knows =
            side.plain.is_none() && !self.timeline.has_lost() && !self.timeline.was_put_back(id);
        for event in events {
            let (Event::Acknowledged(mid)
            | Event::Refused(mid, _)
            | Event::Cancelled(mid)
            | Event::Expired(mid)) = event
            else {
                continue;
            };
            // One batch may put a frame into the outbox and remove it again.
            let new = |mid: &Mid| {
                let put = batch.outbox.iter().find_map(|change| match change {
                    OutboxChange::Put(frame) if frame.mid == *mid => Some(frame),
                    _ => None,
                });
                put.or_else(|| side.outbox.get(mid))
            };
            let mut removed = batch.outbox.iter().filter_map(|change| match change {
                OutboxChange::Remove(gone) => new(gone),
                OutboxChange::Put(_) => None,
            });
            let is_it = |frame: &&Outgoing| {
                let first = mid_in(&frame.text(0), "of").filter(|_| frame.tail.contains(",pt:"));
                first.as_ref().unwrap_or(&frame.mid) == mid
            };
            let Some(frame) = removed.find(is_it) else {
                return Err(format!("{id} is told {event:?}, and keeps the frame"));
            };
            // A side that starts again forgets which frames in parts it has given up, so it may be told of their end
            // again.
            let is_part = frame.tail.contains(",pt:");
            if side.fates.insert(mid.clone(), is_part).is_some() && knows {
                return Err(format!("{id} is told of the end of {mid} again: {event:?}"));
            }
        }
        Ok(())
    }
}
