//! Frames that the program sends, and questions that wait for their answers.

use std::sync::Arc;

use accp_frame::{DynamicFrame, ErrorCode};
use accp_session::{Entry, EntryKind, Event, InputError, Mid, Outbound, SendError};
use accp_store::{AskError, DriverError, Question};
use tokio::time::Instant;

use super::open_question::{OnItsWay, OpenQuestion};
use super::sender::SessionSender;
use super::work::{Work, instead_of_reply};
use crate::command::{Asking, Command, Posting};
use crate::error::{Done, Error};
use crate::sent::Sent;

/// The answer of the session to a frame; `None` if the frame has to wait.
type SendOutcome = Result<Option<Result<Mid, Error>>, DriverError>;

/// Returns the error for a question of an agent to itself. The frames of an agent come to all others, so it would
/// never get the answer.
fn of_itself(name: &str) -> Error {
    let expected = format!("another agent than {name}, which asks: it gets no answer of its own");
    let code = ErrorCode::REF_NOT_FOUND;
    InputError::Send(SendError::Refused { code, expected }).into()
}

/// Returns the id of a frame that the session has taken.
fn taken(taking: &SendOutcome) -> Option<&Mid> {
    taking.as_ref().ok()?.as_ref()?.as_ref().ok()
}

impl Work {
    /// Sends the frames that have waited, as far as the session takes them now. Returns whether the session has
    /// taken any.
    pub(super) fn send_early(
        &mut self,
        sender: &mut SessionSender<'_>,
    ) -> Result<bool, DriverError> {
        let before = self.early.len();
        for command in std::mem::take(&mut self.early) {
            match command {
                // The caller no longer waits, so the frame is not sent.
                Command::Send(posting) if posting.is_given_up() => {}
                Command::Ask(asking) if asking.answer.is_closed() => {}
                Command::Ask(asking) if asking.deadline.until <= Instant::now() => {
                    let late = Error::Timeout(asking.deadline.within);
                    let _ = asking.answer.send(Err(late));
                }
                Command::Send(posting) => self.tell(sender, posting)?,
                Command::Ask(asking) => self.ask(sender, asking)?,
                _ => {}
            }
        }
        Ok(self.early.len() < before)
    }

    /// Sends a frame, or lets it wait until the session takes it.
    pub(super) fn tell(
        &mut self,
        sender: &mut SessionSender<'_>,
        posting: Posting,
    ) -> Result<(), DriverError> {
        let claim = Arc::clone(&posting.claim);
        let sent = claim.take(|| self.send(sender, &posting.outbound), taken);
        let Some(sent) = sent else {
            // The caller has given the frame up, so it is not sent.
            return Ok(());
        };
        match sent? {
            None => self.early.push_back(Command::Send(posting)),
            Some(Err(error)) => posting.fails(error),
            Some(Ok(mid)) => {
                if let Some(fate) = posting.fate {
                    self.watch(&mid, fate);
                }
                if let Some(queued) = posting.queued {
                    sender.durable.push(Box::new(|durable| {
                        let _ = queued.send(durable.map(|()| mid));
                    }));
                }
            }
        }
        Ok(())
    }

    /// Notes that the program waits for the fate of a frame.
    pub(super) fn watch(&mut self, mid: &Mid, fate: Done<Sent>) {
        let position = None;
        self.sent.insert(mid.clone(), OnItsWay { position, fate });
    }

    /// Reports the fate of frames to the program. The frames of a guest are accepted once the log of the host has
    /// them. For the frames of a member, the session reports events.
    pub(super) fn settle(&mut self, is_guest: bool, entries: &[Entry], events: &[Event]) {
        if is_guest {
            // The host has judged each reply of a guest before it kept the reply.
            self.replies.clear();
        }
        for entry in entries {
            let Some(sent) = self.sent.get_mut(&entry.mid) else {
                continue;
            };
            let is_accepted = entry.kind.is_relayed();
            if is_accepted {
                sent.position = Some(entry.position);
            }
            if is_guest && is_accepted {
                self.accepted(&entry.mid);
            } else if is_guest && entry.kind == EntryKind::Dropped {
                // The session refuses an expired frame earlier, so a frame that the log drops here
                // was cancelled.
                self.lost(&entry.mid, Error::Cancelled);
            }
        }
        for event in events {
            match event {
                Event::Acknowledged(mid) => {
                    self.replies.remove(mid);
                    self.accepted(mid);
                }
                Event::Retried { old, new, .. } => {
                    if let Some(sent) = self.sent.remove(old) {
                        self.sent.insert(new.clone(), sent);
                    }
                    if let Some(to) = self.replies.remove(old) {
                        self.replies.insert(new.clone(), to);
                    }
                }
                Event::Refused(mid, error) => self.lost(mid, Error::Refused(error.clone())),
                Event::Cancelled(mid) => {
                    self.replies.remove(mid);
                    self.lost(mid, Error::Cancelled);
                }
                Event::Expired(mid) => {
                    self.replies.remove(mid);
                    self.lost(mid, Error::Expired);
                }
                _ => {}
            }
        }
        // Frames whose callers have given up need no report.
        self.sent.retain(|_, sent| !sent.fate.is_closed());
    }

