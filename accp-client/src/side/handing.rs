//! Frames on their way to handlers, and back as marked.

use accp_runtime::session::{Inbound, Outbound};
use accp_runtime::{ErrorCode, Intent};
use accp_store::DriverError;

use super::Side;
use super::outgoing::waits;
use crate::clock::now;
use crate::command::{Command, PANICKED};
use crate::context::{Marked, Reply, Ticket};
use crate::error::Error;

/// Handlers of a side that run at a time. The frames behind wait in their order.
const HANDLERS: usize = 64;

impl Side {
    /// Marks frames as handled, as far as the session takes the answers now. Returns whether it has
    /// taken one.
    pub(super) fn mark_late(&mut self) -> Result<bool, DriverError> {
        let before = self.late.len();
        for marked in std::mem::take(&mut self.late) {
            if let Some(marked) = self.mark(marked)? {
                self.late.push_back(marked);
            }
        }
        Ok(self.late.len() < before)
    }

    /// Marks a frame as handled, with an answer. If the answer cannot be sent, an error goes out in
    /// its place. Returns what has to wait: the outbox is full, or the host has not answered yet.
    fn mark(&mut self, marked: Marked) -> Result<Option<Marked>, DriverError> {
        let inbound = &marked.inbound;
        // An answer to an answer would be answered in turn.
        let registry = &self.driver.session().options().registry;
        let asks = inbound.message(registry).is_ok_and(|message| {
            !matches!(message.intent, Intent::DONE | Intent::FAIL | Intent::END)
        });
        let fault = |code, text| asks.then(|| Outbound::error(code, text));
        let answers = match &marked.reply {
            Some(Reply::Frame(outbound)) => vec![outbound.clone()],
            Some(Reply::Error(code, text)) => fault(*code, text.clone()).into_iter().collect(),
            None => Vec::new(),
        };
        let refused = match self.driver.handled(inbound, answers, now()) {
            Err(DriverError::Input(error)) if waits(&error) => return Ok(Some(marked)),
            handled => input(handled)?,
        };
        if let Some(error) = &refused {
            let text = format!("the answer of the handler cannot be sent: {error}");
            let answers = fault(ErrorCode::INTERNAL_ERROR, text).into_iter().collect();
            match self.driver.handled(inbound, answers, now()) {
                Err(DriverError::Input(error)) if waits(&error) => return Ok(Some(marked)),
                handled => drop(input(handled)?),
            }
        }
        self.in_work.remove(&inbound.position());
        match (refused, marked.done) {
            (None, Some(done)) => self.durable.push(done),
            (Some(error), Some(done)) => drop(done.send(Err(error))),
            (_, None) => {}
        }
        Ok(None)
    }

    /// Hands frames to those who ask and to handlers, in their order. Frames that nobody takes wait.
    /// Returns whether the session has new inputs.
    pub(super) async fn hand_out(&mut self) -> Result<bool, DriverError> {
        let mut has_inputs = false;
        if self.begins {
            return Ok(false);
        }
        // A handler gets no frame before an earlier one that waits for its values or for room.
        let mut is_blocked = false;
        // Neither does who asks get a frame before a piece that waits for its values.
        let mut held = Vec::new();
        let mut rest = Vec::new();
        for inbound in std::mem::take(&mut self.inbox) {
            if !self.driver.session().waits(inbound.position()) {
                continue;
            }
            if self.driver.session_mut()?.lapse(&inbound, now()) {
                has_inputs = true;
                continue;
            }
            if let Some(number) = self.piece(&inbound) {
                has_inputs |= self
                    .hand_piece(inbound, number, &mut held, &mut rest)
                    .await?;
                continue;
            }
            let answered = self.answered(&inbound);
            if answered.is_none() && !self.handlers.takes(&inbound) {
                self.unclaimed.push(inbound);
                continue;
            }
            if answered.is_none() && (is_blocked || self.in_work.len() == HANDLERS) {
                is_blocked = true;
                rest.push(inbound);
                continue;
            }
            let asked = answered.and_then(|(at, _)| self.questions.get(at));
            if asked.is_some_and(|asked| held.contains(&asked.asking.number)) {
                rest.push(inbound);
                continue;
            }
            match (self.driver.with_values(&inbound).await?, answered) {
                (Some(whole), Some((at, intent))) => {
                    let asked = self.questions.remove(at);
                    self.driver.handled(&whole, Vec::new(), now())?;
                    has_inputs = true;
                    let _ = asked.asking.answer.send(Ok((whole, intent)));
                }
                (Some(whole), None) => match self.handle(&whole) {
                    Taken::Started => {}
                    Taken::Refused => has_inputs = true,
                    Taken::Nobody => rest.push(inbound),
                },
                (None, answered) => {
                    is_blocked |= answered.is_none();
                    rest.push(inbound);
                }
            }
        }
        self.inbox = rest;
        Ok(has_inputs)
    }

