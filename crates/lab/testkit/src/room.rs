//! A whole session in one process.

use std::time::Duration;

use accp_frame::AgentId;
use accp_session::{Answer, Input, MemberId, Options, Rules, Time, Transmit};
use accp_store::{DriverError, Store};

use crate::side::{Shared, Side};
use crate::wire::{Delivery, Faults, Wire};

/// The most turns in which a room may come to rest.
const TURNS: usize = 100_000;

/// Turns a frame that leaves a side into the texts that go on the wire.
type Way = Box<dyn FnMut(&Delivery) -> Vec<String>>;

/// A host, its members, the wire between them, and their clock.
pub struct Room<S = Shared> {
    /// The time. Only [`step`](Self::step) and [`rest`](Self::rest) move it on.
    pub now: Time,
    /// The host.
    pub host: Side<S>,
    /// The members, in the order of their numbers, from 101.
    pub members: Vec<Side<S>>,
    /// The wire. It loses nothing and takes no time until a test sets faults.
    pub wire: Wire,
    way: Option<Way>,
}

impl<S: Store + Clone + Send + 'static> Room<S> {
    /// Opens a session with its host alone.
    pub fn open(store: S, options: Options, rules: Rules, now: Time) -> Result<Self, DriverError> {
        Ok(Self {
            now,
            host: Side::open(MemberId::HOST, store, Vec::new(), options, Some(rules), now)?,
            members: Vec::new(),
            wire: Wire::new(0, Faults::default()),
            way: None,
        })
    }

    /// Makes an agent join, opens its side, and returns its member id.
    pub fn enter(&mut self, store: S, options: Options) -> Result<MemberId, DriverError> {
        let id = self.let_in(&options.agent, false)?;
        let side = Side::open(id, store, Vec::new(), options, None, self.now)?;
        self.members.push(side);
        Ok(id)
    }

    /// Makes an agent join the session, for the first time or again. Returns its member id.
    pub fn let_in(
        &mut self,
        agent: &AgentId<'_>,
        supervisor: bool,
    ) -> Result<MemberId, DriverError> {
        let (now, agents) = (self.host.clock(self.now), std::slice::from_ref(agent));
        let session = self.host.driver.session_mut()?;
        match session.handle(Input::Join { agents, supervisor }, now)? {
            Answer::Joined(id) => Ok(id),
            _ => session.join(agent, now).map_err(DriverError::from),
        }
    }

    /// Returns the host, then the members.
    pub fn sides(&self) -> impl Iterator<Item = &Side<S>> {
        std::iter::once(&self.host).chain(&self.members)
    }

    /// Returns the side of a member, or `None` when the room does not have this member.
    pub fn side(&mut self, id: MemberId) -> Option<&mut Side<S>> {
        let mut sides = std::iter::once(&mut self.host).chain(&mut self.members);
        sides.find(|side| side.id == id)
    }

    /// Kills a side and opens it again from its store. A member that restarts joins again. After a
    /// restart of the host all members join again, because the host may have lost their joins. A
    /// host that was rolled back lets nobody in.
    pub fn restart(&mut self, id: MemberId) -> Result<(), DriverError> {
        let now = self.now;
        if let Some(side) = self.side(id) {
            side.restart(side.clock(now))?;
        }
        if self.host.session().rolled_back().is_some() {
            return Ok(());
        }
        for at in 0..self.members.len() {
            if id == MemberId::HOST || id == self.members[at].id {
                let side = &self.members[at];
                let (agent, supervises) = (side.options.agent.clone(), side.supervises);
                self.let_in(&agent, supervises)?;
            }
        }
        Ok(())
    }

    /// Passes each frame that leaves from now on through `way`, which returns the texts to send.
    pub fn on_the_way(&mut self, way: impl FnMut(&Delivery) -> Vec<String> + 'static) {
        self.way = Some(Box::new(way));
    }

    /// Runs one turn: time passes, frames arrive, and every side carries out its work. Returns the
    /// frames that left.
    pub fn step(&mut self, by: Duration) -> Result<Vec<Delivery>, DriverError> {
        self.now = self.now + by;
        self.arrive()?;
        self.carry_out()
    }

    /// Hands the sides the frames that have arrived by now, and returns these frames.
    pub fn arrive(&mut self) -> Result<Vec<Delivery>, DriverError> {
        let now = self.now;
        let mut arrived = Vec::new();
        while let Some(frame) = self.wire.deliver(now) {
            arrived.push(frame);
        }
        // A side receives all frames of one peer in one call.
        for frames in arrived.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to)) {
            let Some(Delivery { from, to, .. }) = frames.first() else {
                continue;
            };
            if let Some(side) = self.side(*to) {
                let at = side.clock(now);
                let collected = frames.iter().map(|frame| Transmit {
                    to: frame.to,
                    text: frame.text.clone(),
                });
                side.driver.receive_all(*from, collected, at)?;
            }
        }
        Ok(arrived)
    }

    fn carry_out(&mut self) -> Result<Vec<Delivery>, DriverError> {
        let mut left = Vec::new();
        for side in std::iter::once(&mut self.host).chain(&mut self.members) {
            let from = side.id;
            side.carry_out(side.clock(self.now))?;
            for Transmit { to, text } in side.left() {
                left.push(Delivery { from, to, text });
            }
        }
        for frame in &left {
            let texts = match &mut self.way {
                Some(way) => way(frame),
                None => vec![frame.text.clone()],
            };
            for text in texts {
                self.wire.send(self.now, frame.from, frame.to, text);
            }
        }
        Ok(left)
    }

    /// Runs turns until no session has anything to do, and moves the time on to the next timeout
    /// or arrival where necessary. Returns whether the sessions came to rest.
    pub fn rest(&mut self) -> Result<bool, DriverError> {
        for _ in 0..TURNS {
            if !self.step(Duration::ZERO)?.is_empty() {
                continue;
            }
            let arrival = self.wire.next_arrival();
            if arrival.is_none() && self.sides().all(|side| side.session().is_quiet()) {
                return Ok(true);
            }
            let due = |side: &Side<S>| {
                let at = side.session().next_timeout()?;
                Some(Time::from_millis(at.as_millis() - side.ahead))
            };
            let next = self.sides().filter_map(due).chain(arrival).min();
            self.now = next.unwrap_or(self.now).max(self.now);
        }
        Ok(false)
    }
}
