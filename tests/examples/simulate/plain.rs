//! Checks members that speak the draft alone (docs/design/peers.md, Peers of the draft alone). Such a member has a
//! log of its own, whose positions are not those of the host.

use std::sync::Arc;

use accp_registry::Hash;
use accp_runtime::session::{Event, Inbound, MemberId, Mid};
use accp_runtime::{DynamicFrame, Value};
use accp_session::{Batch, Entry, EntryKind};

use super::World;
use super::draft::Plain;
use super::node::{REGISTRY, Result, said};
use super::observer::Observer;
use super::text::{field, head, intent, is_a, meta, mid_in, number_in};

/// The start of the frame in which the host sends the whole shared state.
const STATE: &str = "@hub>sync:state{";
/// The host must put the values into a frame in place of references, if the frame then has fewer bytes than this.
const ROOM: usize = 4096;

impl Observer {
    /// Returns what is known of a member that speaks the draft alone.
    fn plain(&self, id: MemberId) -> Option<&Plain> {
        let side = self.sides.iter().find(|side| side.id == id)?;
        side.plain.as_ref()
    }

    /// Returns whether a member speaks the draft alone.
    pub(super) fn is_plain(&self, id: MemberId) -> bool {
        self.plain(id).is_some()
    }

    /// Notes the bytes of values that the host has now.
    pub(super) fn note_values(&mut self, batch: &Batch) {
        self.fresh.clear();
        for cold in &batch.cold {
            self.values.insert((cold.key.clone(), cold.digest));
            let Some(bytes) = &cold.bytes else { continue };
            self.fresh.insert(cold.key.clone());
            // A value with a mark of this library stays a reference, because a member that speaks
            // only the draft would misread it.
            let is_marked = bytes.iter().any(|byte| matches!(byte, b'"' | b'#'))
                || bytes.windows(3).any(|three| three == b"{_:");
            if !is_marked {
                self.bytes.insert(cold.key.clone(), bytes.len());
            }
        }
    }

    /// Returns the entry with an id in the host's log, or in the log that the host has lost.
    fn entry_of(&self, mid: &Mid) -> Option<&Entry> {
        let log = self.log.iter().rev();
        let mut all = log.chain(&self.timeline.before);
        // A request that is handed on has the id of the original entry. The original entry is returned.
        let is_handed_on = |entry: &Entry| entry.kind == EntryKind::Repeat && entry.to.is_some();
        all.find(|entry| entry.kind.is_relayed() && entry.mid == *mid && !is_handed_on(entry))
    }

    /// Checks what a member takes into its log: frames of the host's log in their order and once each, and the
    /// member's own frames once the host has them.
    pub(super) fn followed_plainly(
        &mut self,
        who: usize,
        batch: &Batch,
        events: &[Event],
    ) -> Result {
        let id = self.sides[who].id;
        for event in events {
            let Event::Missed(numbers) = event else {
                continue;
            };
            let is_change = self.is_change(*numbers.start()) && numbers.start() == numbers.end();
            let may_miss = is_change || self.may_miss(id);
            if let Some(plain) = self.sides[who].plain.as_mut() {
                // A late hello may have set the member's number back. Then the member has these
                // frames already.
                if !may_miss && *numbers.end() > plain.highest {
                    return Err(format!("{id} has missed {numbers:?}, which the host has"));
                }
                plain.missed.extend(may_miss.then(|| numbers.clone()));
            }
        }
        for entry in &batch.entries {
            let (position, last) = (entry.position, self.sides[who].last);
            if position != last + 1 {
                return Err(format!("{id} goes on at {position} after {last}"));
            }
            let is_own = entry.sender != MemberId::HOST;
            let place = self.judge_taken(id, is_own, entry)?;
            let side = &mut self.sides[who];
            side.notes(entry, !is_own)?;
            let Some(plain) = &mut side.plain else {
                continue;
            };
            if !plain.got.insert(entry.mid.clone()) {
                return Err(format!("{id} takes {} again", entry.mid));
            }
            plain.texts.insert(position, Arc::clone(&entry.text));
            match place {
                Some(place) => plain.newest = place.max(plain.newest),
                None => plain.version = field(&entry.text, "v").unwrap_or(plain.version),
            }
        }
        if let (Some(next), Some(plain)) = (batch.outbox_sequence, &mut self.sides[who].plain) {
            (plain.number, plain.is_met) = (next.saturating_sub(1), true);
            plain.highest = plain.highest.max(plain.number);
        }
        Ok(())
    }

