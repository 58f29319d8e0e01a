//! A session that runs here: a host and its members, each on a store, and a link in memory
//! between them that loses nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use accp_runtime::AgentId;
use accp_runtime::session::{
    Entry, Event, Inbound, InputError, MemberId, Mid, Options, Outbound, Rules, SendError, Session,
    Time, Transmit,
};
use accp_store::{Driver, Store as _};

use crate::outcome::Failure;
use crate::store_file::Shared;

/// Rounds after which a session that does not come to rest is given up.
const ROUNDS: usize = 100_000;

/// One side of a session.
pub(crate) struct Seat {
    pub(crate) driver: Driver<Shared, Vec<Transmit>>,
    /// What was delivered and not handled.
    pub(crate) inbound: Vec<Inbound>,
    /// What ought not to happen on a link that loses nothing.
    refused: Vec<String>,
}

impl Seat {
    fn new(driver: Driver<Shared, Vec<Transmit>>) -> Self {
        Self {
            driver,
            inbound: Vec::new(),
            refused: Vec::new(),
        }
    }

    pub(crate) fn session(&self) -> &Session {
        self.driver.session()
    }

    fn carry_out(&mut self, now: Time) -> Result<Vec<Transmit>, Failure> {
        let outcome = self.driver.carry_out(now)?;
        self.inbound.extend(outcome.inbound);
        for event in outcome.events {
            match event {
                Event::Refused(mid, error) => self.refused.push(format!(
                    "frame {mid} was refused: {}: {}",
                    error.code, error.message
                )),
                Event::Rejected(..) | Event::Tampered(_) | Event::Dropped(_) => {
                    self.refused.push(format!("{event:?}"));
                }
                _ => {}
            }
        }
        Ok(std::mem::take(self.driver.link_mut()))
    }

    fn send(&mut self, what: &Outbound<'_>, now: Time) -> Result<Mid, Failure> {
        Ok(self.driver.session_mut()?.send(what, now)?)
    }

    fn handled(&mut self, at: u64, replies: &[Outbound<'_>], now: Time) -> Result<(), Failure> {
        Ok(self.driver.session_mut()?.handled(at, replies, now)?)
    }

    /// Marks everything that was delivered as handled.
    pub(crate) fn handle_all(&mut self, now: Time) -> Result<(), Failure> {
        for inbound in std::mem::take(&mut self.inbound) {
            self.handled(inbound.position(), &[], now)?;
        }
        Ok(())
    }
}

/// A host, its members, and what is under way between them.
pub(crate) struct Room {
    pub(crate) host: Seat,
    pub(crate) members: BTreeMap<MemberId, Seat>,
    pub(crate) now: Time,
    store: Shared,
    /// With its sender.
    link: Vec<(MemberId, Transmit)>,
    /// The last position that was taken.
    taken: u64,
    rules: Rules,
}

impl Room {
    /// Opens a session.
    pub(crate) fn open(
        options: Options,
        rules: Rules,
        store: Shared,
        now: Time,
    ) -> Result<Self, Failure> {
        let shared = Arc::clone(&store);
        let driver = Driver::open_host(shared, Vec::new(), options, rules.clone(), now)?;
        Ok(Self {
            host: Seat::new(driver),
            members: BTreeMap::new(),
            now,
            store,
            link: Vec::new(),
            taken: 0,
            rules,
        })
    }

    /// Lets an agent in.
    pub(crate) fn join(
        &mut self,
        agent: &AgentId<'static>,
        store: Shared,
    ) -> Result<MemberId, Failure> {
        let member = self.let_in(agent)?;
        let options = Options {
            agent: agent.clone(),
            handles: true,
            ..self.host.session().options().clone()
        };
        let driver = Driver::open_member(store, Vec::new(), options, self.now)?;
        self.members.insert(member, Seat::new(driver));
        Ok(member)
    }

    fn let_in(&mut self, agent: &AgentId<'static>) -> Result<MemberId, Failure> {
        let joined = self.host.driver.session_mut()?.join(agent, self.now);
        joined.map_err(|error| Failure::Input(error.to_string()))
    }

