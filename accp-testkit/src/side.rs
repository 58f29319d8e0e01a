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
    /// Opens the host's side, be it new or kept.
    pub fn host(
        store: S,
        link: L,
        options: Options,
        rules: Rules,
        now: Time,
    ) -> Result<Self, DriverError> {
        let opened = options.clone();
        let driver = Driver::open_host(store.clone(), link, opened, rules.clone(), now)?;
        Ok(Self::new(
            MemberId::HOST,
            store,
            driver,
            options,
            Some(rules),
        ))
    }

    /// Opens the side of this member, be it new or kept.
    pub fn member(
        id: MemberId,
        store: S,
        link: L,
        options: Options,
        now: Time,
    ) -> Result<Self, DriverError> {
        let driver = Driver::open_member(store.clone(), link, options.clone(), now)?;
        Ok(Self::new(id, store, driver, options, None))
    }

    fn new(
        id: MemberId,
        store: S,
        driver: Driver<S, L>,
        options: Options,
        rules: Option<Rules>,
    ) -> Self {
        Self {
            id,
            driver,
            store,
            inbox: Vec::new(),
            events: Vec::new(),
            ahead: 0,
            options,
            rules,
        }
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
        let (store, options, link) = (self.store.clone(), self.options.clone(), Vec::new());
        self.driver = match self.rules.clone() {
            Some(rules) => Driver::open_host(store, link, options, rules, now)?,
            None => Driver::open_member(store, link, options, now)?,
        };
        self.inbox.clear();
        Ok(())
    }
}
