//! Frames of a member on their way to its handlers.

use accp_session::Inbound;
use accp_store::DriverError;

use super::Side;
use super::work::Dispatch;
use crate::clock::now;

impl Side {
    /// Marks frames of the side's own agent as handled. Returns whether the session has taken any mark.
    pub(super) fn mark_late(&mut self) -> Result<bool, DriverError> {
        if self.work.late.is_empty() {
            return Ok(false);
        }
        let registry = self.driver.session().options().registry.clone();
        let owed = self
            .work
            .owed(self.driver.session(), self.driver.session().me());
        let driver = &mut self.driver;
        let handled = |inbound: &Inbound, answers| driver.handled(inbound, answers, now());
        self.work
            .mark_late(&registry, &owed, &mut self.durable, handled)
    }

    /// Hands frames to askers and handlers, in their order. Frames that nobody takes wait.
    /// Returns whether the session has new inputs.
    pub(super) async fn hand_out(&mut self) -> Result<bool, DriverError> {
        let mut has_inputs = false;
        // While this side was out of the session, the host may have given its requests to other agents. So nothing
        // is handed out until this side is up to date.
        self.is_back &= !self.driver.session().is_up_to_date();
        if self.begins || self.is_back || self.work.drains() {
            return Ok(false);
        }
        // Handlers get frames in order: a frame that waits for its values, or until a handler is free, holds up
        // all later frames.
        let mut is_blocked = false;
        // An agent that asked gets its frames in order, too: a piece that waits for its values holds up the answer.
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
            if let Some(number) = self.work.piece(&inbound) {
                has_inputs |= self
                    .hand_piece(inbound, number, &mut held, &mut rest)
                    .await?;
                continue;
            }
            let answered = self.work.answered(&inbound);
            if answered.is_none() && !self.work.takes(&inbound) {
                self.unclaimed.push(inbound);
                continue;
            }
            if answered.is_none() && (is_blocked || self.work.room() == 0) {
                is_blocked = true;
                rest.push(inbound);
                continue;
            }
            let asked = answered.and_then(|(at, _)| self.work.questions.get(at));
            if asked.is_some_and(|asked| held.contains(&asked.asking.number)) {
                rest.push(inbound);
                continue;
            }
            match (self.driver.with_values(&inbound).await?, answered) {
                (Some(whole), Some(answered)) => {
                    let registry = &self.driver.session().options().registry;
                    if !self.work.hand_answer(registry, whole, answered) {
                        // The asker no longer waits, so a handler gets the answer.
                        has_inputs = true;
                        rest.push(inbound);
                    }
                }
                (Some(whole), None) => match self.work.start(&whole) {
                    Dispatch::Started => {}
                    Dispatch::Refused => has_inputs = true,
                    Dispatch::Nobody => rest.push(inbound),
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

    /// Marks an answer that its asker has taken. An answer whose asker has left waits for a handler.
    pub(super) fn taken(&mut self, position: u64, is_taken: bool) -> Result<(), DriverError> {
        let Some(inbound) = self.work.given(position) else {
            return Ok(());
        };
        if !is_taken {
            self.inbox.push(inbound);
            self.inbox.sort_by_key(Inbound::position);
        } else if self.driver.session().waits(position) {
            self.driver.handled(&inbound, Vec::new(), now())?;
        }
        Ok(())
    }

    /// Hands a piece of a stream to its asker, once its values are here. Returns whether it did.
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
        let registry = &self.driver.session().options().registry;
        self.work.hand_piece(registry, whole, number);
        Ok(true)
    }
}