    /// Returns whether a number belongs to a change of the shared state. A member may not be able to make such a
    /// change (E2001).
    fn is_change(&self, number: u64) -> bool {
        let mut log = self.log.iter().filter(|entry| entry.sequence == number);
        log.any(|entry| is_a(&entry.text, ">sync:state{"))
    }

    /// Returns whether the host may lack frames that the member has not got, because the host has discarded them, or
    /// because the host or the member has an older copy of its store.
    fn may_miss(&self, id: MemberId) -> bool {
        self.has_discarded || self.timeline.has_lost() || self.timeline.was_put_back(id)
    }

    /// Returns whether a member may give up a frame about which its host says nothing: the host must have a reason
    /// to drop the frame.
    pub(super) fn may_give_up(&self, id: MemberId, mid: &Mid, text: &str) -> bool {
        let Some(plain) = self.plain(id) else {
            return false;
        };
        let ttl = number_in::<i64>(text, "ttl").unwrap_or_default();
        let since = plain.since.get(mid).map_or(0, |since| since.as_secs());
        // Two clocks differ by at most two thirds of the tolerance, and the timestamp is in
        // seconds. So a frame that the host drops is too old by a third of the tolerance, less a
        // second.
        let has_expired = self.now.as_secs() - since + 1 >= ttl + self.skew / 3;
        let may_differ = !self.is_steady || self.timeline.has_lost();
        has_expired || may_differ || self.chains.may_be_cancelled(text)
    }

    /// Notes that the host has to send a copy of an answer to a member that speaks the draft alone.
    pub(super) fn owes(&mut self, id: MemberId, mid: &Mid) {
        if let Some(plain) = self.plain_mut(id) {
            plain.owed.insert(mid.clone());
        }
    }

    /// Notes that the host starts again. The copies that it was about to send are lost.
    pub(super) fn owes_nothing(&mut self) {
        let drafts = self.sides.iter_mut();
        let drafts = drafts.filter_map(|side| side.plain.as_mut());
        drafts.for_each(|plain| plain.owed.clear());
    }

    fn plain_mut(&mut self, id: MemberId) -> Option<&mut Plain> {
        let side = self.sides.iter_mut().find(|side| side.id == id)?;
        side.plain.as_mut()
    }

    /// Checks an entry of a member's own log. Returns the position of the frame in the host's log, or `None` if the
    /// entry has the whole shared state.
    fn judge_taken(&self, id: MemberId, is_own: bool, copy: &Entry) -> Result<Option<u64>> {
        let (mid, text) = (&copy.mid, &copy.text);
        let is_state = !is_own && text.starts_with(STATE);
        let Some(entry) = self
            .entry_of(mid)
            .filter(|_| !self.may_share_its_id(is_state))
        else {
            let what = || format!("{id} takes {mid}, which is not in the log: {text}");
            return is_state.then_some(None).ok_or_else(what);
        };
        let is_copy = entry.kind == EntryKind::Repeat && intent(&entry.text) != "req";
        let is_for_it = if is_own {
            entry.sender == id
                && entry.kind != EntryKind::Control
                && head(text) == head(&entry.text)
        } else {
            let is_right = match entry.kind {
                EntryKind::Frame => entry.sender != id,
                _ => is_copy && entry.sender == id,
            };
            is_right && self.is_said(entry, text)?
        };
        if !is_for_it {
            return Err(format!("{id} takes {mid} as something else: {text}"));
        }
        // A copy of an answer has no number of its own.
        if is_copy {
            return Ok(Some(0));
        }
        let plain = self.plain(id);
        let newest = plain.map_or(0, |plain| plain.newest);
        // An answer with the last number that the member has missed may be a copy for this member. So such an answer
        // may come late.
        let number = number_in::<u64>(text, "seq");
        let mut missed = plain.iter().flat_map(|plain| &plain.missed);
        let is_late = missed.any(|missed| number == Some(*missed.end()));
        let is_before = entry.position <= newest && !is_own && !is_late;
        if is_before && !self.timeline.has_lost() {
            let position = entry.position;
            return Err(format!("{id} takes {position} after {newest}"));
        }
        Ok(Some(entry.position))
    }

