//! Takes the observer back when an older copy of a store is put back, and checks the entries that come back later.

use accp_session::{Entry, EntryKind};

use super::chains::chain_of;
use super::counts::Counts;
use super::draft::Plain;
use super::node::Result;
use super::observer::Observer;
use super::plan::RunPlan;
use super::seen::Seen;
use super::text::is_a;
use super::timeline::is_same;

impl Observer {
    /// Takes the log of the host back to a position.
    pub(crate) fn rewind(&mut self, plan: &RunPlan, host: Seen, last: usize) -> Result {
        let mut fresh = Self::new(plan);
        let mut counts = Counts::default();
        fresh.timeline.is_replayed = true;
        fresh.enemy = self.enemy;
        fresh.timeline.early = std::mem::take(&mut self.timeline.early);
        fresh.timeline.renamed = std::mem::take(&mut self.timeline.renamed);
        fresh.timeline.early.extend(self.senders.keys());
        std::mem::swap(&mut fresh.sides, &mut self.sides);
        fresh.authority.wishes = std::mem::take(&mut self.authority.wishes);
        for entry in &self.log[..last] {
            fresh.decided(entry, &mut counts)?;
        }
        fresh.timeline.is_replayed = false;
        for side in &mut fresh.sides[1..] {
            let joined = fresh.senders.get(&side.id).map(|sender| sender.joined);
            side.host_goes_back(last as u64, joined);
        }
        fresh.timeline.before = std::mem::take(&mut self.log);
        fresh.timeline.refused = std::mem::take(&mut self.refused);
        fresh.codes.remember(&mut self.codes);
        let expired = fresh
            .log
            .iter()
            .filter(|e| e.kind == EntryKind::Control && is_a(&e.text, ">sync:expire{"));
        let expired: String = expired.map(|entry| entry.text.as_ref()).collect();
        let is_expired = |key: &String| {
            [',', ']']
                .iter()
                .any(|end| expired.contains(&format!("{key}{end}")))
        };
        fresh.expired = std::mem::take(&mut self.expired);
        fresh.expired.retain(is_expired);
        fresh.ended = std::mem::take(&mut self.ended);
        fresh.wholes.append(&mut self.wholes);
        fresh.sides[0] = host;
        let drafts = fresh
            .sides
            .iter_mut()
            .filter_map(|side| side.plain.as_mut());
        drafts.for_each(Plain::loses);
        fresh.values = std::mem::take(&mut self.values);
        fresh.has_discarded = self.has_discarded;
        *self = fresh;
        Ok(())
    }

    /// Takes a member back to an older state.
    pub(crate) fn put_back(&mut self, who: usize, copy: Seen) {
        let used = std::mem::take(&mut self.sides[who].used);
        let id = copy.id;
        self.sides[who] = copy;
        let joined = self.senders.get(&id).map_or(0, |sender| sender.joined);
        let side = &mut self.sides[who];
        side.joins(joined);
        if let Some(plain) = side.plain.as_mut().filter(|_| self.timeline.has_lost()) {
            plain.loses();
        }
        // The side may use an id again if no frame with that id was consumed.
        let is_plain = self.sides[who].plain.is_some();
        let used = used
            .into_iter()
            .filter(|mid| is_plain || self.consumed.contains_key(mid));
        self.sides[who].used.extend(used);
        self.timeline.early.insert(id);
        // The side may again send frames that it had given up.
        self.withdrawn.clear();
    }

    /// Forgets the state of a member whose store was deleted.
    pub(crate) fn begin_anew(&mut self, who: usize) {
        let id = self.sides[who].id;
        let mut seen = Seen::new(who, true);
        seen.used = std::mem::take(&mut self.sides[who].used);
        seen.used.retain(|mid| self.consumed.contains_key(mid));
        // The member may have joined again already, with its old store.
        if !self.left.contains_key(&id) {
            seen.joins(self.senders.get(&id).map_or(0, |sender| sender.joined));
        }
        self.sides[who] = seen;
        self.timeline.early.insert(id);
    }

    /// Checks an entry that the host has recovered from a member.
    pub(super) fn came_back(&mut self, entry: &Entry, counts: &mut Counts) -> Result {
        let position = entry.position;
        if position != self.log.len() as u64 + 1 {
            return Err(format!("the log goes on at {position}"));
        }
        let Some(before) = self.timeline.before.get(position as usize - 1) else {
            return Err(format!("{position} comes back and was never there"));
        };
        let is_relayed = before.kind.is_relayed();
        if is_relayed != is_same(before, entry) || is_relayed == (entry.kind == EntryKind::Lost) {
            return Err(format!(
                "{position} comes back as something else: {}",
                entry.text
            ));
        }
        self.judge_authority(entry)?;
        if self.is_handed_on(entry)? {
            return Ok(());
        }
        self.is_new(entry)?;
        if entry.sequence > 0 {
            self.consumed_by(entry)?;
        }
        self.pays(entry, counts)?;
        match entry.kind {
            EntryKind::Frame => {
                counts.frames += 1;
                self.accepted(entry, counts)?;
            }
            EntryKind::Control => {
                self.timeline.is_replayed = true;
                let read = self.controlled(entry, counts);
                self.timeline.is_replayed = false;
                read?;
            }
            _ => {}
        }
        self.log.push(entry.clone());
        Ok(())
    }

    /// Checks a request that is handed on, and adds it to the log. Returns false for any other entry.
    pub(super) fn is_handed_on(&mut self, entry: &Entry) -> Result<bool> {
        if entry.kind != EntryKind::Repeat || entry.to.is_none() {
            return Ok(false);
        }
        let chain = chain_of(&entry.text).unwrap_or_else(|| entry.mid.clone());
        self.chains.addresses.hands_on(entry, &chain)?;
        self.log.push(entry.clone());
        Ok(true)
    }
}
