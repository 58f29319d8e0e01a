//! Questions: frames whose sender waits for the answer.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use accp_frame::{ErrorCode, Intent};
use accp_session::{Event, Inbound, Mid, Outbound, PeerError, Time};

use super::Driver;
use super::error::DriverError;
use super::link::Link;
use crate::store::Store;

/// The reason why a question has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// Nobody has answered in time. The question stays open: the handler of [`Driver::serve`] gets a late answer.
    Timeout(Duration),
    /// The answer is `fail`. It counts as handled.
    Failed(Box<Inbound>),
    /// The host will never take the question.
    Refused(PeerError),
    /// The chain of the question was cancelled.
    Cancelled,
    /// The host dropped the question, because its `ttl` was over.
    Expired,
    /// The driver failed, or the closure that waits for frames failed.
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

/// A question that waits for its answer. A program that uses an [`AsyncDriver`](crate::AsyncDriver) follows its
/// questions with this type. A [`Driver`] does this by itself in [`Driver::ask`].
///
/// ```
/// use accp_runtime::session::{CancelToken, Event, Inbound, MemberId, Mid};
/// use accp_runtime::Intent;
/// use accp_store::Question;
///
/// let mut question = Question::new(Mid::parse("101000001001"), None);
/// assert!(question.follow(&[Event::Expired(Mid::parse("101000001002"))]).is_ok());
/// let text = "@dev>done:plan{}[mid:102000001001,seq:2,cid:101000001001]";
/// let inbound = Inbound::new(2, MemberId::HOST, text.into(), CancelToken::new());
/// assert_eq!(question.answer(&inbound), Some(Intent::DONE));
/// ```
#[derive(Debug)]
pub struct Question {
    mid: Mid,
    /// The name of the question's chain, if the program gave one.
    chain: Option<Mid>,
}

impl Question {
    /// Makes the question for the frame that was sent under this id. `chain` is the chain that the frame names, if it
    /// names one ([`Outbound::chain`]).
    pub fn new(mid: Mid, chain: Option<Mid>) -> Self {
        Self { mid, chain }
    }

    /// Takes the events of the session that concern the question. Hand in each event once.
    ///
    /// # Errors
    /// [`AskError`], when nobody will answer.
    pub fn follow(&mut self, events: &[Event]) -> Result<(), AskError> {
        for event in events {
            match event {
                // The session has sent the question again under a new id, and the answer names the
                // new id.
                Event::Retried { old, new, .. } if *old == self.mid => self.mid = new.clone(),
                Event::Refused(mid, error) if *mid == self.mid => {
                    return Err(AskError::Refused(error.clone()));
                }
                Event::Cancelled(mid) if *mid == self.mid => return Err(AskError::Cancelled),
                Event::Expired(mid) if *mid == self.mid => return Err(AskError::Expired),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the name of the question's chain, which a `cancel` names.
    pub fn chain(&self) -> &Mid {
        self.chain.as_ref().unwrap_or(&self.mid)
    }

    /// Returns the intent of a frame that answers the question: see [`Inbound::answers`].
    pub fn answer(&self, inbound: &Inbound) -> Option<Intent> {
        let chain = self.chain();
        // This search spares the parsing of most frames. An answer contains one of the two ids, and
        // an id of digits has no escapes.
        let may_name = |mid: &Mid| {
            let name = mid.to_string();
            !name.bytes().all(|byte| byte.is_ascii_digit()) || inbound.text().contains(&name)
        };
        let may_answer = may_name(&self.mid) || may_name(chain);
        may_answer.then(|| inbound.answers(&self.mid, chain))?
    }
}

impl<S: Store, L: Link> Driver<S, L> {
    /// Sends a frame and waits for the frame that answers it: `done` or `end` in its chain
    /// ([`Inbound::answers`]). The answer counts as handled. The values that the answer refers to have
    /// arrived, so [`Inbound::decode`] reads whole fields.
    ///
    /// `wait` waits for frames until the given time at most, hands them in ([`receive`](Self::receive)), and
    /// returns the present time. Frames other than the answer wait for [`serve`](Self::serve), and so do the
    /// events.
    ///
    /// If the process is killed before the answer is here, the answer goes to the handler of
    /// [`serve`](Self::serve) when the session is opened again.
    ///
    /// # Errors
    /// [`AskError`]. After the timeout (E3001) the question stays open; set a `ttl` to end it.
    pub fn ask(
        &mut self,
        outbound: &Outbound<'_>,
        timeout: Duration,
        now: Time,
        mut wait: impl FnMut(&mut Self, Time) -> Result<Time, DriverError>,
    ) -> Result<Inbound, AskError> {
        let (until, mut now) = (now + timeout, now);
        let mut asked = Question::new(self.send(outbound, now)?, outbound.chain());
        let mut seen = self.events.len();
        loop {
            self.take_in(now)?;
            asked.follow(&self.events[seen.min(self.events.len())..])?;
            seen = self.events.len();
            let session = self.machine.session();
            let waiting = self.inbox.iter();
            let mut waiting = waiting.filter(|frame| session.waits(frame.position()));
            let answer = waiting.find_map(|frame| Some((frame.clone(), asked.answer(frame)?)));
            if let Some((answer, intent)) = answer
                && !self.machine.session_mut()?.lapse(&answer, now)
                && let Some(whole) = self.with_values(&answer)?
            {
                self.inbox
                    .retain(|frame| frame.position() != answer.position());
                self.machine.handled(&whole, Vec::new(), now)?;
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
