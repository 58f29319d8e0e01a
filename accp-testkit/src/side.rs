//! One side of a session.

use std::sync::{Arc, Mutex};

use accp_runtime::session::{Event, Inbound, MemberId, Options, Rules, Session, Time, Transmit};
use accp_store::{Driver, DriverError, Link, MemoryStore, Store};

/// A store that several hold in their hands: drivers, and who looks into it.
pub type Shared = Arc<Mutex<MemoryStore>>;

/// A host or a member: its driver, and what came of it.
#[derive(Debug)]
pub struct Side<S = Shared, L = Vec<Transmit>> {
    /// Its member.
    pub id: MemberId,
    /// Takes its inputs.
    pub driver: Driver<S, L>,
    /// The store of the driver.
    pub store: S,
    /// What was delivered and not taken out by who handles it.
    pub inbox: Vec<Inbound>,
    /// What happened, until it is taken out.
    pub events: Vec<Event>,
    /// Milliseconds that its clock is ahead.
    pub ahead: i64,
    /// What it is told when it is opened again.
    pub options: Options,
    rules: Option<Rules>,
}

impl<S: Store + Clone, L: Link> Side<S, L> {
    /// Opens the side of this member, be it new or kept; as the host when there are rules.
    pub fn open(
        id: MemberId,
        store: S,
        link: L,
        options: Options,
        rules: Option<Rules>,
        now: Time,
    ) -> Result<Self, DriverError> {
        Ok(Self {
            id,
            driver: drive(store.clone(), link, options.clone(), rules.clone(), now)?,
            store,
            inbox: Vec::new(),
            events: Vec::new(),
            ahead: 0,
            options,
            rules,
        })
    }

    /// The session, to look at.
    pub fn session(&self) -> &Session {
        self.driver.session()
    }

    /// What its clock says.
    pub fn clock(&self, now: Time) -> Time {
        Time::from_millis(now.as_millis() + self.ahead)
    }

    /// Carries out what there is to do; `now` is what its clock says.
    pub fn carry_out(&mut self, now: Time) -> Result<(), DriverError> {
        let outcome = self.driver.carry_out(now)?;
        self.inbox.extend(outcome.inbound);
        self.events.extend(outcome.events);
        Ok(())
    }

    /// Whether it waits for nothing, and nothing waits for it.
    pub fn is_quiet(&self) -> bool {
        self.session().is_quiet() && self.inbox.is_empty()
    }
}

impl<S: Store + Clone> Side<S> {
    /// What has left it since this was asked last.
    pub fn left(&mut self) -> Vec<Transmit> {
        std::mem::take(self.driver.link_mut())
    }

    /// It is killed, and opened again from what its store holds.
    pub fn restart(&mut self, now: Time) -> Result<(), DriverError> {
        let (options, rules) = (self.options.clone(), self.rules.clone());
        self.driver = drive(self.store.clone(), Vec::new(), options, rules, now)?;
        self.inbox.clear();
        Ok(())
    }
}

fn drive<S: Store, L: Link>(
    store: S,
    link: L,
    options: Options,
    rules: Option<Rules>,
    now: Time,
) -> Result<Driver<S, L>, DriverError> {
    match rules {
        Some(rules) => Driver::open_host(store, link, options, rules, now),
        None => Driver::open_member(store, link, options, now),
    }
}
