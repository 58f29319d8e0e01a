//! The side of a host whose store is an older copy. The session stops until the caller recovers the lost entries or
//! forks the log.

use std::ops::RangeInclusive;

use accp_session::{Event, Input, InputError};
use accp_store::DriverError;

use super::Side;
use crate::clock::now;
use crate::error::{Done, Error};

impl Side {
    /// Begins to get the lost entries from the member that has them.
    pub(super) fn recover(&mut self, done: Done<RangeInclusive<u64>>) -> Result<(), DriverError> {
        match self.driver.session_mut()?.handle(Input::Recover, now()) {
            Ok(_) => self.recovering.push(done),
            Err(error) => drop(done.send(Err(Error::Input(error)))),
        }
        Ok(())
    }

    /// Gives the log a new identity.
    pub(super) fn fork(&mut self, done: Done<()>) -> Result<(), DriverError> {
        match self.driver.fork(now()) {
            Ok(()) => {
                let tell = move |kept: Result<(), Error>| drop(done.send(kept));
                self.durable.push(Box::new(tell));
                self.end_recovery("the log goes on without what this store lacks");
            }
            Err(DriverError::Input(error)) => drop(done.send(Err(Error::Input(error)))),
            Err(error) => {
                let _ = done.send(Err(Error::ended()));
                return Err(error);
            }
        }
        Ok(())
    }

    fn end_recovery(&mut self, why: &'static str) {
        for done in self.recovering.drain(..) {
            let _ = done.send(Err(Error::Input(InputError::Recover(why))));
        }
    }

    /// Tells operators that the store is an old copy, and callers how a recovery went.
    pub(super) fn tell_restored(&mut self, events: &[Event]) {
        for event in events {
            let session = &*self.driver.session().options().session;
            match event {
                Event::RolledBack { member, position } => {
                    let own = self.driver.session().position();
                    tracing::warn!(
                        session, %member, position, own,
                        "the store is an old copy, and the session stops: a member holds the log beyond it. Take the \
                         rest from this member (`accp recover`), or go on without (`accp recover --fork`)"
                    );
                }
                Event::Recovered(positions) => {
                    tracing::info!(session, ?positions, "a session has what its store lacked");
                    for done in self.recovering.drain(..) {
                        let _ = done.send(Ok(positions.clone()));
                    }
                }
                Event::NotRecovered(member) => {
                    tracing::warn!(session, %member, "a session cannot have what its store lacks");
                    self.end_recovery(
                        "the host has accepted other frames since, so only a fork helps",
                    );
                }
                Event::Removed(member) => {
                    tracing::warn!(
                        session, %member,
                        "an agent holds another log than the session, and was taken out of it: it has to connect anew"
                    );
                }
                _ => {}
            }
        }
    }
}
