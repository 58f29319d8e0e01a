//! Checks each step of a side: the batches that it keeps, the frames that leave its outbox, and the frames for its
//! handlers.

use std::ops::RangeInclusive;

use accp_runtime::session::{Event, Inbound, MemberId, Mid};
use accp_session::{Batch, Entry, EntryKind, OutboxChange, Outgoing};

use accp_runtime::ErrorCode;

use super::counts::Counts;
use super::node::Result;
use super::observer::Observer;
use super::text::{field, head, intent, is_a, mid_in};
use super::timeline::Timeline;

/// After a member has left, the log of the host takes at most this many of its frames.
const LOGGED: usize = 256;

impl Observer {
    /// Notes that a side has started from its store.
    pub(crate) fn started(&mut self, who: usize) {
        self.sides[who].starts_again();
        self.silent.clear();
        if who == 0 {
            self.asked.clear();
            self.bounds.starts_again();
            self.serving.starts_again();
            self.owes_nothing();
        }
    }

    /// Returns whether a side may leave out a reply that this message has caused.
    pub(crate) fn may_leave_out(&self, cause: &str) -> bool {
        let reply = format!("@a>req:help{{}}[mid:0,aid:{cause}]");
        self.chains.may_be_cancelled(&reply)
    }

    /// Notes that a handler has finished with a frame, and the number of its replies.
    pub(crate) fn answered(&mut self, who: usize, position: u64, replies: RangeInclusive<usize>) {
        self.sides[who].answers.insert(position, replies);
    }

    /// Checks a batch that a side has kept.
    pub(super) fn kept(
        &mut self,
        who: usize,
        batch: &Batch,
        events: &[Event],
        counts: &mut Counts,
    ) -> Result {
        let is_plain = self.sides[who].plain.is_some();
        if is_plain {
            self.followed_plainly(who, batch, events)?;
        }
        let mut missed = events.iter().filter_map(|event| match event {
            Event::Missed(positions) => Some(positions.clone()),
            _ => None,
        });
        let mut missed = missed.by_ref().filter(|_| !is_plain).peekable();
        for entry in batch.entries.iter().filter(|_| !is_plain) {
            while let Some(gap) = missed.next_if(|gap| *gap.end() < entry.position) {
                self.sides[who].missed(&gap)?;
                counts.missed += 1;
            }
            if who > 0 {
                self.followed(who, entry)?;
            }
            let given = self
                .chains
                .addresses
                .given_before(&entry.mid, entry.position);
            self.sides[who].took(entry, given)?;
        }
        for gap in missed {
            self.sides[who].missed(&gap)?;
            counts.missed += 1;
        }
        let every = self.snapshots;
        self.sides[who].snapped(batch.snapshot.as_ref(), every)?;
        self.note_renamed(who, batch, events)?;
        let renamed = events.iter().filter_map(|event| match event {
            Event::Retried { new, .. } => Some(new),
            _ => None,
        });
        counts.handled += batch.handled.len() as u64;
        let back = Timeline::begin(events);
        self.sides[who].handled(batch, &renamed.collect(), &back)?;
        self.judge_fates(who, batch, events)?;
        self.note_numbers(who, batch);
        for change in &batch.outbox {
            match change {
                OutboxChange::Put(frame) => self.put(who, frame)?,
                OutboxChange::Remove(mid) => self.removed(who, mid, events, counts)?,
            }
        }
        self.judge_room(who, batch.snapshot.as_ref())
    }

    /// Notes the frames that got another id, and checks that the outbox keeps them under the new id.
    fn note_renamed(&mut self, who: usize, batch: &Batch, events: &[Event]) -> Result {
        let id = self.sides[who].id;
        for event in events {
            let Event::Retried { old, new, .. } = event else {
                continue;
            };
            let kept = batch.outbox.iter().find_map(|change| match change {
                OutboxChange::Put(frame) if frame.mid == *new => Some(frame),
                _ => None,
            });
            if kept.is_none() && old != new {
                return Err(format!("{id} sends {old} as {new} and does not keep it"));
            }
            let Some((frame, n)) = kept.and_then(|frame| Some((frame, field(&frame.head, "n")?)))
            else {
                continue;
            };
            let at = self.consumed.get(old).map(|at| *at as usize - 1);
            let taken = at.and_then(|at| self.log.get(at));
            let is_it = |entry: &&Entry| {
                let tail = entry.text.strip_prefix(&*frame.head);
                let is_same = tail.is_some_and(|tail| tail.starts_with('['));
                is_same && entry.sender == id && entry.kind != EntryKind::Dropped
            };
            if old != new && taken.as_ref().is_some_and(is_it) {
                return Err(format!("{old} is in the log, and goes out again as {new}"));
            }
            self.timeline.renamed.insert((id, n));
        }
        Ok(())
    }

