//! Who sends frames by a session: the agent of its side, or a guest of it.

use accp_session::{InputError, MemberId, Mid, Outbound, SendError, Transmit};
use accp_store::{AsyncDriver, DriverError};

use crate::clock::now;
use crate::error::{Error, Told};

/// The session of an agent, for what the agent sends.
pub(super) struct Speaker<'s> {
    pub(super) driver: &'s mut AsyncDriver<Vec<Transmit>>,
    /// The number of a guest; `None` for the agent of the side itself.
    pub(super) guest: Option<MemberId>,
    /// Who is told once the inputs are durable.
    pub(super) durable: &'s mut Vec<Told>,
}

impl Speaker<'_> {
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
            Err(DriverError::Input(error)) => Ok(Some(Err(error_of(error)))),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether the session takes this input later: the host has not answered this side yet, its outbox
/// is full, or others come first.
pub(super) fn waits(error: &InputError) -> bool {
    matches!(
        error,
        InputError::Send(SendError::NotJoined | SendError::Full(_) | SendError::Busy)
    )
}

/// Returns what a caller is told of an input that the session does not take.
pub(super) fn error_of(error: InputError) -> Error {
    match error {
        InputError::Send(SendError::Denied(error)) => Error::Refused(*error),
        InputError::Send(SendError::Expired) => Error::Expired,
        InputError::Send(SendError::Cancelled) => Error::Cancelled,
        error => Error::Input(error),
    }
}