    /// Returns whether another entry may have the id of this text. A host with an older copy may give its state an
    /// id that an entry already had, until a member tells the host of that entry.
    fn may_share_its_id(&self, is_state: bool) -> bool {
        is_state && self.timeline.has_lost()
    }

    /// Returns whether a text has the same content as an entry of the log, perhaps with values in place of
    /// references.
    fn is_said(&self, entry: &Entry, text: &str) -> Result<bool> {
        let tail = |text: &str| -> String {
            let is_seq = |pair: &&str| entry.kind == EntryKind::Frame || !pair.starts_with("seq:");
            let metadata = text.rfind("}[").map_or("", |at| &text[at + 2..]);
            metadata.split(',').filter(is_seq).collect()
        };
        if tail(&entry.text) != tail(text) {
            return Ok(false);
        }
        if head(&entry.text) == head(text) {
            return Ok(true);
        }
        let [wanted, here] = [&entry.text, text].map(|text| DynamicFrame::decode(text, &REGISTRY));
        let (wanted, here) = (wanted.map_err(said)?, here.map_err(said)?);
        let is_same = |(name, value): (&str, &Value<'_>)| match (value, here.payload.get(name)) {
            (Value::Ref(key), Some(put)) if !matches!(put, Value::Ref(_)) => {
                let key = key.strip_prefix("cold.").unwrap_or(key).to_owned();
                let digest = Hash::of(put.to_string().as_bytes());
                self.values.contains(&(key, digest))
            }
            (value, put) => put == Some(value),
        };
        let header = |text: &str| text.split('{').next().map(String::from);
        Ok(header(&entry.text) == header(text)
            && wanted.payload.len() == here.payload.len()
            && wanted.payload.iter().all(is_same))
    }

    /// Checks a frame that the host sends to a member that speaks the draft alone.
    pub(super) fn says_plainly(&mut self, to: MemberId, text: &str) -> Result {
        let mid = Mid::parse(meta(text, "mid").unwrap_or_default());
        let number = number_in::<u64>(text, "seq").unwrap_or_default();
        let is_link = mid.to_string().starts_with('9');
        // A host that does not know this member yet sends positions of the log instead of numbers.
        let last = if is_link {
            self.log.len() as u64
        } else {
            self.shared
        };
        if number > last && !self.timeline.has_lost() {
            return Err(format!("{to} is told of {number}, which is not durable"));
        }
        if is_link {
            // After a hello, the host continues at the number that the member has sent. So the host owes the member
            // no copies of earlier answers.
            if text.starts_with("@hub>sync:registry{")
                && let Some(plain) = self.plain_mut(to)
            {
                plain.owed.clear();
            }
            return match mid_in(text, "of") {
                Some(of) if of != Mid::parse("~") => self.answers(to, &of, text),
                _ => Ok(()),
            };
        }
        let is_state = text.starts_with(STATE);
        let Some(entry) = self.entry_of(&mid) else {
            let nothing = || format!("{to} is told of nothing");
            return is_state.then_some(()).ok_or_else(nothing);
        };
        if self.may_share_its_id(is_state) {
            return Ok(());
        }
        if !self.is_said(entry, text)? {
            return Err(format!("{to} is told something else than {}", entry.text));
        }
        if let Some(plain) = self.plain_mut(to) {
            plain.owed.remove(&mid);
        }
        self.judge_values_in(to, text)
    }

    /// Checks that the host has put values in place of references, if the frame has room for the values.
    fn judge_values_in(&self, to: MemberId, text: &str) -> Result {
        let message = DynamicFrame::decode(text, &REGISTRY).map_err(said)?;
        let mut room = text.len();
        let mut left = Vec::new();
        for (_, value) in message.payload.iter() {
            let Value::Ref(key) = value else { continue };
            let key = key.strip_prefix("cold.").unwrap_or(key);
            let bytes = self.bytes.get(key);
            let is_gone = self.expired.contains(key) || self.fresh.contains(key);
            if let Some(bytes) = bytes.filter(|_| !is_gone && !self.timeline.has_lost()) {
                room += bytes;
                left.push(key.to_owned());
            }
        }
        match left.first().filter(|_| room < ROOM) {
            Some(key) => Err(format!("{to} gets no value for {key}")),
            None => Ok(()),
        }
    }

