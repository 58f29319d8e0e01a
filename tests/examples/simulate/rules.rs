//! The rules of schemas that go beyond types: requests that are handled once, and streams.

use accp_runtime::session::MemberId;
use accp_runtime::{DynamicFrame, ErrorCode};
use accp_session::{Entry, EntryKind};

use super::chains::chain_of;
use super::counts::Counts;
use super::node::{REGISTRY, Result};
use super::observer::Observer;
use super::text::intent;

impl Observer {
    /// Checks what an entry does to the transactions of the session.
    pub(super) fn pays(&mut self, entry: &Entry, counts: &mut Counts) -> Result {
        match (entry.kind, intent(&entry.text)) {
            (EntryKind::Frame, "req") if entry.text.contains("schema:TX}") => counts.payments += 1,
            (EntryKind::Repeat, "req") => counts.asked_again += 1,
            (EntryKind::Repeat, _) => counts.answered_again += 1,
            _ => {}
        }
        self.payments.take(entry, &self.chains, self.is_flooded)
    }

    /// Checks that every request for a known transaction has got a copy of the answer.
    pub(super) fn judge_payments(&self) -> Result {
        match self.payments.owed.first_key_value() {
            Some((mid, owed)) => Err(format!("{mid} waits for {}", owed.words)),
            None => Ok(()),
        }
    }

    /// Checks that an accepted frame does not contradict its stream, and takes it into account.
    pub(super) fn goes_on(&mut self, entry: &Entry) -> Result {
        if self.contradicts(entry) {
            return Err(format!("{} contradicts its stream", entry.text));
        }
        let is_of_streams = matches!(intent(&entry.text), "stream" | "end" | "fail" | "cancel");
        let message = is_of_streams.then(|| DynamicFrame::decode(&entry.text, &REGISTRY).ok());
        if let (Some(message), Some(chain)) = (message.flatten(), chain_of(&entry.text)) {
            self.pieces.take(entry.sender, &chain, &message);
        }
        Ok(())
    }

    /// Returns whether a frame contradicts what its sender has said in a stream.
    pub(super) fn contradicts(&self, entry: &Entry) -> bool {
        let message = matches!(intent(&entry.text), "stream" | "end");
        let message = message.then(|| DynamicFrame::decode(&entry.text, &REGISTRY).ok());
        let message = message.flatten();
        message.is_some_and(|message| self.pieces.contradicts(entry.sender, &message))
    }

    /// Returns the code with which a host must refuse a message because of the rules of its schema.
    pub(super) fn rule_against(
        &self,
        from: MemberId,
        message: &DynamicFrame<'_>,
    ) -> Option<ErrorCode> {
        if self.pieces.contradicts(from, message) {
            return Some(ErrorCode::INVALID_TYPE);
        }
        let upto = self.log.len() as u64;
        let is_over = |first: &str| self.chains.is_cancelled(first, upto, false);
        let is_over = |first: &str| !self.is_flooded && is_over(first);
        self.payments.reason(from, message, is_over)
    }
}
