//! Copies of an answer for members that asked for a transaction again.

use accp_frame::{AgentId, EncodeError, Envelope, Typed};
use accp_registry::ErrorCode;

use super::Host;
use crate::gate::transactions::Asker;
use crate::interface::event::Event;
use crate::interface::outbound::SendError;
use crate::interface::output::Read;
use crate::log::entry::{Entry, EntryKind};
use crate::state::effect::Effect;
use crate::wire::link::error_frame;
use crate::wire::scan::Scanned;
use accp_context::Time;

impl Host {
    /// Asks the store for the answers that members wait for.
    pub(crate) fn want_answers(&mut self) {
        if self.lost.is_none() {
            let wanted = self.gate.numbers.transactions.take_wanted();
            let reads = wanted.into_iter().map(|at| Read::Entry { at });
            self.side.reads.extend(reads);
        }
    }

    /// Appends a copy of an answer for each member that waits for it. The text of the answer may have
    /// been discarded since.
    pub(crate) fn repeat_answer(&mut self, at: u64, answer: Option<&Entry>, now: Time) {
        if self.lost.is_some() {
            return;
        }
        let answer = answer.filter(|answer| answer.position == at && !answer.text.is_empty());
        for asker in self.gate.numbers.transactions.owed(at).to_vec() {
            if let Err(error) = self.give_copy(answer, &asker, now) {
                self.side.emit(Event::NotWritten(error.to_string()));
            }
        }
    }

    fn give_copy(
        &mut self,
        answer: Option<&Entry>,
        asker: &Asker,
        now: Time,
    ) -> Result<(), SendError> {
        let mid = self.side.next_control_mid()?;
        let envelope = Envelope::new(mid.to_string(), self.side.position);
        let envelope = Envelope {
            causation_id: Some(asker.mid.to_string().into()),
            ..envelope.answering(asker.chain.to_string())
        };
        let text = match answer {
            Some(answer) => copy(answer, envelope)?,
            None => lost(&self.side.options.agent, envelope.at(now.as_secs()))?,
        };
        let frame = Scanned::of_entry(&text)?;
        let effect = Effect::Void(EntryKind::Repeat);
        self.append(asker.member, &frame, effect.into(), mid, 0, now);
        Ok(())
    }
}

/// Returns an answer under another envelope. The copy never expires: its asker waits for it.
fn copy(answer: &Entry, envelope: Envelope<'_>) -> Result<String, SendError> {
    let answer = Scanned::of_entry(&answer.text)?;
    let envelope = Envelope {
        timestamp: answer.envelope.timestamp,
        session_id: answer.envelope.session_id.clone(),
        extra: answer.envelope.extra.clone(),
        ..envelope
    };
    let mut text = answer.head().to_owned();
    envelope.write(&mut text)?;
    Ok(text)
}

/// Returns the error that is sent in place of an answer whose text was discarded.
fn lost(host: &AgentId<'_>, envelope: Envelope<'_>) -> Result<String, EncodeError> {
    let message = "the transaction has ended, and the text of its answer was discarded";
    let error = error_frame(ErrorCode::REF_EXPIRED, message);
    Typed::new(host.clone(), error, envelope).encode()
}
