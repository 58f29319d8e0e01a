//! The outcome of each frame that a member has sent.
use accp_registry::ErrorCode;

use super::Member;
use super::peer::is_gone;
use crate::delivery::outbox::{Consumed, LATER};
use crate::interface::event::Event;
use crate::interface::output::{OutboxChange, Outgoing};
use crate::log::mid::{MemberId, Mid};
use crate::state::chain::{self, Chains};
use crate::wire::link::{Hello, PeerError};
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;
use accp_frame::Intent;

impl Member {
    /// Reports the consumed frames that the host has dropped: otherwise the log would have them by now. Reports
    /// nothing before the host has answered the last hello, because the log of the host may have changed.
    pub(crate) fn conclude(&mut self) {
        if !self.is_greeted() {
            return;
        }
        for taken in self.outbox.passed_by(self.side.position) {
            self.settled(taken);
        }
    }

    /// Settles the frames whose entries this side may have missed.
    pub(crate) fn conclude_missed(&mut self) {
        for taken in self.outbox.missed(self.side.position) {
            self.settled(taken);
        }
    }

    /// Reports a frame that the host has consumed and that is not in the log so far. If this side may have missed
    /// the entry of the frame, it asks the host instead.
    pub(crate) fn settled(&mut self, taken: Consumed) {
        if taken.accepted {
            self.forget(taken.frame, Event::Acknowledged);
        } else if taken.gone {
            self.dropped(taken.frame);
        } else if let Some(frame) = self.outbox.ask(taken.frame) {
            self.dropped(frame);
        } else {
            self.to_send.hello = true;
        }
    }

    /// Takes the answer of the host about frames whose entries this side may have missed: the log
    /// has some of them, and the host has dropped others. It has never taken the rest.
    pub(crate) fn take_answers(&mut self, hello: &Hello) {
        let asked = &hello.asks;
        // `up` is only about dropped frames. If the host has dropped none, `until` is the end of its log.
        let up = hello.up.filter(|_| !hello.gone.is_empty());
        let until = up.unwrap_or(hello.position);
        let asks_again = self.outbox.log_ends_at(until);
        let answered = self.outbox.answered(asked, &hello.gone, until);
        for frame in answered.into_iter().rev() {
            if hello.has.contains(&frame.mid) {
                self.forget(frame, Event::Acknowledged);
            } else if hello.gone.contains(&frame.mid) {
                self.outbox.gone(frame, until);
            } else {
                self.outbox.never_taken(frame, hello.last.as_ref());
            }
        }
        self.to_send.hello |= asks_again || !asked.is_empty() && self.outbox.has_to_ask();
        self.conclude();
    }

    /// Reports a frame that the host has consumed and that is not in the log.
    pub(crate) fn dropped(&mut self, frame: Outgoing) {
        let chains = &self.side.state.chains;
        let is_cancelled = frame.scan(|scanned| chains.is_cancelled(scanned));
        if is_cancelled == Some(true) {
            self.forget(frame, Event::Cancelled);
        } else {
            self.forget(frame, Event::Expired);
        }
    }

    /// Removes a frame from the outbox for good. A frame in parts is reported once, under the id of its first part:
    /// when the host has taken the last part, or when it has not taken one of the parts.
    pub(crate) fn forget(&mut self, frame: Outgoing, event: impl FnOnce(Mid) -> Event) {
        let next = self.number_to_keep();
        let batch = self.side.batch.get();
        batch.outbox.push(OutboxChange::Remove(frame.mid.clone()));
        batch.outbox_sequence = Some(next);
        let Some(part) = frame.part() else {
            return self.side.emit(event(frame.mid));
        };
        if self.reported.contains(&part.of) {
            return;
        }
        let event = event(part.of.clone());
        if part.index == part.total || !matches!(event, Event::Acknowledged(_)) {
            self.reported.insert(part.of);
            self.side.emit(event);
        }
    }

    /// Returns whether an answer to this request waits to go out.
    pub(crate) fn has_answered(&self, request: &Scanned<'_>) -> bool {
        let (Some(mid), Some(chain)) = (request.mid(), chain::of(request)) else {
            return false;
        };
        let answers = |sent: &Scanned<'_>| sent.answers(mid, chain);
        let mut sent = self.outbox.frames();
        sent.any(|sent| sent.scan(answers) == Some(true))
    }