    /// Checks that a member copies the host's next relayed entry, unchanged.
    fn followed(&self, who: usize, copy: &Entry) -> Result {
        let side = &self.sides[who];
        if self.timeline.is_from_before(copy) {
            return Ok(());
        }
        let after = |last: &u64| {
            let rest = self.log.get(*last as usize..).unwrap_or_default();
            rest.iter().find(|entry| entry.kind.is_relayed())
        };
        let is_same = |entry: &Entry| {
            let facts = |e: &Entry| (e.position, e.kind, e.sender, e.to, e.tokens, e.cut);
            facts(entry) == facts(copy) && entry.mid == copy.mid && entry.text == copy.text
        };
        if side.lasts().iter().filter_map(after).any(is_same) {
            return Ok(());
        }
        let next = after(&side.last).map(|entry| entry.position);
        let (id, position) = (side.id, copy.position);
        Err(format!(
            "{id} copies {position}, which is not the next entry {next:?} or differs from it"
        ))
    }

    fn put(&mut self, who: usize, frame: &Outgoing) -> Result {
        let side = &mut self.sides[who];
        // A side with an older copy of its store does not know the last ids that it used, so a
        // frame may repeat one of them. The session gives the frame another id later.
        let may_repeat = self.timeline.was_put_back(side.id) && side.plain.is_none();
        let is_old = self.consumed.contains_key(&frame.mid);
        let is_used = !side.used.insert(frame.mid.clone());
        if (is_used || is_old) && !may_repeat {
            return Err(format!("{} uses {} again", side.id, frame.mid));
        }
        side.outbox.insert(frame.mid.clone(), frame.clone());
        if let Some(plain) = &mut side.plain {
            plain.since.insert(frame.mid.clone(), self.now);
        }
        Ok(())
    }

    /// Checks that a frame leaves an outbox only when its fate is known. A frame in parts has one
    /// fate, under the id of its first part.
    fn removed(&mut self, who: usize, mid: &Mid, events: &[Event], counts: &mut Counts) -> Result {
        let side = &mut self.sides[who];
        let id = side.id;
        let Some(frame) = side.outbox.remove(mid) else {
            return Err(format!("{id} forgets {mid}, which it has not kept"));
        };
        let text = frame.text(0);
        let first = text.contains(",pt:").then(|| mid_in(&text, "of")).flatten();
        let name = first.as_ref().unwrap_or(mid);
        let fate = events.iter().find(|event| match event {
            Event::Acknowledged(of)
            | Event::Refused(of, _)
            | Event::Cancelled(of)
            | Event::Expired(of) => of == name,
            Event::Retried { old, new, .. } => old == mid && new != mid,
            _ => false,
        });
        let entry = |mid: &Mid| {
            let at = self.consumed.get(mid);
            let entry = at.map(|at| &self.log[*at as usize - 1]);
            let entry = entry.or_else(|| self.timeline.entry(mid));
            entry.filter(|entry| entry.sender == id)
        };
        let has_words = |e: &&Entry| first.is_some() || head(&e.text) == frame.head;
        let is_consumed = entry(mid).as_ref().is_some_and(has_words);
        // The log has a frame in parts as a whole, under the id of the first part.
        let is_logged = |name: &Mid| {
            let is_it = |e: &Entry| {
                let words = first.is_some() || head(&e.text) == frame.head;
                words && e.mid == *name && e.kind.is_relayed()
            };
            entry(name).is_some_and(is_it) || first.is_some() && self.wholes.contains(name)
        };
        let is_dropped = entry(mid).is_some_and(|entry| entry.kind == EntryKind::Dropped);
        let is_true = match fate {
            // An entry of an earlier run may have the id, and the older copy may lack that entry
            // (docs/design/next.md).
            Some(Event::Acknowledged(_)) => {
                let is_missed = |entry: &Entry| !self.sides[who].held.contains_key(&entry.position);
                let was_put_back = self.timeline.was_put_back(id);
                is_logged(name) || was_put_back && entry(mid).is_some_and(is_missed)
            }
            // Another part may decide the fate of the frame.
            _ if first.is_some() && is_consumed => true,
            None if first.is_some() => self.ended.contains(name),
            None => return Err(format!("{id} forgets {mid} without an event")),
            Some(Event::Refused(_, error)) => {
                // If the host refuses the announcement of a value, it also refuses the frame that
                // refers to the value.
                let has_lost = self.timeline.has_lost();
                let of = error.of.clone().filter(|_| !is_consumed || has_lost);
                let refused = (id, of.unwrap_or_else(|| mid.clone()));
                let was_refused = self.refused.contains(&refused);
                // If an older copy of this member's store was put back, its frame may need values
                // that the host has refused.
                let may_be = self.timeline.was_put_back(id) && !is_consumed;
                // The host logs only a limited number of frames of a member that has left.
                let has_left = error.code == ErrorCode::POLICY_DENIED
                    && self.refused.iter().filter(|(of, _)| *of == id).count() >= LOGGED;
                has_left || was_refused || self.timeline.refused.contains(&refused) || may_be
            }
            Some(Event::Cancelled(_)) => {
                counts.withdrawn += 1;
                // The cancellation may be in the log that the host has lost.
                let may_be = self.chains.may_be_cancelled(&text) || self.timeline.has_lost();
                (!is_consumed || is_dropped) && may_be
            }
            Some(Event::Expired(_)) => {
                counts.told_expired += 1;
                let was_refused = self.refused.contains(&(id, mid.clone()));
                // In a flood, the host may have forgotten the cancellation that was the reason.
                let is_dropped = is_dropped || !is_consumed && self.may_give_up(id, mid, &text);
                let was_put_back = self.timeline.was_put_back(id);
                // What was dropped may be another frame, under the id that an older copy has used again.
                is_dropped && (self.is_flooded || text.contains(",ttl:") || was_put_back)
                    || was_refused && was_put_back
            }
            // A side with an older copy of its store may use an id again, even for a frame with the
            // same text.
            Some(_) => !is_consumed || self.timeline.was_put_back(id),
        };
        if first.is_some() && fate.is_some() {
            self.ended.insert(name.clone());
        }
        if !is_true {
            return Err(format!("{id} wrongly reports {mid} as {fate:?}"));
        }
        if !is_consumed && !self.timeline.was_put_back(id) {
            self.withdrawn.insert(mid.clone());
        }
        Ok(())
    }

