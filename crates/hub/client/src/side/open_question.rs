//! Open questions of an agent, and frames that the host has not accepted yet.

use accp_frame::{ErrorCode, Intent, Registry, Value};
use accp_session::{Inbound, PiecesInOrder};
use accp_store::Question;

use crate::command::Asking;
use crate::error::{Done, Error};
use crate::sent::Sent;

/// A question that an agent waits for.
pub(super) struct OpenQuestion {
    pub(super) question: Question,
    pub(super) asking: Asking,
    /// Pieces that wait for earlier pieces.
    order: PiecesInOrder<Inbound>,
}

impl OpenQuestion {
    pub(super) fn new(question: Question, asking: Asking) -> Self {
        Self {
            question,
            asking,
            order: PiecesInOrder::new(),
        }
    }

    /// Hands a piece of a stream to the asker, and the pieces that have waited for it.
    pub(super) fn hand_piece(&mut self, registry: &Registry, whole: Inbound) {
        let place = whole.clone();
        // `take` returns no pieces if this piece is repeated, so the asker gets each piece once.
        let ready = self.order.take(registry, &place, whole);
        self.hand(ready.unwrap_or_default());
    }

    /// Hands the answer to the asker, after the pieces that still wait. Returns false if the asker has just given up.
    pub(super) fn hand_answer(
        mut self,
        registry: &Registry,
        whole: Inbound,
        intent: Intent,
    ) -> bool {
        let rest = self.order.rest();
        self.hand(rest);
        let is_failure = intent == Intent::FAIL;
        let code = if is_failure {
            failure_code(registry, &whole)
        } else {
            None
        };
        self.asking.answer.send(Ok((whole, intent, code))).is_ok()
    }

    fn hand(&self, pieces: Vec<Inbound>) {
        let Some(reader) = &self.asking.pieces else {
            return;
        };
        for piece in pieces {
            // The send fails if the asker has stopped reading pieces. The asker may still wait for
            // the answer.
            let _ = reader.send(piece);
        }
    }

    /// Returns the intent of a frame that answers the question, if the asker still waits.
    pub(super) fn is_answered_by(&self, inbound: &Inbound) -> Option<Intent> {
        let answer = self.question.answer(inbound)?;
        (!self.asking.answer.is_closed()).then_some(answer)
    }

    /// Returns whether a frame is a piece of the stream that the asker reads.
    pub(super) fn has_piece(&self, inbound: &Inbound) -> bool {
        let pieces = self.asking.pieces.as_ref();
        pieces.is_some_and(|pieces| !pieces.is_closed()) && inbound.is_piece(self.question.chain())
    }
}

/// Returns the code of the draft that a failure has in the field that the rules of its schema name (`error_code`).
fn failure_code(registry: &Registry, failure: &Inbound) -> Option<ErrorCode> {
    let message = failure.message(registry).ok()?;
    let schema = registry.schema(message.schema.as_deref()?)?;
    match message.payload.get(schema.rules.error_code.as_deref()?)? {
        Value::String(code) => code.parse().ok(),
        _ => None,
    }
}

/// A frame that the program has sent, while the program waits until the host accepts or refuses it.
pub(super) struct OnItsWay {
    /// The position of the frame, once its entry was seen.
    pub(super) position: Option<u64>,
    pub(super) fate: Done<Sent>,
}

impl OnItsWay {
    /// Answers the program with the reason why the agent has ended.
    pub(super) fn ends(self, error: Error) {
        let _ = self.fate.send(Err(error));
    }
}
