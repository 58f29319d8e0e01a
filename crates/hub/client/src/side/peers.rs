//! The part of a side that deals with the other sides of the session: links, and agents that come and go.

use std::sync::Arc;

use accp_context::Checkpoint;
use accp_frame::{AgentId, Registry};
use accp_session::{Answer, Input, InputError, MemberId, Outbound, Posted, Supplied};
use accp_store::DriverError;

use super::Side;
use crate::clock::now;
use crate::error::{Done, Error};
use crate::wire::{Frame, Wire};

impl Side {
    pub(super) fn receive(&mut self, frame: &Frame) -> Result<(), DriverError> {
        self.driver
            .receive(frame.from, frame.text.as_bytes(), now())
    }

    /// Sends the frames that may leave. Returns whether a peer turned out to be gone.
    pub(super) fn send_out(&mut self) -> Result<bool, DriverError> {
        let mut gone = Vec::new();
        for frame in std::mem::take(self.driver.link_mut()) {
            if let Some(wire) = self.peers.get(&frame.to)
                && !wire.try_send(self.me, frame.text)
            {
                gone.push(frame.to);
            }
        }
        // A member notices by itself that its host is gone, so only lost members are reported.
        gone.retain(|member| *member != MemberId::HOST && self.peers.remove(member).is_some());
        for member in &gone {
            self.input(Input::Disconnected(*member))?;
        }
        Ok(!gone.is_empty())
    }

    /// Lets an agent in, which is reached on this wire from now on.
    pub(super) fn join(
        &mut self,
        agent: &AgentId<'_>,
        wire: Wire,
        number: Done<MemberId>,
    ) -> Result<(), DriverError> {
        let member = match self.driver.join(agent, now()) {
            Ok(member) => member,
            Err(DriverError::Input(error)) => {
                let _ = number.send(Err(Error::Input(error)));
                return Ok(());
            }
            Err(error) => {
                let _ = number.send(Err(Error::ended()));
                return Err(error);
            }
        };
        self.end_guests_of(member, "a link of the agent has opened");
        self.driver.session_mut()?.end_guest(member);
        if self.peers.insert(member, wire).is_some() {
            // What the host has said on the earlier link does not count on this one. So the host has to answer the
            // next hello of the agent, even if the hello comes at once.
            self.input(Input::Disconnected(member))?;
        }
        let _ = number.send(Ok(member));
        Ok(())
    }

    /// Notes that a wire to a member has ended, unless the member has another one by now.
    pub(super) fn unlink(&mut self, member: MemberId, wire: u64) -> Result<(), DriverError> {
        let kept = self.peers.get(&member);
        if kept.is_some_and(|kept| kept.number == wire) {
            self.peers.remove(&member);
            self.input(Input::Disconnected(member))?;
        }
        Ok(())
    }

    /// Takes a frame that an agent has sent without a link. The agent joins with its first frame, unless the session
    /// refuses that frame.
    pub(super) fn post(
        &mut self,
        agent: &AgentId<'_>,
        text: &[u8],
        done: Done<Posted>,
    ) -> Result<(), DriverError> {
        let session = self.driver.session_mut()?;
        match session.post_by(agent, text, now()) {
            Ok(posted) => self.posted.push((posted, done)),
            Err(error) => {
                let _ = done.send(Err(Error::Input(error)));
                return Ok(());
            }
        }
        let Some(member) = session.state().member_of(agent.as_str()) else {
            return Ok(());
        };
        let is_guest = self.guests.values().any(|guest| guest.member == member);
        if !is_guest && !self.peers.contains_key(&member) {
            // The agent has no link, so the host must not relay the log to it.
            self.input(Input::Disconnected(member))?;
        }
        Ok(())
    }

    /// Judges the frame with which an agent in this process would join. The agent does not join.
    pub(super) fn check(
        &mut self,
        agent: &AgentId<'static>,
        first: &Outbound<'_>,
        done: Done<()>,
    ) -> Result<(), DriverError> {
        let session = self.driver.session_mut()?;
        let checked = session.check_first_as(agent, first, now());
        let _ = done.send(checked.map_err(Error::of_input));
        Ok(())
    }

    /// Takes an agent out of the session, and ends its guest and its link. If the agent still runs elsewhere, its
    /// next link lets it in again.
    pub(super) fn remove(
        &mut self,
        agent: &AgentId<'_>,
        done: Done<bool>,
    ) -> Result<(), DriverError> {
        let session = self.driver.session_mut()?;
        let member = session.state().member_of(agent.as_str());
        let member = member.filter(|member| *member != MemberId::HOST);
        let is_here = session
            .state()
            .members()
            .any(|(id, party)| Some(id) == member && party.present);
        let Some(member) = member.filter(|_| is_here) else {
            let _ = done.send(Ok(false));
            return Ok(());
        };
        if let Err(error) = session.handle(Input::Leave(member), now()) {
            let _ = done.send(Err(Error::Input(error)));
            return Ok(());
        }
        session.end_guest(member);
        self.end_guests_of(member, "the agent was taken out of the session");
        if let Some(wire) = self.peers.remove(&member) {
            wire.remove();
            self.input(Input::Disconnected(member))?;
        }
        let tell = move |kept: Result<(), Error>| drop(done.send(kept.map(|()| true)));
        self.durable.push(Box::new(tell));
        Ok(())
    }

    /// Takes the checkpoint at the end of a phase.
    pub(super) fn end_phase(
        &mut self,
        done: Done<Option<Box<Checkpoint>>>,
    ) -> Result<(), DriverError> {
        match self.driver.session_mut()?.handle(Input::Phase, now()) {
            Ok(Answer::Checkpoint(checkpoint)) => {
                let tell =
                    move |kept: Result<(), Error>| drop(done.send(kept.map(|()| checkpoint)));
                self.durable.push(Box::new(tell));
            }
            Ok(_) => drop(done.send(Ok(None))),
            Err(error) => drop(done.send(Err(Error::Input(error)))),
        }
        Ok(())
    }

    /// Registers all of these schemas, or none.
    pub(super) fn register(
        &mut self,
        schemas: &Registry,
        done: Done<()>,
    ) -> Result<(), DriverError> {
        let session = self.driver.session_mut()?;
        let held = Arc::clone(&session.options().registry);
        // The session does not compare the tokenizers.
        if let Err(problems) = Registry::clone(&held).merge(schemas.clone()) {
            let _ = done.send(Err(Error::Input(InputError::Schema(problems))));
            return Ok(());
        }
        let register = Input::RegisterAll(Box::new(schemas.clone()));
        if let Err(error) = session.handle(register, now()) {
            let _ = done.send(Err(Error::Input(error)));
            return Ok(());
        }
        let tell = move |kept: Result<(), Error>| drop(done.send(kept));
        self.durable.push(Box::new(tell));
        Ok(())
    }

    /// Takes the bytes of a value that an agent has sent without a link.
    pub(super) fn supply(
        &mut self,
        agent: &AgentId<'_>,
        key: &str,
        bytes: &[u8],
        done: Done<Supplied>,
    ) -> Result<(), DriverError> {
        let session = self.driver.session_mut()?;
        let Some(member) = session.state().member_of(agent.as_str()) else {
            let _ = done.send(Ok(Supplied::Unknown));
            return Ok(());
        };
        match session.supply(member, key, bytes, now()) {
            Ok(supplied) => self.supplied.push((supplied, done)),
            Err(error) => drop(done.send(Err(Error::Input(error)))),
        }
        Ok(())
    }
}
