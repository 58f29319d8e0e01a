//! Members that leave and come back, and members that supervise.

use super::World;
use super::node::{Result, said};
use accp_runtime::AgentId;
use accp_runtime::session::{Input, MemberId};

impl World {
    /// Lets the host remove a member, or lets one in again that was removed.
    pub(super) fn come_or_go(&mut self) -> Result {
        if self.room.host.session().lost_time().is_some() || self.room.members.is_empty() {
            return Ok(());
        }
        let at = self.rng.below(self.room.members.len() as u64) as usize;
        let id = self.room.members[at].id;
        if self.is_absent(id) {
            return self.let_in(at + 1);
        }
        let now = self.room.now;
        let host = self.room.host.driver.session_mut().map_err(said)?;
        host.handle(Input::Leave(id), now).map_err(said)?;
        self.counts.left += 1;
        self.note(|| format!("{id} leaves"));
        Ok(())
    }

    /// Lets all members in again that have left.
    pub(super) fn let_all_in(&mut self) -> Result {
        if self.room.host.session().lost_time().is_some() {
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
        let (id, supervises) = (self.nodes[who].id, self.nodes[who].supervises);
        let agent = AgentId::new(self.nodes[who].agent).map_err(said)?;
        let joined = self.room.let_in(&agent, supervises).map_err(said)?;
        if joined != id {
            return Err(format!("@{agent} is {id} and joins as {joined}"));
        }
        Ok(())
    }

    fn is_absent(&self, id: MemberId) -> bool {
        let mut members = self.room.host.session().state().members();
        members.any(|(member, party)| member == id && !party.present)
    }
}