    /// Checks a frame from a member that speaks the draft alone. The frame must be in the member's outbox, or be
    /// about the link. A frame about the link must not claim a number that the host has not kept.
    pub(super) fn leaves_plainly(&self, who: usize, text: &str) -> Result {
        let side = &self.sides[who];
        let mid = Mid::parse(meta(text, "mid").unwrap_or_default());
        if let Some(frame) = side.outbox.get(&mid) {
            let is_it = frame.head == head(text);
            return is_it
                .then_some(())
                .ok_or_else(|| format!("{who} sends something else as {mid}"));
        }
        let starts = [
            "ack:frame",
            "ping:link",
            "pong:link",
            "fail:error",
            "sync:registry",
        ];
        let said = text.split_once('>').map_or("", |(_, said)| said);
        if !starts.iter().any(|start| said.starts_with(start)) {
            return Err(format!("{who} sends what is not in its outbox"));
        }
        let held = number_in::<u64>(text, "seq").unwrap_or_default();
        if held > self.shared && !self.timeline.has_lost() {
            return Err(format!("{who} says it holds {held}, which is not there"));
        }
        Ok(())
    }

    /// Checks a frame for the handlers of a member that speaks the draft alone.
    pub(super) fn delivered_plainly(&self, who: usize, inbound: &Inbound) -> Result {
        let (side, position) = (&self.sides[who], inbound.position());
        let kept = side
            .plain
            .as_ref()
            .and_then(|plain| plain.texts.get(&position));
        if kept.is_some_and(|kept| **kept == *inbound.text()) {
            return Ok(());
        }
        let (id, text) = (side.id, inbound.text());
        Err(format!("{position} is delivered to {id} as {text}"))
    }

    /// Checks that each member that speaks the draft alone has got every frame since it joined. Only the frames
    /// that the member was told it has missed may be missing.
    pub(super) fn judge_plain(&self) -> Result {
        for side in &self.sides {
            let Some(plain) = &side.plain else { continue };
            if let Some(mid) = plain.owed.first() {
                return Err(format!("{} is sent no copy {mid} of an answer", side.id));
            }
            let since = self
                .log
                .iter()
                .filter(|entry| entry.position > plain.joined);
            for entry in since.filter(|e| e.kind == EntryKind::Frame && e.sender != side.id) {
                let number = number_in(&entry.text, "seq").unwrap_or_default();
                let is_told = is_a(&entry.text, ">sync:state{")
                    && field(&entry.text, "v") <= Some(plain.version);
                let is_excused = is_told
                    || number <= plain.lost
                    || plain.missed.iter().any(|missed| missed.contains(&number));
                if !is_excused && !plain.got.contains(&entry.mid) {
                    return Err(format!("{} never got {}", side.id, entry.text));
                }
            }
        }
        Ok(())
    }
}

impl World {
    /// Returns the member that has sent what a handler gets. A member that speaks the draft alone gets everything
    /// from the host.
    pub(super) fn sender_of(&self, who: usize, inbound: &Inbound) -> MemberId {
        if !self.nodes[who].plain {
            return inbound.sender();
        }
        let agent = inbound.text().strip_prefix('@').unwrap_or_default();
        let agent = agent.split('>').next().unwrap_or_default();
        let node = self.nodes.iter().find(|node| node.agent == agent);
        let sender = node.map(|node| node.id).or(self.observer.enemy);
        sender.unwrap_or(MemberId::HOST)
    }

    /// Checks that each member that speaks the draft alone has the shared state of the host.
    pub(super) fn judge_plain_state(&self) -> Result {
        let host = self.room.host.session().state().shared();
        for (node, side) in self.nodes.iter().skip(1).zip(&self.room.members) {
            let plain = self.observer.plain(node.id);
            let Some(plain) = plain.filter(|_| !self.observer.timeline.has_lost()) else {
                continue;
            };
            let own = side.session().state().shared();
            let is_same = own.version() == host.version() && own.entries() == host.entries();
            if !is_same && plain.missed.is_empty() {
                let (own, other) = (own.entries(), host.entries());
                return Err(format!("@{} has {own} and not {other}", node.agent));
            }
        }
        Ok(())
    }
}
