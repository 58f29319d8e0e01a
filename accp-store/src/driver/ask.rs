//! A question and its answer.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use accp_runtime::session::{Event, Inbound, Mid, Outbound, PeerError, Time};
use accp_runtime::{ErrorCode, Intent};

use super::Driver;
use super::error::DriverError;
use super::link::Link;
use crate::Store;

/// The reason why a question has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// Nobody has answered in time. The question stands: a late answer goes to the handler of
    /// [`Driver::serve`].
    Timeout(Duration),
    /// The answer is `fail`. It counts as handled.
    Failed(Box<Inbound>),
    /// The host will never take the question.
    Refused(PeerError),
    /// The chain of the question was cancelled.
    Cancelled,
    /// The host dropped the question, because its `ttl` was over.
    Expired,
    /// The driver failed, or the program that waits for frames.
    Driver(DriverError),
}

impl AskError {
    /// Returns the code of the draft (section 3.6), where there is one.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Timeout(_) | Self::Expired => Some(ErrorCode::TIMEOUT),
            Self::Refused(error) => Some(error.code),
            Self::Driver(error) => error.code(),
            Self::Failed(_) | Self::Cancelled => None,
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout(time) => write!(f, "E3001: no answer within {time:?}"),
            Self::Failed(answer) => write!(f, "the answer is a failure: {}", answer.text()),
            Self::Refused(error) => {
                write!(
                    f,
                    "{}: the host refuses the question: expected {}",
                    error.code, error.message
                )
            }
            Self::Cancelled => f.write_str("the chain of the question was cancelled"),
            Self::Expired => f.write_str("E3001: the time of the question was over"),
            Self::Driver(error) => error.fmt(f),
        }
    }
}

impl Error for AskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Driver(error) => Some(error),
            _ => None,
        }
    }
}

impl From<DriverError> for AskError {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

/// A question that waits for its answer.
struct Asked {
    mid: Mid,
    /// The name of its chain, if the program gave one.
    chain: Option<Mid>,
    /// The events that were looked at.
    seen: usize,
}

impl Asked {
    /// Takes what has become of the question since.
    fn follow(&mut self, events: &[Event]) -> Result<(), AskError> {
        for event in events.iter().skip(self.seen) {
            match event {
                // It goes out under another id, and the answer names that.
                Event::Retried { old, new, .. } if *old == self.mid => self.mid = new.clone(),
                Event::Refused(mid, error) if *mid == self.mid => {
                    return Err(AskError::Refused(error.clone()));
                }
                Event::Cancelled(mid) if *mid == self.mid => return Err(AskError::Cancelled),
                Event::Expired(mid) if *mid == self.mid => return Err(AskError::Expired),
                _ => {}
            }
        }
        self.seen = events.len();
        Ok(())
    }

    /// Returns the frame that answers, with its intent.
    fn answer<'i>(
        &self,
        mut inbox: impl Iterator<Item = &'i Inbound>,
    ) -> Option<(Inbound, Intent)> {
        let chain = self.chain.as_ref().unwrap_or(&self.mid);
        inbox.find_map(|frame| Some((frame.clone(), frame.answers(&self.mid, chain)?)))
    }
}

impl<S: Store, L: Link> Driver<S, L> {
    /// Sends a frame and waits for the frame that answers it: `done` or `end` in its chain
    /// ([`Inbound::answers`]). The answer counts as handled. Its values are here, so that
    /// [`Inbound::decode`] reads whole fields.
    ///
    /// `wait` waits for frames until the given time at most, hands them in
    /// ([`receive`](Self::receive)), and returns the time. Other frames than the answer wait for
    /// [`serve`](Self::serve), and so do the events.
    ///
    /// If the process is killed before the answer is here, the answer goes to the handler of
    /// [`serve`](Self::serve) when the session is opened again.
    ///
    /// # Errors
    /// [`AskError`]. After the timeout (E3001) the question stands; set a `ttl` to end it.
    pub fn ask(
        &mut self,
        outbound: &Outbound<'_>,
        timeout: Duration,
        now: Time,
        mut wait: impl FnMut(&mut Self, Time) -> Result<Time, DriverError>,
    ) -> Result<Inbound, AskError> {
        let (until, mut now) = (now + timeout, now);
        let mut asked = Asked {
            mid: self.send(outbound, now)?,
            chain: outbound.chain(),
            seen: self.events.len(),
        };
        loop {
            self.take_in(now)?;
            asked.follow(&self.events)?;
            let session = self.course.session();
            let waiting = self.inbox.iter();
            let waiting = waiting.filter(|frame| session.waits(frame.position()));
            if let Some((answer, intent)) = asked.answer(waiting)
                && !self.course.session_mut()?.lapse(&answer, now)
                && let Some(whole) = self.with_values(&answer)?
            {
                self.inbox
                    .retain(|frame| frame.position() != answer.position());
                self.course.handled(&whole, Vec::new(), now)?;
                self.take_in(now)?;
                return match intent {
                    Intent::FAIL => Err(AskError::Failed(Box::new(whole))),
                    _ => Ok(whole),
                };
            }
            if now >= until {
                return Err(AskError::Timeout(timeout));
            }
            now = wait(self, until)?;
        }
    }
}
