//! One side of a session.

use std::sync::{Arc, Mutex};

use accp_session::{Event, Inbound, MemberId, Options, Rules, Session, Time, Transmit};
use accp_store::{DriverError, Link, MemoryStore, Store};

use crate::runner::Runner;

/// A store shared by drivers and by tests that inspect it.
pub type Shared = Arc<Mutex<MemoryStore>>;

/// A host or a member: its driver, and the results of the driver's work.
#[derive(Debug)]
pub struct Side<S = Shared, L = Vec<Transmit>> {
    /// The member id of the side.
    pub id: MemberId,
    /// The driver, which takes the inputs of the side.
    pub driver: Runner<S, L>,
    /// The store of the driver.
    pub store: S,
    /// Delivered frames that no handler has taken out yet.
    pub inbox: Vec<Inbound>,
    /// Events that nobody has taken out yet.
    pub events: Vec<Event>,
    /// Milliseconds by which the clock of the side is ahead of the time of the room.
    pub ahead: i64,
    /// The options with which the side is opened again.
    pub options: Options,
    /// True if the side joins as a supervisor.
    pub supervises: bool,
    rules: Option<Rules>,
    awaits: bool,
}

impl<S: Store + Clone, L: Link> Side<S, L> {
    /// Opens the side of this member, new or from its store. With rules the side is the host.
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
            driver: Runner::blocking(store.clone(), link, options.clone(), rules.clone(), now)?,
            store,
            inbox: Vec::new(),
            events: Vec::new(),
            ahead: 0,
            options,
            supervises: false,
            rules,
            awaits: false,
        })
    }

    /// Returns the session, to inspect it.
    pub fn session(&self) -> &Session {
        self.driver.session()
    }

    /// Returns the time on the clock of the side.
    pub fn clock(&self, now: Time) -> Time {
        Time::from_millis(now.as_millis() + self.ahead)
    }

    /// Carries out the pending work. `now` is the time on the clock of the side.
    pub fn carry_out(&mut self, now: Time) -> Result<(), DriverError> {
        let outcome = self.driver.carry_out(now)?;
        self.inbox.extend(outcome.inbound);
        self.events.extend(outcome.events);
        Ok(())
    }

    /// Returns whether the session is quiet and the inbox is empty.
    pub fn is_quiet(&self) -> bool {
        self.session().is_quiet() && self.inbox.is_empty()
    }
}

impl<S: Store + Clone + Send + 'static> Side<S> {
    /// Takes the frames that left the side since the last call.
    pub fn left(&mut self) -> Vec<Transmit> {
        std::mem::take(self.driver.link_mut())
    }

    /// Kills the side, and opens it again from its store.
    pub fn restart(&mut self, now: Time) -> Result<(), DriverError> {
        self.reopen(now).map(drop)
    }

    /// Opens the side again from its store, and returns its previous driver.
    pub fn reopen(&mut self, now: Time) -> Result<Runner<S, Vec<Transmit>>, DriverError> {
        let store = self.store.clone();
        let new = if self.awaits {
            Runner::awaiting(store, &self.options, self.rules.as_ref(), now)?
        } else {
            let (options, rules) = (self.options.clone(), self.rules.clone());
            Runner::blocking(store, Vec::new(), options, rules, now)?
        };
        self.inbox.clear();
        Ok(std::mem::replace(&mut self.driver, new))
    }

    /// Opens the side again, with an [`AsyncDriver`](accp_store::AsyncDriver) from now on.
    pub fn awaiting(mut self, now: Time) -> Result<Self, DriverError> {
        self.awaits = true;
        self.restart(now)?;
        Ok(self)
    }
}