    /// Says something, as the host or a member.
    pub(crate) fn say(&mut self, by: MemberId, what: &Outbound<'_>) -> Result<Mid, Failure> {
        let now = self.now;
        match self.members.get_mut(&by) {
            Some(member) => member.send(what, now),
            None => self.host.send(what, now),
        }
    }

    /// Marks a frame handled on one side, and says the answers to it.
    pub(crate) fn answer(
        &mut self,
        by: MemberId,
        position: u64,
        replies: &[Outbound<'_>],
    ) -> Result<(), Failure> {
        let now = self.now;
        match self.members.get_mut(&by) {
            Some(member) => member.handled(position, replies, now),
            None => self.host.handled(position, replies, now),
        }
    }

    /// Lets frames arrive, and time pass where it must, until everybody has everything.
    pub(crate) fn settle(&mut self) -> Result<(), Failure> {
        for _ in 0..ROUNDS {
            self.carry_out()?;
            let under_way = std::mem::take(&mut self.link);
            if !under_way.is_empty() {
                for (from, send) in under_way {
                    self.deliver(from, &send)?;
                }
                continue;
            }
            let mut members = self.members.values();
            if self.host.session().is_quiet() && members.all(|member| member.session().is_quiet()) {
                return self.complain();
            }
            self.wait();
        }
        Err(Failure::Input(format!(
            "session `{}` does not come to rest; this is a defect, please report it",
            self.host.session().id()
        )))
    }

    /// What the host has committed since this was asked last.
    pub(crate) fn take_accepted(&mut self) -> Result<Vec<Entry>, Failure> {
        let side = self.host.driver.side();
        let entries = self.store.entries(side, self.taken + 1, usize::MAX)?;
        self.taken = entries.last().map_or(self.taken, |last| last.position);
        Ok(entries)
    }

    /// What members have sent arrives; the host commits it and dies before anything leaves.
    pub(crate) fn kill_host(&mut self) -> Result<(), Failure> {
        for (id, member) in &mut self.members {
            let sends = member.carry_out(self.now)?;
            self.link.extend(sends.into_iter().map(|send| (*id, send)));
        }
        for (from, send) in std::mem::take(&mut self.link) {
            self.deliver(from, &send)?;
        }
        self.host.carry_out(self.now)?;
        Ok(())
    }

    /// The host comes back on a store that was opened anew.
    pub(crate) fn restore_host(&mut self, store: Shared) -> Result<(), Failure> {
        let options = self.host.session().options().clone();
        let (shared, rules) = (Arc::clone(&store), self.rules.clone());
        let driver = Driver::open_host(shared, Vec::new(), options, rules, self.now)?;
        self.host = Seat::new(driver);
        self.store = store;
        let members = self.members.values();
        let agents: Vec<_> = members
            .map(|member| member.session().options().agent.clone())
            .collect();
        for agent in agents {
            self.let_in(&agent)?;
        }
        Ok(())
    }

    fn carry_out(&mut self) -> Result<(), Failure> {
        let sends = self.host.carry_out(self.now)?.into_iter();
        self.link.extend(sends.map(|send| (MemberId::HOST, send)));
        for (id, member) in &mut self.members {
            let sends = member.carry_out(self.now)?.into_iter();
            self.link.extend(sends.map(|send| (*id, send)));
        }
        Ok(())
    }

    fn deliver(&mut self, from: MemberId, send: &Transmit) -> Result<(), Failure> {
        let seat = self.members.get_mut(&send.to).unwrap_or(&mut self.host);
        seat.driver.receive(from, send.text.as_bytes(), self.now)?;
        Ok(())
    }

    /// Lets time pass until something is due.
    fn wait(&mut self) {
        let members = self.members.values();
        let timeouts = members.filter_map(|member| member.session().next_timeout());
        let next = timeouts.chain(self.host.session().next_timeout()).min();
        self.now = next.unwrap_or(self.now).max(self.now);
    }

    /// On a link that loses nothing, nothing is refused.
    fn complain(&mut self) -> Result<(), Failure> {
        let members = self.members.values_mut();
        let mut all = members.flat_map(|member| member.refused.drain(..));
        let refused = all.next().or_else(|| self.host.refused.pop());
        refused.map_or(Ok(()), |why| Err(Failure::Input(why)))
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