    /// Checks a frame that is given to the handlers of a side.
    pub(crate) fn delivered(&mut self, who: usize, inbound: &Inbound) -> Result {
        let side = &mut self.sides[who];
        let (id, position) = (side.id, inbound.position());
        if !side.due.contains(&position) {
            return Err(format!(
                "{position} is delivered to {id} but does not wait there"
            ));
        }
        if position <= side.told {
            return Err(format!(
                "{position} is delivered to {id} after {}",
                side.told
            ));
        }
        side.told = position;
        if side.plain.is_some() {
            return self.delivered_plainly(who, inbound);
        }
        let is_it = |e: &Entry| (inbound.text(), inbound.sender()) == (&*e.text, e.sender);
        let is_here = self.log.get(position as usize - 1).is_some_and(is_it);
        let was_here = self.timeline.at(position).is_some_and(is_it);
        if !(is_here || was_here) {
            return Err(format!(
                "{position} is delivered to {id} as {}",
                inbound.text()
            ));
        }
        self.judge_inbound(who, inbound)
    }

    /// Checks that the token of a frame has fired if and only if the chain was cancelled. Returns
    /// whether the token has fired.
    pub(crate) fn judge_token(&self, who: usize, inbound: &Inbound) -> Result<bool> {
        let side = &self.sides[who];
        let fired = inbound.cancel_token().is_cancelled();
        let (id, position, text) = (side.id, inbound.position(), inbound.text());
        // The member may follow the log that the host has lost. Then it need not know of the cancellation.
        let follows = who == 0 || side.plain.is_none() && !self.timeline.has_lost();
        let again = inbound.redelivered();
        let is_cancelled = self.chains.is_cancelled(text, side.last, again);
        if !fired && follows && !self.is_flooded && is_cancelled {
            return Err(format!(
                "the handler of {position} at {id} is not told to stop"
            ));
        }
        // The cancellation may be in the log that the host has lost.
        let may_be = self.chains.may_be_cancelled(text) || self.timeline.has_lost();
        if fired && !may_be {
            return Err(format!("the handler of {position} at {id} is told to stop"));
        }
        Ok(fired)
    }

    /// Notes a frame that has arrived at the host.
    pub(crate) fn heard(&mut self, from: MemberId, text: &str) {
        self.silent.remove(&from);
        self.bounds.holds(from, text);
        self.hears_a_wish(from, text);
        if is_a(text, ">sync:registry{") {
            self.serving.greeted.insert(from);
        }
        if intent(text) == "ping" {
            self.asked.insert(from);
        }
    }
}
