//! Checks what is stored. At many instants, a side that is restored from its store must equal the running side, and
//! the store must have what the observer has seen the side keep.

use std::collections::BTreeSet;

use accp_runtime::DynamicFrame;
use accp_runtime::session::{Event, Inbound, MemberId, Mid, Outbound, Scope, Session, Time};
use accp_session::{Batch, Codec, OutboxChange, Outgoing, Output, Stored};
use accp_store::Store;

use super::World;
use super::disks::Disks;
use super::node::{Result, said};
use super::observer::Observer;
use super::text::{maker, meta, number_in};

/// In one of this many turns, the stored state of a side is checked. [`RARE`] is the same for turns with a rare
/// batch.
const USUAL: u64 = 60;
const RARE: u64 = 8;
/// This many of the newest entries of the log have their ids compared with the stored epoch.
const LATE: usize = 12;

/// The number, the value key and the id that a side would use next in a frame that announces a value.
#[derive(Debug, PartialEq, Eq)]
struct Next {
    sequence: Option<u64>,
    /// The key of the value.
    key: String,
    id: Mid,
}

fn next_of(session: &mut Session, now: Time) -> Option<Next> {
    let agent = session.options().agent.clone();
    let message = DynamicFrame::new(agent.as_str(), "req", "plan").ok()?;
    let message = message.with("text", "z".repeat(70)).into_owned();
    let encoded = Codec::new(session).encode(&Outbound::message(&message), now);
    let encoded = encoded.ok()?;
    let first = encoded.frames.first()?;
    Some(Next {
        sequence: number_in(first, "seq"),
        key: encoded.values.first()?.key.clone(),
        id: Mid::parse(meta(first, "mid")?),
    })
}

/// Returns whether a batch keeps something that only few batches keep.
pub(super) fn is_rare(batch: &Batch) -> bool {
    batch.snapshot.is_some()
        || batch.last_put.is_some()
        || batch.epoch.is_some()
        || batch.key.is_some()
        || !batch.registries.is_empty()
        || !batch.expired.is_empty()
        || !batch.lapsed.is_empty()
}

impl World {
    /// Restores a second side from the store of a side, and compares it with the running side, if this turn is to be
    /// checked.
    pub(super) fn judge_stored(&mut self, who: usize, committed: u64, rare: bool) -> Result {
        let every = if rare { RARE } else { USUAL };
        let turn = self.counts.steps + self.counts.frames + who as u64;
        let is_memory = matches!(self.disks, Disks::Memory(_));
        if committed == 0 || !turn.is_multiple_of(every) || self.nodes[who].plain || !is_memory {
            return Ok(());
        }
        let (id, now) = (self.nodes[who].id, self.room.now);
        let Some(side) = self.room.side(id) else {
            return Ok(());
        };
        let at = side.clock(now);
        let stored = {
            let mut store = side.store.lock().map_err(said)?;
            store.inner_mut().load(side.driver.side()).map_err(said)?
        };
        let Some(stored) = stored else {
            return Ok(());
        };
        let options = side.options.clone();
        self.counts.restored += 1;
        self.observer.judge_store(who, &stored)?;
        let again = if who == 0 {
            Session::restore_host(options, self.rules.clone(), &stored, at)
        } else {
            Session::restore_member(options, &stored, at)
        };
        let mut again = again.map_err(|error| format!("{who} cannot be restored: {error}"))?;
        let what = self.other_than_before(who, &stored, &mut again, at)?;
        match what {
            Some(what) => Err(format!("{who} would be restored with another {what}")),
            None => Ok(()),
        }
    }

    /// Returns what differs between the restored side and the running side; `None` if nothing does.
    fn other_than_before(
        &mut self,
        who: usize,
        stored: &Stored,
        again: &mut Session,
        at: Time,
    ) -> Result<Option<String>> {
        let id = self.nodes[who].id;
        let Some(side) = self.room.side(id) else {
            return Ok(None);
        };
        let lived = side.driver.session_mut().map_err(said)?;
        // A restored host may at once announce values or hand on requests. Then its log is longer.
        let goes_on = who == 0 && again.position() > lived.position();
        if goes_on || lived.rolled_back().is_some() {
            return Ok(None);
        }
        if again.position() != lived.position() {
            let (here, there) = (lived.position(), again.position());
            return Ok(Some(format!("position, {there} and not {here}")));
        }
        if again.state() != lived.state() {
            return Ok(Some("state".into()));
        }
        if again.outbox_len() != lived.outbox_len() {
            return Ok(Some("outbox".into()));
        }
        let schemas = lived.options().registry.hash();
        let knows_schemas = lived.state().schemas() == Some(schemas);
        if knows_schemas && again.options().registry.hash() != schemas {
            return Ok(Some("registry".into()));
        }
        if knows_schemas && again.context() != lived.context() {
            return Ok(Some("context".into()));
        }
        // The summary that has come for the last checkpoint is only in memory, so the restored side still wants it.
        let frames = |session: &Session| session.frames_to_sum_up().count();
        if frames(lived) != frames(again) && frames(lived) > 0 {
            return Ok(Some("list of frames to sum up".into()));
        }
        let is_early = self.observer.timeline.was_put_back(id) || self.observer.timeline.has_lost();
        let is_known = who == 0 || stored.outbox_sequence > 0 && lived.has_joined();
        if !is_early && is_known {
            let [before, after] = [next_of(lived, at), next_of(again, at)];
            if let (Some(before), Some(after)) = (before, after) {
                if before.key != after.key {
                    return Ok(Some(format!("next value, {after:?} and not {before:?}")));
                }
                // A member corrects its next number in memory only. `judge_number` checks the stored numbers.
                if who == 0 && before.sequence != after.sequence {
                    return Ok(Some(format!("next number, {after:?} and not {before:?}")));
                }
                let is_unused = epoch_of(&before.id) > Some(stored.epoch);
                let is_later = after.id > before.id || after.id == before.id && is_unused;
                if maker(&before.id) == maker(&after.id) && !is_later {
                    return Ok(Some(format!("next id, {after:?} and not {before:?}")));
                }
            }
        }
        Ok(self.judge_delivered(who, again))
    }

