//! Frames that the program sends, and questions that wait for their answers.

use accp_runtime::Message;
use accp_runtime::session::{Event, Mid, Outbound};
use accp_store::{AskError, DriverError, Question};
use tokio::time::Instant;

use super::asked::Asked;
use super::speaker::Speaker;
use super::work::Work;
use crate::command::{Asking, Command};
use crate::error::{Done, Error};

impl Work {
    /// Sends the frames that have waited, as far as the session takes them now. Returns whether it
    /// has taken one.
    pub(super) fn send_early(&mut self, speaker: &mut Speaker<'_>) -> Result<bool, DriverError> {
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
                Command::Send { outbound, done } => self.tell(speaker, outbound, done)?,
                Command::Ask(asking) => self.ask(speaker, asking)?,
                _ => {}
            }
        }
        Ok(self.early.len() < before)
    }

    /// Sends a frame, now or later.
    pub(super) fn tell(
        &mut self,
        speaker: &mut Speaker<'_>,
        outbound: Outbound<'static>,
        done: Option<Done<()>>,
    ) -> Result<(), DriverError> {
        match (self.send(speaker, &outbound)?, done) {
            (None, done) => self.early.push_back(Command::Send { outbound, done }),
            (Some(Ok(_)), done) => speaker.durable.extend(done),
            (Some(Err(error)), done) => drop(done.map(|done| done.send(Err(error)))),
        }
        Ok(())
    }

    /// Sends a question, now or later.
    pub(super) fn ask(
        &mut self,
        speaker: &mut Speaker<'_>,
        asking: Asking,
    ) -> Result<(), DriverError> {
        match self.send(speaker, &asking.outbound)? {
            None => self.early.push_back(Command::Ask(asking)),
            Some(Ok(mid)) => {
                let question = Question::new(mid, asking.outbound.chain());
                self.questions.push(Asked { question, asking });
            }
            Some(Err(error)) => drop(asking.answer.send(Err(error))),
        }
        Ok(())
    }

    /// Sends a frame. Frames that wait keep their order.
    fn send(
        &mut self,
        speaker: &mut Speaker<'_>,
        outbound: &Outbound<'_>,
    ) -> Result<Option<Result<Mid, Error>>, DriverError> {
        if self.early.is_empty() {
            speaker.send(outbound)
        } else {
            Ok(None)
        }
    }

    /// Tells those who ask what has become of their questions. Returns whether the session has new inputs:
    /// cancellations.
    pub(super) fn follow(
        &mut self,
        speaker: &mut Speaker<'_>,
        events: &[Event],
    ) -> Result<bool, DriverError> {
        let now = Instant::now();
        let mut has_sent = false;
        let asked = std::mem::take(&mut self.questions);
        for mut asked in asked {
            let fate = match asked.question.follow(events) {
                Err(AskError::Refused(error)) => Some(Error::Refused(error)),
                Err(AskError::Expired) => Some(Error::Expired),
                Err(_) => Some(Error::Cancelled),
                Ok(()) if asked.asking.until <= now => {
                    if asked.asking.cancels {
                        self.cancel(speaker, &asked.question)?;
                        has_sent = true;
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
        Ok(has_sent)
    }

    /// Cancels the chain of a question that nobody waits for any more.
    pub(super) fn abandon(
        &mut self,
        speaker: &mut Speaker<'_>,
        number: u64,
    ) -> Result<(), DriverError> {
        let mut asked = self.questions.iter();
        if let Some(at) = asked.position(|asked| asked.asking.number == number) {
            let asked = self.questions.remove(at);
            self.cancel(speaker, &asked.question)?;
        }
        Ok(())
    }

    /// Forgets a question that nobody waits for any more, and lets it stand.
    pub(super) fn leave(&mut self, number: u64) {
        self.questions.retain(|asked| asked.asking.number != number);
    }

    fn cancel(
        &mut self,
        speaker: &mut Speaker<'_>,
        question: &Question,
    ) -> Result<(), DriverError> {
        if let Ok(cancel) = Message::new(self.name.to_string(), "cancel", "task") {
            let cancel = Outbound::owned_message(cancel).in_chain(question.chain().to_string());
            self.tell(speaker, cancel, None)?;
        }
        Ok(())
    }
}
