//! Sends frames through a session, for the agent of its side or for a guest.

use accp_session::{InputError, MemberId, Mid, Outbound, SendError, Transmit};
use accp_store::{AsyncDriver, DriverError};

use crate::clock::now;
use crate::error::{Error, OnDurable};

/// The session of an agent, as the agent uses it to send frames.
pub(super) struct SessionSender<'s> {
    pub(super) driver: &'s mut AsyncDriver<Vec<Transmit>>,
    /// The number of a guest; `None` for the agent of the side itself.
    pub(super) guest: Option<MemberId>,
    /// Called once the inputs are durable.
    pub(super) durable: &'s mut Vec<OnDurable>,
}

impl SessionSender<'_> {
    /// Sends a frame. Returns `None` if it has to wait: see [`waits`].
    pub(super) fn send(
        &mut self,
        outbound: &Outbound<'_>,
    ) -> Result<Option<Result<Mid, Error>>, DriverError> {
        let sent = match self.guest {
            None => self.driver.send(outbound, now()),
            Some(member) => {
                let sent = self.driver.session_mut()?.send_as(member, outbound, now());
                sent.map_err(|error| DriverError::Input(error.into()))
            }
        };
        match sent {
            Ok(mid) => Ok(Some(Ok(mid))),
            Err(DriverError::Input(error)) if waits(&error) => Ok(None),
            Err(DriverError::Input(error)) => Ok(Some(Err(Error::of_input(error)))),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether the session may take this input later: the host has not answered this side yet, the outbox is
/// full, or the session is busy.
pub(super) fn waits(error: &InputError) -> bool {
    matches!(
        error,
        InputError::Send(SendError::NotJoined | SendError::Full(_) | SendError::Busy)
    )
}
