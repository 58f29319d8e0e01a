//! Puts older copies of stores back. An operator then decides what the host does.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::{Event, Input, LogKey, MemberId};
use accp_store::{MemoryStore, Store};

use super::World;
use super::node::{Result, said};
use super::seen::Seen;

/// The copies of a run, and the state of the operator.
#[derive(Debug, Default)]
pub(super) struct Copies {
    stores: BTreeMap<usize, Copy>,
    /// The sides whose store was put back. This happens to each side at most once in a run.
    back: BTreeSet<usize>,
    /// True if a member can give the host the entries that the host has lost.
    may_recover: bool,
    must_fork: bool,
    /// For how many turns the host has been stopped.
    stopped: u64,
    /// Members whose log is not the host's log, so the host has removed them.
    removed: BTreeSet<usize>,
    /// Values whose bytes the host cannot get from any member.
    gone: BTreeSet<String>,
}

/// A copy of a store, and what the observer knew of its side.
#[derive(Debug)]
struct Copy {
    store: MemoryStore,
    seen: Seen,
    /// The length of the host's log when the copy was made.
    last: usize,
}

impl Copies {
    /// Returns whether the store of a side was put back.
    pub(super) fn is_back(&self, who: usize) -> bool {
        self.back.contains(&who)
    }

    /// Returns whether the store of any side was put back.
    pub(super) fn has_back(&self) -> bool {
        !self.back.is_empty()
    }
}

/// After this many turns, the operator forks the log without the entries that the host has lost.
const PATIENCE: u64 = 400;

impl World {
    /// Copies the store of a side, or puts an older copy back.
    pub(super) fn copy_or_restore(&mut self) -> Result {
        let first = u64::from(!self.plan.host_copies);
        let who = first + self.rng.below(1 + self.plan.members as u64 - first);
        let who = who as usize;
        if self.nodes[who].is_unmet || self.copies.back.contains(&who) {
            return Ok(());
        }
        if self.room.side(self.nodes[who].id).is_none() {
            return Ok(());
        }
        let Some(copy) = self.copies.stores.remove(&who) else {
            if let Some(store) = self.disks.copy(who) {
                let copy = Copy {
                    store,
                    seen: self.observer.sides[who].clone(),
                    last: self.observer.log.len(),
                };
                self.copies.stores.insert(who, copy);
            }
            return Ok(());
        };
        self.disks.put_back(who, copy.store);
        self.counts.copies_back += 1;
        self.copies.back.insert(who);
        let id = self.nodes[who].id;
        // The restored side starts with new links.
        self.room.wire.cut(id);
        self.moves("put back", who);
        self.note(|| format!("{who} is put back to its copy"));
        if who == 0 {
            self.observer.rewind(&self.plan, copy.seen, copy.last)?;
        } else {
            self.nodes[who].is_unmet = true;
            self.observer.put_back(who, copy.seen);
        }
        self.restart(who)?;
        for member in 1..self.nodes.len() {
            if let Some((session, at)) = self.session(member)?.filter(|_| who == 0) {
                let connected = Input::Connected(MemberId::HOST);
                session.handle(connected, at).map_err(said)?;
            }
        }
        Ok(())
    }

    /// Takes note of what the host says of its log.
    pub(super) fn hear_of_the_log(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::RolledBack { .. } => {
                    self.counts.rolled_back += 1;
                    self.copies.may_recover = true;
                }
                Event::NotRecovered(_) => self.copies.must_fork = true,
                Event::Unavailable(key) => {
                    let owner = key.get(1..4).and_then(|owner| owner.parse().ok());
                    let owner = owner.and_then(MemberId::new);
                    if owner.is_some_and(|owner| self.observer.timeline.was_put_back(owner)) {
                        self.copies.gone.insert(key.clone());
                    }
                }
                Event::Recovered(_) => self.counts.recovered += 1,
                Event::Removed(member) => {
                    self.counts.removed += 1;
                    let who = member.number() - MemberId::HOST.number();
                    self.copies.removed.insert(usize::from(who));
                }
                _ => {}
            }
        }
    }

    /// Lets the operator decide what a stopped host does, at once or in a later turn.
    pub(super) fn decide(&mut self) -> Result {
        let now = self.host_clock();
        if self.room.host.session().rolled_back().is_none() {
            self.copies.stopped = 0;
            (self.copies.may_recover, self.copies.must_fork) = (false, false);
            self.open_anew()?;
            let host = self.room.host.driver.session_mut().map_err(said)?;
            for key in std::mem::take(&mut self.copies.gone) {
                self.observer.authority.wishes.expiries.insert(key.clone());
                host.handle(Input::Expire(&[&key]), now).map_err(said)?;
            }
            return Ok(());
        }
        self.copies.stopped += 1;
        let waits_in_vain = self.copies.stopped > PATIENCE;
        if self.copies.must_fork || waits_in_vain {
            self.moves("fork", 0);
        }
        let host = self.room.host.driver.session_mut().map_err(said)?;
        if self.copies.must_fork || waits_in_vain {
            let secret = [1 + self.counts.forks as u8; 32];
            host.handle(Input::Fork(LogKey::new(secret)), now)
                .map_err(said)?;
            self.counts.forks += 1;
            self.note(|| "the host forks its log".into());
        } else if self.copies.may_recover && self.rng.per_mille(200) {
            self.copies.may_recover = false;
            self.moves("recover", 0);
            let host = self.room.host.driver.session_mut().map_err(said)?;
            // Since the host has learnt that a member is ahead of it, the host may have restarted and may have
            // forgotten this member. Then there is nothing to recover.
            if host.handle(Input::Recover, now).is_ok() {
                self.note(|| "the host recovers its log".into());
            }
        }
        Ok(())
    }

    /// Opens new sides for the members whose log is not the host's log.
    fn open_anew(&mut self) -> Result {
        let now = self.host_clock();
        while let Some(who) = self.copies.removed.pop_first() {
            if who > self.room.members.len() {
                continue;
            }
            self.note(|| format!("{who} is opened anew"));
            let id = self.nodes[who].id;
            self.copies.stores.remove(&who);
            self.observer.begin_anew(who);
            self.nodes[who].starts_again();
            self.room.members[who - 1] = self.open(who)?;
            self.let_in(who)?;
            // The bytes that only this member had are lost.
            let mut gone = Vec::new();
            let prefix = format!("k{id}_");
            for key in self
                .observer
                .keys()
                .iter()
                .filter(|key| key.starts_with(&prefix))
            {
                let host = &mut self.room.host;
                let kept = host.store.cold(host.driver.side(), key).map_err(said)?;
                if kept.is_none_or(|kept| kept.value.bytes.is_none()) {
                    gone.push(key.clone());
                    let session = host.driver.session_mut().map_err(said)?;
                    session.handle(Input::Expire(&[key]), now).map_err(said)?;
                }
            }
            self.observer.authority.wishes.expiries.extend(gone);
        }
        Ok(())
    }
}
