//! Frames that the program sends, and questions that wait for their answers.

use accp_runtime::Message;
use accp_runtime::session::{Event, InputError, Mid, Outbound, SendError};
use accp_store::{AskError, DriverError, Question};
use tokio::time::Instant;

use super::Side;
use super::asked::Asked;
use crate::clock::now;
use crate::command::{Asking, Command};
use crate::error::{Done, Error};

impl Side {
    /// Sends the frames that have waited, as far as the session takes them now. Returns whether it
    /// has taken one.
    pub(super) fn send_early(&mut self) -> Result<bool, DriverError> {
        let before = self.early.len();
        for command in std::mem::take(&mut self.early) {
            match command {
                // Nobody waits any more.
                Command::Send {
                    done: Some(done), ..
                } if done.is_closed() => {}
                Command::Ask(asking) if asking.answer.is_closed() => {}
                Command::Ask(asking) if asking.until <= Instant::now() => {
                    let _ = asking.answer.send(Err(Error::Timeout(asking.within)));
                }
                Command::Send { outbound, done } => self.tell(outbound, done)?,
                Command::Ask(asking) => self.ask(asking)?,
                _ => {}
            }
        }
        Ok(self.early.len() < before)
    }

    /// Sends a frame, now or later.
    pub(super) fn tell(
        &mut self,
        outbound: Outbound<'static>,
        done: Option<Done<()>>,
    ) -> Result<(), DriverError> {
        match (self.send(&outbound)?, done) {
            (None, done) => self.early.push_back(Command::Send { outbound, done }),
            (Some(Ok(_)), done) => self.durable.extend(done),
            (Some(Err(error)), done) => drop(done.map(|done| done.send(Err(error)))),
        }
        Ok(())
    }

    /// Sends a question, now or later.
    pub(super) fn ask(&mut self, asking: Asking) -> Result<(), DriverError> {
        match self.send(&asking.outbound)? {
            None => self.early.push_back(Command::Ask(asking)),
            Some(Ok(mid)) => {
                let question = Question::new(mid, asking.outbound.chain());
                self.questions.push(Asked { question, asking });
            }
            Some(Err(error)) => drop(asking.answer.send(Err(error))),
        }
        Ok(())
    }

    /// Sends a frame. Returns `None` if it has to wait: this side has not joined yet, or its outbox is
    /// full. Frames that wait keep their order.
    fn send(&mut self, outbound: &Outbound<'_>) -> Result<Option<Result<Mid, Error>>, DriverError> {
        if !self.early.is_empty() {
            return Ok(None);
        }
        match self.driver.send(outbound, now()) {
            Ok(mid) => Ok(Some(Ok(mid))),
            Err(DriverError::Input(error)) if waits(&error) => Ok(None),
            Err(DriverError::Input(error)) => Ok(Some(Err(Error::Input(error)))),
            Err(error) => Err(error),
        }
    }

    /// Tells those who ask what has become of their questions.
    pub(super) fn follow(&mut self, events: &[Event]) -> Result<(), DriverError> {
        let now = Instant::now();
        let asked = std::mem::take(&mut self.questions);
        for mut asked in asked {
            let fate = match asked.question.follow(events) {
                Err(AskError::Refused(error)) => Some(Error::Refused(error)),
                Err(AskError::Expired) => Some(Error::Expired),
                Err(_) => Some(Error::Cancelled),
                Ok(()) if asked.asking.until <= now => {
                    if asked.asking.cancels {
                        self.cancel(&asked.question)?;
                    }
                    Some(Error::Timeout(asked.asking.within))
                }
                Ok(()) => None,
            };
            match fate {
                Some(error) => drop(asked.asking.answer.send(Err(error))),
                None if asked.asking.answer.is_closed() && !asked.asking.cancels => {}
                None => self.questions.push(asked),
            }
        }
        Ok(())
    }

    /// Cancels the chain of a question that nobody waits for any more.
    pub(super) fn abandon(&mut self, number: u64) -> Result<(), DriverError> {
        let mut asked = self.questions.iter();
        if let Some(at) = asked.position(|asked| asked.asking.number == number) {
            let asked = self.questions.remove(at);
            self.cancel(&asked.question)?;
        }
        Ok(())
    }

    fn cancel(&mut self, question: &Question) -> Result<(), DriverError> {
        let agent = &self.driver.session().options().agent;
        if let Ok(cancel) = Message::new(agent.to_string(), "cancel", "task") {
            let cancel = Outbound::owned_message(cancel).in_chain(question.chain().to_string());
            self.tell(cancel, None)?;
        }
        Ok(())
    }
}

/// Returns whether the session takes this input later: the host has not answered this side yet, or
/// its outbox is full.
pub(super) fn waits(error: &InputError) -> bool {
    matches!(
        error,
        InputError::Send(SendError::NotJoined | SendError::Full(_))
    )
}
