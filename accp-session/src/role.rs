//! What differs between a host and a member, behind one session.

use crate::send::encode::Composed;
use crate::{Cold, Entry, Mid, SendError, Session, Time};

/// [`Host`](crate::Host) or [`Member`](crate::Member).
pub trait Role: Sized + sealed::Sealed {
    /// Whether the host would take these frames, as far as that is known here.
    #[doc(hidden)]
    fn check(session: &Session<Self>, frames: &Frames) -> Result<(), SendError>;

    /// The number that the next frame of this side is expected to have.
    #[doc(hidden)]
    fn next_sequence(session: &Session<Self>) -> u64;

    /// Whether frames may be sent in parts.
    #[doc(hidden)]
    fn takes_parts(session: &Session<Self>) -> bool;

    /// Sends frames that were checked; gives the id of the last.
    #[doc(hidden)]
    fn submit(session: &mut Session<Self>, frames: Frames, now: Time) -> Result<Mid, SendError>;

    /// Puts into the batch what goes out now.
    #[doc(hidden)]
    fn flush(session: &mut Session<Self>, now: Time);

    #[doc(hidden)]
    fn rest(session: &mut Session<Self>);

    #[doc(hidden)]
    fn next_timeout(session: &Session<Self>) -> Option<Time>;

    #[doc(hidden)]
    fn timeout(session: &mut Session<Self>, now: Time);

    #[doc(hidden)]
    fn entries(session: &mut Session<Self>, from: u64, entries: &[Entry]);

    #[doc(hidden)]
    fn cold(session: &mut Session<Self>, key: &str, cold: Option<Cold>, now: Time);
}

/// Frames of messages that are sent together.
#[derive(Debug, Default)]
pub struct Frames {
    pub(crate) frames: Vec<Composed>,
    /// The number of the last value that they announce.
    pub(crate) last_put: u64,
}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Host {}
    impl Sealed for crate::Member {}
}
