//! A session in one process: a host and its members, each with its own store. The link between them is in memory,
//! loses nothing and takes no time.

use accp_frame::AgentId;
use accp_session::{
    Entry, Event, Inbound, MemberId, Mid, Options, Outbound, Rules, Session, Time, Transmit,
};
use accp_store::{Driver, DriverError, Store as _};

use crate::store_file::SharedStore;
use accp_console::outcome::Failure;

/// The greatest number of rounds after which a session must be at rest.
const TURNS: usize = 100_000;

/// A host, its members, and their clock.
pub(crate) struct LocalSession {
    /// The time of all sides. If the sides wait for a timeout, [`LocalSession::settle`] sets the time forward.
    pub(crate) now: Time,
    pub(crate) host: LocalSide,
    /// The members, in the order in which they joined.
    pub(crate) members: Vec<LocalSide>,
    rules: Rules,
    /// The position of the last entry that [`LocalSession::take_accepted`] returned.
    taken: u64,
}

/// A host or a member: its driver, and the frames and events that the driver has produced.
pub(crate) struct LocalSide {
    pub(crate) id: MemberId,
    pub(crate) driver: Driver<SharedStore, Vec<Transmit>>,
    pub(crate) store: SharedStore,
    /// Delivered frames that nobody has handled yet.
    pub(crate) inbox: Vec<Inbound>,
    events: Vec<Event>,
}

impl LocalSide {
    fn new(id: MemberId, driver: Driver<SharedStore, Vec<Transmit>>, store: SharedStore) -> Self {
        Self {
            id,
            driver,
            store,
            inbox: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(crate) fn session(&self) -> &Session {
        self.driver.session()
    }

    fn carry_out(&mut self, now: Time) -> Result<(), DriverError> {
        let outcome = self.driver.carry_out(now)?;
        self.inbox.extend(outcome.inbound);
        self.events.extend(outcome.events);
        Ok(())
    }

    /// Takes the frames that the side has sent since the last call, each with its sender.
    fn left(&mut self) -> Vec<(MemberId, Transmit)> {
        let frames = self.driver.link_mut().drain(..);
        frames.map(|frame| (self.id, frame)).collect()
    }
}

impl LocalSession {
    /// Opens a session that has only its host.
    pub(crate) fn open(
        options: Options,
        rules: Rules,
        store: SharedStore,
        now: Time,
    ) -> Result<Self, Failure> {
        let host = Driver::open_host(store.clone(), Vec::new(), options, rules.clone(), now)?;
        Ok(Self {
            now,
            host: LocalSide::new(MemberId::HOST, host, store),
            members: Vec::new(),
            rules,
            taken: 0,
        })
    }

    /// Adds an agent as a member.
    pub(crate) fn join(
        &mut self,
        agent: &AgentId<'static>,
        store: SharedStore,
    ) -> Result<MemberId, Failure> {
        let options = Options {
            agent: agent.clone(),
            handles: true,
            ..self.host.session().options().clone()
        };
        let id = self.host.driver.join(agent, self.now)?;
        let member = Driver::open_member(store.clone(), Vec::new(), options, self.now)?;
        self.members.push(LocalSide::new(id, member, store));
        Ok(id)
    }

    /// Returns the host, then the members.
    pub(crate) fn sides(&mut self) -> impl Iterator<Item = &mut LocalSide> {
        std::iter::once(&mut self.host).chain(&mut self.members)
    }

    /// Returns the side of the host or of a member.
    pub(crate) fn side(&mut self, of: MemberId) -> Result<&mut LocalSide, Failure> {
        let side = self.sides().find(|side| side.id == of);
        side.ok_or_else(|| Failure::Input(format!("{of} is not in this session")))
    }

    /// Sends a frame as the host or a member.
    pub(crate) fn send(&mut self, by: MemberId, what: &Outbound<'_>) -> Result<Mid, Failure> {
        let now = self.now;
        Ok(self.side(by)?.driver.send(what, now)?)
    }

    /// Marks a frame as handled on one side, and sends the answers to the frame.
    pub(crate) fn answer(
        &mut self,
        by: MemberId,
        position: u64,
        replies: &[Outbound<'_>],
    ) -> Result<(), Failure> {
        let now = self.now;
        let session = self.side(by)?.driver.session_mut()?;
        let handled = session.handled(position, replies, now);
        Ok(handled.map_err(|error| DriverError::Input(error.into()))?)
    }

    /// Marks all frames delivered to a side as handled.
    pub(crate) fn handle_all(&mut self, of: MemberId) -> Result<(), Failure> {
        for inbound in std::mem::take(&mut self.side(of)?.inbox) {
            self.answer(of, inbound.position(), &[])?;
        }
        Ok(())
    }

    /// Lets frames arrive, and time pass where necessary, until the session is at rest.
    pub(crate) fn settle(&mut self) -> Result<(), Failure> {
        for _ in 0..TURNS {
            let now = self.now;
            let mut left = Vec::new();
            for side in self.sides() {
                side.carry_out(now)?;
                left.extend(side.left());
            }
            if !left.is_empty() {
                self.arrive(left)?;
            } else if self.sides().all(|side| side.session().is_quiet()) {
                return self.check_events();
            } else {
                let next = self
                    .sides()
                    .filter_map(|side| side.session().next_timeout());
                self.now = next.min().unwrap_or(now).max(now);
            }
        }
        Err(Failure::Input(format!(
            "session `{}` does not come to rest; this is a defect, please report it",
            self.host.session().id()
        )))
    }

    /// Delivers each frame to its receiver.
    fn arrive(&mut self, frames: Vec<(MemberId, Transmit)>) -> Result<(), Failure> {
        let now = self.now;
        for (from, frame) in frames {
            let driver = &mut self.side(frame.to)?.driver;
            driver.receive(from, frame.text.as_bytes(), now)?;
        }
        Ok(())
    }

    /// Returns the entries that the host has committed since the last call.
    pub(crate) fn take_accepted(&mut self) -> Result<Vec<Entry>, Failure> {
        let (host, from) = (&mut self.host, self.taken + 1);
        let entries = host.store.entries(host.driver.side(), from, usize::MAX)?;
        self.taken = entries.last().map_or(self.taken, |last| last.position);
        Ok(entries)
    }

    /// Delivers the members' frames and lets the host commit them. Drops the host's own frames, as if the host died
    /// before it sent them.
    pub(crate) fn kill_host(&mut self) -> Result<(), Failure> {
        let now = self.now;
        let mut left = Vec::new();
        for member in &mut self.members {
            member.carry_out(now)?;
            left.extend(member.left());
        }
        self.arrive(left)?;
        Ok(self.host.carry_out(now)?)
    }

    /// Opens the host again, on a store that was opened again. The members join again.
    pub(crate) fn restore_host(&mut self, store: SharedStore) -> Result<(), Failure> {
        let options = self.host.session().options().clone();
        let rules = self.rules.clone();
        let host = Driver::open_host(store.clone(), Vec::new(), options, rules, self.now)?;
        self.host = LocalSide::new(MemberId::HOST, host, store);
        for member in &self.members {
            let agent = &member.session().options().agent;
            self.host.driver.join(agent, self.now)?;
        }
        Ok(())
    }

    /// Fails if a frame was refused, rejected or dropped, and names the first one. This should not happen, because
    /// the link loses nothing.
    fn check_events(&mut self) -> Result<(), Failure> {
        let members = self.members.iter_mut();
        for side in members.chain([&mut self.host]) {
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
