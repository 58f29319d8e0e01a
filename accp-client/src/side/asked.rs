//! What an agent waits for: answers to its questions, and the fate of its frames.

use accp_runtime::Intent;
use accp_runtime::session::Inbound;
use accp_store::Question;

use crate::command::{Asking, Sent};
use crate::error::{Done, Error};

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

/// A frame whose fate somebody wants to know.
pub(super) struct OnItsWay {
    /// Its position, once its entry was seen.
    pub(super) position: Option<u64>,
    pub(super) fate: Done<Sent>,
}

impl OnItsWay {
    /// Tells who waits why the agent has ended.
    pub(super) fn ends(self, error: Error) {
        let _ = self.fate.send(Err(error));
    }
}