    /// Returns the number of the question that gets this frame as a piece of a stream.
    fn piece(&self, inbound: &Inbound) -> Option<u64> {
        let mut asked = self.questions.iter();
        let asked = asked.find(|asked| asked.has_piece(inbound))?;
        Some(asked.asking.number)
    }

    /// Hands a piece of a stream to who asks, once its values are here. Returns whether it did.
    async fn hand_piece(
        &mut self,
        inbound: Inbound,
        number: u64,
        held: &mut Vec<u64>,
        rest: &mut Vec<Inbound>,
    ) -> Result<bool, DriverError> {
        let whole = if held.contains(&number) {
            None
        } else {
            self.driver.with_values(&inbound).await?
        };
        let Some(whole) = whole else {
            held.push(number);
            rest.push(inbound);
            return Ok(false);
        };
        self.driver.handled(&whole, Vec::new(), now())?;
        let mut asked = self.questions.iter();
        let asked = asked.find(|asked| asked.asking.number == number);
        if let Some(pieces) = asked.and_then(|asked| asked.asking.pieces.as_ref()) {
            let _ = pieces.send(whole);
        }
        Ok(true)
    }

    /// Returns the place of the question that a frame answers, and the intent of the answer.
    fn answered(&self, inbound: &Inbound) -> Option<(usize, Intent)> {
        let mut asked = self.questions.iter().enumerate();
        asked.find_map(|(at, asked)| Some((at, asked.is_answered_by(inbound)?)))
    }

    /// Starts the handler of a frame, if there is one.
    fn handle(&mut self, whole: &Inbound) -> Taken {
        let Some(own) = self.own.upgrade() else {
            return Taken::Nobody;
        };
        let position = whole.position();
        let side = own.side().clone();
        let mark = move |marked| drop(side.send(Command::Handled(marked)));
        let (ticket, cx) = Ticket::new(whole.clone(), self.own.clone() as _, Box::new(mark));
        match self.handlers.dispatch(&mut Some(cx), whole) {
            Ok(None) => Taken::Nobody,
            Ok(Some(handling)) => {
                self.in_work.insert(position);
                // A task of its own, so that a panic is an end like any other.
                let handling = tokio::spawn(handling);
                tokio::spawn(async move {
                    match handling.await {
                        Ok(result) => ticket.ends(result),
                        Err(error) if error.is_panic() => {
                            ticket.ends(Err(PANICKED.into()));
                        }
                        // The program ends. The next one gets the frame again.
                        Err(_) => {}
                    }
                });
                Taken::Started
            }
            // The frame says that it has the type of the handler, and has not.
            Err(error) => {
                self.late.push_back(Marked {
                    inbound: whole.clone(),
                    reply: Some(Reply::Error(error.code(), error.to_string())),
                    done: None,
                });
                Taken::Refused
            }
        }
    }
}

/// What became of a frame that was handed to the handlers.
enum Taken {
    Started,
    Refused,
    Nobody,
}

/// Tells an input that the session does not take from a driver that has failed.
fn input(result: Result<(), DriverError>) -> Result<Option<Error>, DriverError> {
    match result {
        Ok(()) => Ok(None),
        Err(DriverError::Input(error)) => Ok(Some(Error::Input(error))),
        Err(error) => Err(error),
    }
}