    fn accepted(&mut self, mid: &Mid) {
        if let Some(OnItsWay { position, fate }) = self.sent.remove(mid) {
            let mid = mid.clone();
            let _ = fate.send(Ok(Sent { mid, position }));
        }
    }

    fn lost(&mut self, mid: &Mid, error: Error) {
        if let Some(sent) = self.sent.remove(mid) {
            let _ = sent.fate.send(Err(error));
        }
    }

    /// Sends a question, now or later.
    pub(super) fn ask(
        &mut self,
        sender: &mut SessionSender<'_>,
        mut asking: Asking,
    ) -> Result<(), DriverError> {
        if asking.outbound.addressee() == Some(&*self.name) {
            let _ = asking.answer.send(Err(of_itself(&self.name)));
            return Ok(());
        }
        match self.send(sender, &asking.outbound)? {
            None => self.early.push_back(Command::Ask(asking)),
            Some(Ok(mid)) => {
                if let Some(fate) = asking.fate.take() {
                    self.watch(&mid, fate);
                }
                let question = Question::new(mid, asking.outbound.chain());
                self.questions.push(OpenQuestion::new(question, asking));
            }
            Some(Err(error)) => drop(asking.answer.send(Err(error))),
        }
        Ok(())
    }

    /// Sends a frame. Frames that wait keep their order.
    fn send(&mut self, sender: &mut SessionSender<'_>, outbound: &Outbound<'_>) -> SendOutcome {
        if self.early.is_empty() {
            sender.send(outbound)
        } else {
            Ok(None)
        }
    }

    /// Reports the fate of questions to their askers. Returns whether the session has new inputs:
    /// cancellations.
    pub(super) fn follow(
        &mut self,
        sender: &mut SessionSender<'_>,
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
                Ok(()) if asked.asking.deadline.until <= now => {
                    if asked.asking.cancels {
                        self.cancel(sender, &asked.question)?;
                        has_sent = true;
                    }
                    Some(Error::Timeout(asked.asking.deadline.within))
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

    /// Answers frames with an error if the host has refused the replies to them. Returns whether there are any.
    pub(super) fn make_up_for_replies(
        &mut self,
        sender: &mut SessionSender<'_>,
        events: &[Event],
    ) -> Result<bool, DriverError> {
        let mut any = false;
        for event in events {
            if let Event::Refused(mid, error) = event
                && let Some(to) = self.replies.remove(mid)
            {
                let why = &error.message;
                tracing::warn!(agent = &*self.name, %mid, code = %error.code, why, "the hub has refused a reply");
                if let Some(answer) = instead_of_reply(&to, error) {
                    self.tell(sender, Posting::unwatched(answer))?;
                    any = true;
                }
            }
        }
        Ok(any)
    }

    /// Cancels the chain of a question that nobody waits for any more.
    pub(super) fn abandon(
        &mut self,
        sender: &mut SessionSender<'_>,
        number: u64,
    ) -> Result<(), DriverError> {
        let mut asked = self.questions.iter();
        if let Some(at) = asked.position(|asked| asked.asking.number == number) {
            let asked = self.questions.remove(at);
            self.cancel(sender, &asked.question)?;
        }
        Ok(())
    }

    /// Forgets a question that nobody waits for any more, without cancelling it.
    pub(super) fn leave(&mut self, number: u64) {
        self.questions.retain(|asked| asked.asking.number != number);
    }

    fn cancel(
        &mut self,
        sender: &mut SessionSender<'_>,
        question: &Question,
    ) -> Result<(), DriverError> {
        if let Ok(cancel) = DynamicFrame::new(self.name.to_string(), "cancel", "task") {
            let cancel = Outbound::owned_message(cancel).in_chain(question.chain().to_string());
            self.tell(sender, Posting::unwatched(cancel))?;
        }
        Ok(())
    }
}
