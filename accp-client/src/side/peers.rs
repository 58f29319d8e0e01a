//! The other sides that this one talks to.

use accp_runtime::AgentId;
use accp_runtime::session::{Input, MemberId, Posted};
use accp_store::DriverError;

use super::Side;
use crate::Error;
use crate::clock::now;
use crate::command::Done;
use crate::link::{Frame, Wire};

impl Side {
    pub(super) fn hear(&mut self, frame: &Frame) -> Result<(), DriverError> {
        self.driver
            .receive(frame.from, frame.text.as_bytes(), now())
    }

    /// Sends the frames that may leave. Returns whether a peer is gone that was not known to be.
    pub(super) fn send_out(&mut self) -> Result<bool, DriverError> {
        let mut gone = Vec::new();
        for frame in std::mem::take(self.driver.link_mut()) {
            if let Some(wire) = self.peers.get(&frame.to)
                && !wire.try_send(self.me, frame.text)
            {
                gone.push(frame.to);
            }
        }
        // A member has to notice that its host is gone; its turn does.
        gone.retain(|member| *member != MemberId::HOST && self.peers.remove(member).is_some());
        for member in &gone {
            self.input(Input::Disconnected(*member))?;
        }
        Ok(!gone.is_empty())
    }

    /// Lets an agent in. Without a wire the agent only posts frames.
    pub(super) fn join(
        &mut self,
        agent: &AgentId<'_>,
        wire: Option<Wire>,
        number: Done<MemberId>,
    ) -> Result<(), DriverError> {
        let joined = self.driver.join(agent, now());
        let answer = match joined {
            Ok(member) => {
                if let Some(wire) = wire {
                    self.peers.insert(member, wire);
                } else if !self.peers.contains_key(&member) {
                    self.input(Input::Disconnected(member))?;
                }
                Ok(member)
            }
            Err(error @ DriverError::Input(_)) => Err(Error::from(error)),
            Err(error) => {
                let _ = number.send(Err(Error::ended()));
                return Err(error);
            }
        };
        let _ = number.send(answer);
        Ok(())
    }

    /// Notes that a wire to a member has ended, unless the member has another one by now.
    pub(super) fn unlink(&mut self, member: MemberId, wire: &Wire) -> Result<(), DriverError> {
        if self.peers.get(&member).is_some_and(|kept| kept.is(wire)) {
            self.peers.remove(&member);
            self.input(Input::Disconnected(member))?;
        }
        Ok(())
    }

    /// Takes a frame that a member has sent outside of its link.
    pub(super) fn post(
        &mut self,
        member: MemberId,
        text: &[u8],
        done: Done<Posted>,
    ) -> Result<(), DriverError> {
        let session = self.driver.session_mut()?;
        match session.post(member, text, now()) {
            Ok(posted) => self.posted.push((posted, done)),
            Err(error) => drop(done.send(Err(Error::Input(error)))),
        }
        if !self.peers.contains_key(&member) {
            // It may have said hello. There is no link to relay the log on.
            self.input(Input::Disconnected(member))?;
        }
        Ok(())
    }
}