    /// Compares the frames that a restored side delivers to its handlers with the frames that wait for them.
    fn judge_delivered(&self, who: usize, again: &mut Session) -> Option<String> {
        let mut delivered = BTreeSet::new();
        let mut lapsed = false;
        while let Some(output) = again.poll() {
            if let Output::Batch(batch) = output {
                delivered.extend(batch.inbound.iter().map(Inbound::position));
                lapsed |= batch.events.iter().any(|e| matches!(e, Event::Lapsed(_)));
            }
        }
        let due = &self.observer.sides[who].due;
        if lapsed || delivered == *due {
            return None;
        }
        Some(format!(
            "list of frames to handle, {delivered:?} and not {due:?}"
        ))
    }
}

impl Observer {
    /// Notes whether frames have left an outbox before earlier frames.
    pub(super) fn note_numbers(&mut self, who: usize, batch: &Batch) {
        let gone = batch.outbox.iter().filter_map(|change| match change {
            OutboxChange::Remove(mid) => Some(mid),
            OutboxChange::Put(_) => None,
        });
        let gone: BTreeSet<&Mid> = gone.collect();
        let number = |mid: &Mid| {
            let at = *self.consumed.get(mid)? as usize;
            Some(self.log.get(at - 1)?.sequence)
        };
        let last = gone.iter().filter_map(|mid| number(mid)).max();
        let side = &self.sides[who];
        let stays = side.outbox.keys().filter(|mid| !gone.contains(mid));
        let is_early = stays.filter_map(number).any(|number| Some(number) < last);
        let is_empty = side.outbox.keys().all(|mid| gone.contains(mid));
        let side = &mut self.sides[who];
        side.is_unsure = !is_empty && (side.is_unsure || is_early);
    }

    /// Checks that a store gives back what its side has kept.
    fn judge_store(&self, who: usize, stored: &Stored) -> Result {
        let side = &self.sides[who];
        let id = side.id;
        let last = side.held.last_key_value().map_or(0, |(last, _)| *last);
        if !side.held.is_empty() && stored.last != last {
            return Err(format!(
                "the store of {id} ends at {}, not {last}",
                stored.last
            ));
        }
        let late = stored.entries.iter().filter(|entry| entry.is_due());
        let due: BTreeSet<u64> = stored.due.iter().chain(late).map(|e| e.position).collect();
        if due != side.due {
            let wanted = &side.due;
            return Err(format!("{due:?} wait in the store of {id}, not {wanted:?}"));
        }
        let is_kept = |frame: &Outgoing| side.outbox.get(&frame.mid) == Some(frame);
        if stored.outbox.len() != side.outbox.len() || !stored.outbox.iter().all(is_kept) {
            return Err(format!("the store of {id} has another outbox"));
        }
        if !stored.outbox.is_sorted_by_key(|frame| frame.order) {
            return Err(format!("the outbox of {id} is not in order"));
        }
        let put = self.last_put(id);
        if who == 0 && stored.last_put < put {
            return Err(format!("{id} has put {put}, and keeps {}", stored.last_put));
        }
        if self.timeline.has_lost() || self.timeline.was_put_back(id) {
            return Ok(());
        }
        let used = side.used.iter().chain(self.control_ids(id));
        let epochs = used.filter(|mid| maker(mid) == Some(id)).map(epoch_of);
        if let Some(epoch) = epochs.max().flatten().filter(|last| *last > stored.epoch) {
            return Err(format!(
                "{id} has used epoch {epoch}, and keeps {}",
                stored.epoch
            ));
        }
        if stored.last_put < put {
            return Err(format!("{id} has put {put}, and keeps {}", stored.last_put));
        }
        self.judge_number(who, stored)
    }

    /// Checks the numbers of an outbox, if each sender has its own numbering: the first frame that the host has not
    /// consumed gets the number that the host expects.
    fn judge_number(&self, who: usize, stored: &Stored) -> Result {
        let id = self.sides[who].id;
        let is_sure = stored.outbox_sequence > 0 && !self.sides[who].is_unsure;
        let is_known = self.scope == Scope::Sender && is_sure;
        let is_new = |frame: &Outgoing| !self.consumed.contains_key(&frame.mid);
        let first = stored.outbox.iter().position(is_new);
        let Some(first) = first.filter(|_| is_known) else {
            return Ok(());
        };
        let (number, next) = (
            stored.outbox_sequence + first as u64,
            self.next_sequence(id),
        );
        if number == next {
            return Ok(());
        }
        let mid = &stored.outbox[first].mid;
        Err(format!(
            "{id} keeps {number} as the number of {mid}, and {next} is next"
        ))
    }

    /// Returns the ids of the host's own entries among the newest entries of the log; no ids for a member.
    fn control_ids(&self, id: MemberId) -> impl Iterator<Item = &Mid> {
        let own = self.log.iter().rev().take(LATE);
        own.filter(move |entry| entry.sender == id && id == MemberId::HOST)
            .map(|entry| &entry.mid)
    }
}

/// Returns the epoch in an id that begins with a member number of three digits.
fn epoch_of(id: &Mid) -> Option<u32> {
    id.to_string().get(3..9)?.parse().ok()
}
