//! Agents that are not in the session yet: the number that an agent gets, and a first frame that comes without a
//! link.

use super::Host;
use crate::delivery::parts::Part;
use crate::gate::Ruling;
use crate::gate::content::check;
use crate::interface::event::Event;
use crate::interface::input::{JoinError, Posted};
use crate::log::mid::{MemberId, Mid};
use crate::state::Party;
use crate::wire::link::Link;
use crate::wire::refusal::Refusal;
use crate::wire::scan::{Scanned, scan};
use crate::wire::stamp::About;
use accp_context::Time;
use accp_frame::AgentId;
use accp_registry::ErrorCode;

impl Host {
    /// Takes a frame that an agent has sent outside of a link. An agent that is not in the session joins first,
    /// unless the host refuses the frame or takes none now: then nothing changes. Otherwise requests could wait for
    /// an agent that has never got a frame into the log.
    pub(crate) fn post_by(
        &mut self,
        agent: &AgentId<'_>,
        frame: &[u8],
        now: Time,
    ) -> Result<Posted, JoinError> {
        let agents = std::slice::from_ref(agent);
        let member = self.place_of(agents)?;
        if !self.side.state.is_in(member)
            && let Some(answer) = self.turns_away(member, agent, frame, now)
        {
            return Ok(answer);
        }
        let member = self.join(agents, false, now)?;
        Ok(self.post(member, frame, now))
    }

    /// Judges the first frame on a link, a hello, before its agent joins. Returns the refusal, if the host cannot read the
    /// hello, does not let in an agent of this name, or has no link for such an agent. Whether registries fit turns out
    /// later: then the agent leaves again.
    pub(crate) fn refusal_of_hello(&self, hello: &str) -> Option<Refusal> {
        let scanned = match scan(hello.as_bytes(), self.side.options.limits) {
            Ok(scanned) => scanned,
            Err(error) => return Some(error.into()),
        };
        if let Some(error) = self.too_long(scanned.header.agent) {
            let expected = format!("a shorter name for the agent: {error}");
            let refusal = Refusal::new(ErrorCode::PARSE_ERROR, expected);
            // The name follows the `@`.
            let at = Some(1);
            return Some(Refusal { at, ..refusal });
        }
        match Link::read(&scanned) {
            Err(error) => Some(error.into()),
            Ok(Link::Hello(hello)) if hello.draft => self.refusal_of_draft(),
            Ok(_) => None,
        }
    }

    /// Returns the number that a member with these agents has, or gets when it joins.
    pub(super) fn place_of(&self, agents: &[AgentId<'_>]) -> Result<MemberId, JoinError> {
        let state = &self.side.state;
        if let Some(error) = agents
            .iter()
            .find_map(|agent| self.too_long(agent.as_str()))
        {
            return Err(error);
        }
        let known = agents
            .iter()
            .find_map(|agent| state.member_of(agent.as_str()));
        let last = state.members().map(|(id, _)| id).max();
        let next = last.unwrap_or(MemberId::HOST).next();
        let others = state
            .members()
            .filter(|(id, _)| *id != MemberId::HOST)
            .count();
        let has_room = others < self.rules.members;
        let next = next.filter(|_| has_room);
        let member = known.or(next).ok_or(JoinError::Full)?;
        let others = agents.iter().find(|agent| {
            let other = state.member_of(agent.as_str());
            other.is_some_and(|other| other != member) || member == MemberId::HOST
        });
        if let Some(agent) = others {
            let is_host = state.member_of(agent.as_str()) == Some(MemberId::HOST);
            let refusal = if is_host {
                JoinError::Host
            } else {
                JoinError::Taken
            };
            return Err(refusal(agent.to_string()));
        }
        Ok(member)
    }

    /// Returns the error for an agent that is new here and whose name is too long.
    fn too_long(&self, agent: &str) -> Option<JoinError> {
        let is_new = self.side.state.member_of(agent).is_none();
        (is_new && agent.len() > JoinError::NAME).then_some(JoinError::TooLong(agent.len()))
    }

    /// Returns the answer to a frame of an agent that has not joined, if the frame does not let the agent in.
    fn turns_away(
        &mut self,
        member: MemberId,
        agent: &AgentId<'_>,
        frame: &[u8],
        now: Time,
    ) -> Option<Posted> {
        let scanned = match scan(frame, self.side.options.limits) {
            Ok(scanned) => scanned,
            Err(error) => {
                let mid = std::str::from_utf8(frame).ok().and_then(Scanned::mid_of);
                return Some(self.refused(member, mid.as_ref(), error.into(), now));
            }
        };
        if self.is_link_frame(member, &scanned) {
            return None;
        }
        if self.side.is_busy() || self.lost.is_some() {
            return Some(Posted::Later);
        }
        let refusal = self.refusal_of_newcomer(member, agent, &scanned, now)?;
        Some(self.refused(member, scanned.mid(), refusal, now))
    }

    /// Judges a frame as if its agent had joined. Returns the refusal, if the host refuses the frame.
    fn refusal_of_newcomer(
        &mut self,
        member: MemberId,
        agent: &AgentId<'_>,
        frame: &Scanned<'_>,
        now: Time,
    ) -> Option<Refusal> {
        let judge = |host: &mut Self| host.judge_newcomer(member, frame, now);
        self.as_newcomer(member, agent, judge).err()
    }

    /// Calls `judge` while the state shows an agent that has not joined as a member.
    pub(super) fn as_newcomer<T>(
        &mut self,
        member: MemberId,
        agent: &AgentId<'_>,
        judge: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.side.state.members.get(member).cloned();
        let newcomer = Party {
            agents: vec![agent.to_string()],
            joined: self.side.position + 1,
            present: true,
            supervisor: false,
            takes: before.as_ref().and_then(|party| party.takes.clone()),
        };
        self.side.state.members.insert(member, newcomer);
        let judged = judge(self);
        // No entry of the log lets the agent in, so the state must not show it.
        match before {
            Some(party) => self.side.state.members.insert(member, party),
            None => self.side.state.members.remove(member),
        }
        judged
    }

    /// Makes the checks for a frame of a member that is in the state, without accepting the frame.
    fn judge_newcomer(
        &self,
        from: MemberId,
        frame: &Scanned<'_>,
        now: Time,
    ) -> Result<(), Refusal> {
        let first = self
            .gate
            .first_checks(&self.side, &self.rules, from, frame, now);
        let mid = match first {
            Ok((mid, _)) => mid,
            Err(Ruling::Refuse(refusal)) => return Err(refusal),
            // The frame has no answer, which must not tell more than for a frame of a member.
            Err(_) => return Ok(()),
        };
        match Part::of(frame)? {
            // The content is checked once all parts are here.
            Some(part) => self.check_part(from, &part, &mid),
            None => check(&self.side, &self.gate, from, frame, None).map(drop),
        }
    }

    /// Returns the answer to a frame that is refused, without a trace in the log.
    fn refused(
        &mut self,
        member: MemberId,
        mid: Option<&Mid>,
        refusal: Refusal,
        now: Time,
    ) -> Posted {
        let mid = mid.filter(|mid| !mid.is_too_long());
        let error = refusal.about(mid.cloned());
        let text = self
            .stamp_for(member, now)
            .frame(error.frame(), About::Frame(mid));
        match text {
            Ok(text) => Posted::Refused(text),
            Err(error) => {
                self.side.emit(Event::NotWritten(error.to_string()));
                Posted::Silent
            }
        }
    }
}