    pub(crate) fn refused(&mut self, error: PeerError) {
        let Some(mid) = error.of.clone() else {
            self.side.emit(Event::PeerError(MemberId::HOST, error));
            return;
        };
        match error.code {
            ErrorCode::SEQUENCE_GAP => {
                if let Some(expected) = error.expected_sequence {
                    self.outbox.expected(&mid, expected);
                }
            }
            ErrorCode::DUPLICATE if error.holder == Some(self.side.me()) => {
                self.outbox.consumed_before(&mid, error.sequence, LATER);
                self.outbox.accepted(&mid);
            }
            // Another member has used this id, so the frame needs a new one.
            ErrorCode::DUPLICATE => drop(self.retry(&mid, error.code)),
            // The host could not take the frame now. The frame gets a new id and waits. Otherwise the frame would go
            // back and forth without end. `TIMEOUT` (E3001) is not handled here: the host may still take a copy, so
            // that frame keeps its id.
            code if code.is_retryable() == Some(true) && code != ErrorCode::TIMEOUT => {
                if let Some(new) = self.retry(&mid, code) {
                    self.outbox.refused_for_now(&new, &self.side.clock);
                }
            }
            // The host consumed nothing, so the same frame goes out again.
            code if error.retry => {
                // A host that was restored from an older copy has forgotten that it refused another
                // part, and would ask for that part for ever.
                if let Some(first) = self.outbox.lacks_first(&mid) {
                    let expected = "a frame of which no part was refused before";
                    let refusal = Refusal::new(ErrorCode::INVALID_TYPE, expected);
                    return self.give_up(&mid, refusal.about(Some(first)));
                }
                if self.outbox.refused_for_now(&mid, &self.side.clock) {
                    let (old, new) = (mid.clone(), mid);
                    self.side.emit(Event::Retried { old, new, code });
                }
            }
            _ => self.give_up(&mid, error),
        }
    }

    /// Gives up a frame that was refused for good.
    fn give_up(&mut self, mid: &Mid, error: PeerError) {
        let Some(frame) = self.outbox.refused(mid) else {
            let event = Event::PeerError(MemberId::HOST, error);
            return self.side.emit(event);
        };
        let mut gone = self.outbox.others_of(&frame.name());
        let values = self.outbox.take_readers(&frame);
        gone.push(frame);
        for frame in gone.into_iter().chain(values) {
            let error = error.clone();
            self.forget(frame, |mid| Event::Refused(mid, error));
        }
    }

    /// Sends a frame again under a new id, and returns the id. The frame then names its old id as its cause
    /// (`aid`), except for a duplicate. When the ids are used up, this side gives the frame up.
    pub(crate) fn retry(&mut self, old: &Mid, code: ErrorCode) -> Option<Mid> {
        if !self.outbox.frames().any(|frame| frame.mid == *old) {
            return None;
        }
        let new = match self.side.next_mid() {
            Ok(new) => new,
            Err(error) => {
                let refusal = Refusal::new(error.code(), error.to_string());
                self.give_up(old, refusal.about(Some(old.clone())));
                return None;
            }
        };
        let cause = (code != ErrorCode::DUPLICATE).then(|| old.to_string());
        let changed = self.outbox.rename(old, &new, cause.as_deref());
        let outbox = &mut self.side.batch.get().outbox;
        for frame in changed {
            let before = if frame.mid == new { old } else { &frame.mid };
            outbox.push(OutboxChange::Remove(before.clone()));
            outbox.push(OutboxChange::Put(frame));
        }
        let (old, again) = (old.clone(), new.clone());
        self.side.emit(Event::Retried { old, new, code });
        Some(again)
    }

    /// Sends a frame under a new id, because an earlier run has used its id for another frame: the
    /// store of this side is an older copy.
    pub(crate) fn begin_anew(&mut self, old: &Mid) {
        self.outbox.make_last(old);
        self.retry(old, ErrorCode::DUPLICATE);
    }

    /// Drops the frames of cancelled chains that never went out.
    pub(crate) fn drop_cancelled(&mut self) {
        let (chains, is_draft) = (&self.side.state.chains, self.draft.is_some());
        let gone = self.outbox.take_unsent(|frame| {
            Scanned::of_entry(&frame.text(0)).is_ok_and(|frame| {
                frame.intent != Intent::CANCEL && is_gone(chains, is_draft, &frame)
            })
        });
        for frame in gone {
            self.forget(frame, Event::Cancelled);
        }
    }
}

/// Returns whether the host may have a reason to drop a frame.
pub(crate) fn may_be_dropped(chains: &Chains, frame: &Outgoing) -> bool {
    let seen = frame.scan(|scanned| scanned.envelope.ttl > Some(0) || chains.is_cancelled(scanned));
    seen == Some(true)
}
