//! A session in one process: a host and its members, each on a store. The link between them is
//! in memory and loses nothing.

use std::ops::{Deref, DerefMut};

use accp_frame::AgentId;
use accp_session::{
    Entry, Event, InputError, MemberId, Mid, Options, Outbound, Rules, SendError, Session, Time,
};
use accp_store::Store as _;

use crate::outcome::Failure;
use crate::store_file::Shared;

/// A host, its members, and the frames under way between them.
pub(crate) struct Room {
    room: accp_testkit::Room<Shared>,
    /// The last position that [`Room::take_accepted`] returned.
    taken: u64,
}

impl Deref for Room {
    type Target = accp_testkit::Room<Shared>;

    fn deref(&self) -> &Self::Target {
        &self.room
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.room
    }
}

impl Room {
    /// Opens a session.
    pub(crate) fn open(
        options: Options,
        rules: Rules,
        store: Shared,
        now: Time,
    ) -> Result<Self, Failure> {
        Ok(Self {
            room: accp_testkit::Room::open(store, options, rules, now)?,
            taken: 0,
        })
    }

    /// Lets an agent in.
    pub(crate) fn join(
        &mut self,
        agent: &AgentId<'static>,
        store: Shared,
    ) -> Result<MemberId, Failure> {
        let options = Options {
            agent: agent.clone(),
            handles: true,
            ..self.host.session().options().clone()
        };
        Ok(self.enter(store, options)?)
    }

    /// Returns the session of the host or of a member.
    fn session(&mut self, of: MemberId) -> Result<&mut Session, Failure> {
        let side = self.room.side(of);
        let side = side.ok_or_else(|| Failure::Input(format!("{of} is not in this session")))?;
        Ok(side.driver.session_mut()?)
    }

    /// Sends a frame as the host or a member.
    pub(crate) fn say(&mut self, by: MemberId, what: &Outbound<'_>) -> Result<Mid, Failure> {
        let now = self.now;
        Ok(self.session(by)?.send(what, now)?)
    }

    /// Marks a frame as handled on one side, and sends the answers to it.
    pub(crate) fn answer(
        &mut self,
        by: MemberId,
        position: u64,
        replies: &[Outbound<'_>],
    ) -> Result<(), Failure> {
        let now = self.now;
        Ok(self.session(by)?.handled(position, replies, now)?)
    }

    /// Marks all frames delivered to a side as handled.
    pub(crate) fn handle_all(&mut self, of: MemberId) -> Result<(), Failure> {
        let side = self
            .room
            .side(of)
            .map(|side| std::mem::take(&mut side.inbox));
        for inbound in side.unwrap_or_default() {
            self.answer(of, inbound.position(), &[])?;
        }
        Ok(())
    }

    /// Lets frames arrive, and time pass where necessary, until the session is at rest.
    pub(crate) fn settle(&mut self) -> Result<(), Failure> {
        if self.rest()? {
            return self.complain();
        }
        Err(Failure::Input(format!(
            "session `{}` does not come to rest; this is a defect, please report it",
            self.host.session().id()
        )))
    }

    /// Returns the entries that the host has committed since the last call.
    pub(crate) fn take_accepted(&mut self) -> Result<Vec<Entry>, Failure> {
        let (host, from) = (&mut self.room.host, self.taken + 1);
        let entries = host.store.entries(host.driver.side(), from, usize::MAX)?;
        self.taken = entries.last().map_or(self.taken, |last| last.position);
        Ok(entries)
    }

    /// Delivers the members' frames, lets the host commit them, and keeps the host's own frames
    /// back, as if the host died before it sent them.
    pub(crate) fn kill_host(&mut self) -> Result<(), Failure> {
        let now = self.now;
        for member in &mut self.room.members {
            member.carry_out(now)?;
            for frame in member.left() {
                self.room.wire.send(now, member.id, frame.to, frame.text);
            }
        }
        self.arrive()?;
        self.host.carry_out(now)?;
        Ok(())
    }

    /// Opens the host again on a store that was opened anew.
    pub(crate) fn restore_host(&mut self, store: Shared) -> Result<(), Failure> {
        self.host.store = store;
        Ok(self.restart(MemberId::HOST)?)
    }

    /// Fails with the first refused, rejected or dropped frame. The link loses nothing, so there
    /// should be none.
    fn complain(&mut self) -> Result<(), Failure> {
        let members = self.room.members.iter_mut();
        for side in members.chain([&mut self.room.host]) {
            let mut refused = side.events.drain(..).filter_map(|event| match event {
                Event::Refused(mid, error) => Some(format!(
                    "frame {mid} was refused: {}: {}",
                    error.code, error.message
                )),
                Event::Rejected(..)
                | Event::Tampered(_)
                | Event::Dropped(_)
                | Event::Expired(_) => Some(format!("{event:?}")),
                _ => None,
            });
            if let Some(why) = refused.next() {
                return Err(Failure::Input(why));
            }
        }
        Ok(())
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        Self::Input(error.to_string())
    }
}
