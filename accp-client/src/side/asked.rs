//! A question of an agent.

use accp_runtime::Intent;
use accp_runtime::session::Inbound;
use accp_store::Question;

use crate::command::Asking;

/// A question that an agent waits for.
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) asking: Asking,
}

impl Asked {
    /// Returns whether a frame that comes now can still be the answer that somebody waits for.
    pub(super) fn is_answered_by(&self, inbound: &Inbound) -> Option<Intent> {
        let answer = self.question.answer(inbound)?;
        (!self.asking.answer.is_closed()).then_some(answer)
    }

    /// Returns whether a frame is a piece of a stream that somebody waits for.
    pub(super) fn has_piece(&self, inbound: &Inbound) -> bool {
        let pieces = self.asking.pieces.as_ref();
        pieces.is_some_and(|pieces| !pieces.is_closed()) && inbound.is_piece(self.question.chain())
    }
}
