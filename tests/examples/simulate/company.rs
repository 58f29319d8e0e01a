//! Lets members enter, leave and come back.

use accp_runtime::AgentId;
use accp_runtime::session::{Input, InputError, MemberId};
use accp_testkit::Side;

use super::World;
use super::effects::{judge_presence, judge_rank};
use super::node::{Result, said};
use super::tape::{Kept, Tape};

impl World {
    /// Lets a member join at the host, and opens its side.
    pub(super) fn enter(&mut self, who: usize) -> Result {
        self.note(|| format!("{who} enters"));
        let side = self.open(who)?;
        self.let_in(who)?;
        self.room.members.push(side);
        Ok(())
    }

    /// Opens the side of a member with an empty store.
    pub(super) fn open(&mut self, who: usize) -> Result<Side<Kept>> {
        let store = Tape::store(&self.tape, self.disks.open(who));
        self.nodes[who].open(&self.plan, store, self.room.now)
    }

    /// Lets the late member join, unless it has joined already.
    pub(super) fn enter_late(&mut self) -> Result {
        let last = self.plan.members;
        let has_lost = self.room.host.session().rolled_back().is_some();
        if self.room.members.len() == last || has_lost {
            return Ok(());
        }
        self.enter(last)
    }

    /// Lets the host remove a member, or lets a removed member in again.
    pub(super) fn come_or_go(&mut self) -> Result {
        if self.room.host.session().rolled_back().is_some() || self.room.members.is_empty() {
            return Ok(());
        }
        let at = self.rng.below(self.room.members.len() as u64) as usize;
        let id = self.room.members[at].id;
        if self.is_absent(id) {
            return self.let_in(at + 1);
        }
        self.claim_another(at + 1)?;
        let now = self.host_clock();
        let host = self.room.host.driver.session_mut().map_err(said)?;
        host.handle(Input::Leave(id), now).map_err(said)?;
        judge_presence(host, id, false)?;
        self.moves("leave", 0);
        self.counts.left += 1;
        self.note(|| format!("{id} leaves"));
        Ok(())
    }

    /// Lets a member ask for the name of another side. The host must refuse this.
    fn claim_another(&mut self, who: usize) -> Result {
        let other = self.rng.below(1 + self.room.members.len() as u64) as usize;
        if other == who {
            return Ok(());
        }
        let names = [self.nodes[who].agent, self.nodes[other].agent];
        let agents = names.map(|name| AgentId::new(name).map_err(said));
        let agents: Vec<_> = agents.into_iter().collect::<Result<_>>()?;
        let now = self.host_clock();
        let host = self.room.host.driver.session_mut().map_err(said)?;
        let supervisor = false;
        let agents = &*agents;
        match host.handle(Input::Join { agents, supervisor }, now) {
            Err(InputError::Join(_)) => Ok(()),
            joined => Err(format!("{who} takes the name of {other}: {joined:?}")),
        }
    }

    /// Lets all members that have left join again.
    pub(super) fn let_all_in(&mut self) -> Result {
        if self.room.host.session().rolled_back().is_some() {
            return Ok(());
        }
        for at in 0..self.room.members.len() {
            if self.is_absent(self.room.members[at].id) {
                self.let_in(at + 1)?;
            }
        }
        Ok(())
    }

    /// Lets a member in, for the first time or again.
    pub(super) fn let_in(&mut self, who: usize) -> Result {
        if self.plan.supervised && self.plan.leaves > 0 {
            self.nodes[who].supervises = self.rng.per_mille(300);
        }
        let (id, supervises) = (self.nodes[who].id, self.nodes[who].supervises);
        if let Some(side) = self.room.side(id) {
            side.supervises = supervises;
        }
        self.moves("join", 0);
        let agent = AgentId::new(self.nodes[who].agent).map_err(said)?;
        let was_here = !self.is_new(id) && !self.is_absent(id);
        let joined = self.room.let_in(&agent, supervises).map_err(said)?;
        if joined != id {
            return Err(format!("@{agent} is {id} and joins as {joined}"));
        }
        let host = self.room.host.session();
        if !was_here {
            judge_rank(host, id, supervises)?;
        }
        judge_presence(host, id, true)
    }

    fn is_new(&self, id: MemberId) -> bool {
        let mut members = self.room.host.session().state().members();
        members.all(|(member, _)| member != id)
    }

    fn is_absent(&self, id: MemberId) -> bool {
        let mut members = self.room.host.session().state().members();
        members.any(|(member, party)| member == id && !party.present)
    }
}
