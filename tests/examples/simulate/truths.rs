//! Checks that events are true: what an event says is in the same batch, and what is in a batch is told once. Also
//! checks what a side says of a frame that it gives to a handler.

use std::collections::BTreeMap;
use std::time::Duration;

use accp_runtime::ErrorCode;
use accp_runtime::session::{Event, Inbound, MemberId, Mid, Time};
use accp_session::{Batch, Entry, EntryKind, OutboxChange, Transmit};

use super::authority::value_key;
use super::content::Read;
use super::counts::Counts;
use super::node::Result;
use super::observer::Observer;
use super::seen::Seen;
use super::text::{checkpoint, field, goals, intent, is_a, mid_in, number_in};
use super::timeline::Timeline;

/// The seconds by which clocks may differ when a side judges whether the `ttl` of a frame is over.
const SKEW: i64 = 30;

/// Counts equal items.
fn counted<T: Ord>(items: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

impl Observer {
    /// Checks the events of a batch. Call this before the observer takes the batch into account.
    pub(super) fn judge_truths(&self, who: usize, batch: &Batch, counts: &Counts) -> Result {
        let side = &self.sides[who];
        let id = side.id;
        for event in &batch.events {
            self.judge_truth(who, event, batch, counts)
                .map_err(|what| format!("{id} is told {event:?}: {what}"))?;
        }
        self.judge_told(who, batch)
            .map_err(|what| format!("{id} is not told, or told more than once, of {what}"))
    }

    fn judge_truth(&self, who: usize, event: &Event, batch: &Batch, counts: &Counts) -> Result {
        let (id, has_lost) = (self.sides[who].id, self.timeline.has_lost());
        let is_true = match event {
            Event::Joined(member) => *member == id || self.is_plain(id),
            Event::Left => has_lost || self.codes.has_left(id) || self.is_plain(id),
            Event::Dropped(_) | Event::Rejected(..) if who > 0 => false,
            Event::Rejected(to, Some(mid), code) => batch.sends.iter().any(|send| {
                let is_it = send.to == *to && intent(&send.text) == "fail";
                is_it
                    && send.text.contains(&code.to_string())
                    && of(&send.text) == Some(mid.clone())
            }),
            Event::Supplied(key) => {
                let is_new = who > 0 || has_lost || !self.bounds.supplied.contains(key);
                let mut here = batch.cold.iter().filter(|cold| cold.bytes.is_some());
                is_new && here.any(|cold| cold.key == *key)
            }
            Event::Unavailable(key) if who == 0 => has_lost || !self.bounds.supplied.contains(key),
            Event::Schemas(hash) => batch.registries.iter().any(|(kept, _)| kept == hash),
            Event::Retried { old, new, .. } if old == new => {
                let mut kept = batch.outbox.iter();
                let is_put = |change: &OutboxChange| match change {
                    OutboxChange::Put(frame) => frame.mid == *old,
                    OutboxChange::Remove(_) => false,
                };
                self.sides[who].outbox.contains_key(old) || kept.any(is_put)
            }
            Event::Removed(member) => has_lost || Some(*member) == self.enemy,
            Event::RolledBack { .. } => has_lost || !self.is_keyed,
            Event::Recovered(_) | Event::NotRecovered(_) => has_lost,
            Event::Tampered(_) => {
                let was_put_back = |side: &Seen| self.timeline.was_put_back(side.id);
                let is_odd = has_lost || self.enemy.is_some() || counts.damaged > 0;
                is_odd || self.sides.iter().any(was_put_back)
            }
            Event::SummaryWanted { checkpoint, left } => {
                self.left_with(*checkpoint, left, batch)?
            }
            Event::NotWritten(_) => self.enemy.is_some(),
            _ => true,
        };
        is_true
            .then_some(())
            .ok_or_else(|| "it did not happen".into())
    }

    /// Returns whether these positions left hot state with the newest checkpoint, in this order, and whether the
    /// checkpoint has this number.
    fn left_with(&self, id: u64, left: &[u64], batch: &Batch) -> Result<bool> {
        let new = batch.entries.iter().rev();
        let mut all = new.chain(self.log.iter().rev());
        let newest =
            all.find(|entry| entry.kind == EntryKind::Control && checkpoint(&entry.text).is_some());
        let Some(newest) = newest else {
            return Ok(false);
        };
        let read = Read::of(&newest.text)?;
        let is_in = |at: &u64| {
            read.left
                .iter()
                .any(|(from, to)| (*from..=*to).contains(at))
        };
        let is_ascending = left.windows(2).all(|two| two[0] < two[1]);
        Ok(read.id == id && is_ascending && left.iter().all(is_in))
    }

    /// Checks that the caller is told once of each frame that was dropped or has lapsed and of each checkpoint, and
    /// at least once of each refusal and of each value that has come.
    fn judge_told(&self, who: usize, batch: &Batch) -> Result {
        let back = Timeline::begin(&batch.events);
        let entries = batch.entries.iter();
        let entries = entries.filter(|entry| !back.contains(&entry.position));
        if who == 0 {
            let is_dropped = |entry: &&Entry| entry.kind == EntryKind::Dropped;
            let dropped = entries.clone().filter(is_dropped);
            let dropped = counted(dropped.map(|entry| entry.mid.clone()));
            let told = batch.events.iter().filter_map(|event| match event {
                Event::Dropped(mid) => Some(mid.clone()),
                _ => None,
            });
            if dropped != counted(told) {
                return Err(format!("dropped frames: {dropped:?}"));
            }
            for entry in entries.clone() {
                Self::judge_refusal_told(entry, batch)?;
            }
            Self::judge_values_told(batch)?;
        }
        if !self.is_plain(self.sides[who].id) && back.is_empty() {
            let is_control = |entry: &&Entry| entry.kind == EntryKind::Control;
            let taken = entries.filter(is_control);
            let taken = counted(taken.filter_map(|entry| checkpoint(&entry.text)));
            let told = batch.events.iter().filter_map(|event| match event {
                Event::Checkpoint(id) => Some(*id),
                _ => None,
            });
            let told = counted(told);
            let folded = self.folded(who, batch);
            // The side has the effect of such a checkpoint already, and tells nobody of it.
            let is_folded = |id: &u64| {
                let entries = batch
                    .entries
                    .iter()
                    .filter(|entry| entry.position <= folded);
                entries
                    .filter_map(|entry| checkpoint(&entry.text))
                    .any(|one| one == *id)
            };
            let mut missing = taken.iter().filter(|(id, n)| told.get(*id) != Some(*n));
            let are_taken = told.keys().all(|id| taken.contains_key(id));
            if !are_taken || !missing.all(|(id, _)| is_folded(id)) {
                return Err(format!("checkpoints: {taken:?}"));
            }
        }
        let lapsed = batch.lapsed.iter().filter_map(|at| {
            let at = *at as usize - 1;
            let entry = self.log.get(at).or_else(|| self.timeline.before.get(at));
            entry.map(|entry| entry.mid.clone())
        });
        let lapsed = counted(lapsed);
        let told = batch.events.iter().filter_map(|event| match event {
            Event::Lapsed(mid) => Some(mid.clone()),
            _ => None,
        });
        if lapsed != counted(told) && !self.timeline.has_lost() {
            return Err(format!("frames that have lapsed: {lapsed:?}"));
        }
        Ok(())
    }

    /// Returns the last position that a fold of the host may cover, with which a member began or begins.
    pub(super) fn folded(&self, who: usize, batch: &Batch) -> u64 {
        let side = &self.sides[who];
        let last = batch.entries.last().map(|entry| entry.position);
        let snapshot = batch.snapshot.as_ref().map(|snapshot| snapshot.position);
        // A snapshot of its own covers all entries of the side.
        let begins = who > 0 && snapshot.is_some() && snapshot != last;
        let covered = begins.then_some(self.log.len().max(self.timeline.before.len()) as u64);
        side.folded.max(covered.unwrap_or_default())
    }

    /// Checks that the caller and the sender are told of a refusal. A sender whose change was made for another
    /// version of the shared state must get to know the present version.
    fn judge_refusal_told(entry: &Entry, batch: &Batch) -> Result {
        let EntryKind::Refused(code) = entry.kind else {
            return Ok(());
        };
        let (sender, mid, text) = (entry.sender, &entry.mid, &*entry.text);
        let told = Event::Rejected(sender, Some(mid.clone()), code);
        if !batch.events.contains(&told) {
            return Err(format!("{mid}, which is refused with {code}"));
        }
        let is_change = is_a(text, ">sync:state{") && goals(text).next().is_none();
        if !is_change || code != ErrorCode::REF_NOT_FOUND {
            return Ok(());
        }
        let says = |send: &Transmit| {
            let is_it = send.to == sender && of(&send.text).as_ref() == Some(mid);
            is_it && field(&send.text, "v").is_some()
        };
        if batch.sends.iter().any(says) {
            return Ok(());
        }
        Err(format!("the version that {mid} must follow"))
    }

    /// Checks that the caller is told of the bytes of the members' values.
    fn judge_values_told(batch: &Batch) -> Result {
        let own = value_key(MemberId::HOST, 0);
        let own = own.trim_end_matches('0');
        for cold in batch.cold.iter().filter(|cold| cold.bytes.is_some()) {
            let is_told = batch.events.contains(&Event::Supplied(cold.key.clone()));
            if !is_told && !cold.key.starts_with(own) {
                return Err(format!("the bytes of {}", cold.key));
            }
        }
        Ok(())
    }

    /// Checks what a side says of a frame for a handler: its id, its chain, its time, and whether the handler may
    /// have had the frame before.
    pub(super) fn judge_inbound(&mut self, who: usize, inbound: &Inbound) -> Result {
        let (position, text) = (inbound.position(), inbound.text());
        let mid = mid_in(text, "mid");
        let chain = mid_in(text, "cid").or_else(|| mid.clone());
        let named = (inbound.mid().ok(), inbound.chain().ok());
        if named != (mid, chain) {
            return Err(format!("{position} is delivered as {named:?}: {text}"));
        }
        let left = time_left(text, self.now);
        if inbound.time_left(self.now) != left {
            return Err(format!("{position} has {left:?} left: {text}"));
        }
        let entry = self.log.get(position as usize - 1);
        let is_frame = entry.is_some_and(|entry| entry.kind == EntryKind::Frame);
        let has_lost = self.timeline.has_lost();
        let side = &mut self.sides[who];
        let (id, again) = (side.id, inbound.redelivered());
        let was_handed = !side.handed.insert(position);
        // A member that has left and joined again has, to its host, had all that came before the new join.
        let is_one = !self.timeline.was_put_back(id) && !self.codes.has_left(id);
        let is_first = is_frame && !side.has_started && is_one;
        let is_wrong = was_handed && !again || is_first && again;
        if is_wrong && !has_lost && side.plain.is_none() {
            return Err(format!(
                "{position} is delivered to {id} with redelivered = {again}"
            ));
        }
        Ok(())
    }

    /// Returns whether the `ttl` of a frame is over before its handler gets it, by the clock of its side.
    pub(super) fn has_lapsed(&self, who: usize, position: u64, text: &str, now: Time) -> bool {
        let ttl: i64 = number_in(text, "ttl").unwrap_or_default();
        let ts: i64 = number_in(text, "ts").unwrap_or(i64::MAX);
        let is_late = ts.saturating_add(ttl) < now.as_secs() - SKEW;
        let came = self.sides[who].came.get(&position);
        let is_old = came.is_some_and(|at| at.as_secs().saturating_add(ttl) < now.as_secs());
        ttl > 0 && (is_late || is_old)
    }
}

/// Returns the frame that an answer is about.
fn of(text: &str) -> Option<Mid> {
    mid_in(text, "of")
}

fn time_left(text: &str, now: Time) -> Option<Duration> {
    let (ts, ttl): (i64, i64) = (number_in(text, "ts")?, number_in(text, "ttl")?);
    let end = ts.saturating_add(ttl).saturating_mul(1000);
    let left = end.saturating_sub(now.as_millis()).max(0);
    let left = Duration::from_millis(left.unsigned_abs());
    (ttl > 0).then_some(left)
}
