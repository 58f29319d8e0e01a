//! The shared state of a session whose host knows only the draft.

use super::super::Member;
use super::silence::SILENT;
use crate::interface::event::Event;
use crate::log::mid::{MemberId, Mid};
use crate::state::shared::StateUpdate;
use crate::wire::scan::Scanned;
use accp_context::Time;
use accp_frame::ErrorCode;

impl Member {
    /// Takes a change of the shared state, or the whole state. The host sends the whole state outside
    /// of its numbering, under the number of its last frame.
    pub(super) fn take_state(
        &mut self,
        frame: &Scanned<'_>,
        mid: &Mid,
        number: u64,
        state: &StateUpdate<'_>,
        now: Time,
    ) {
        let held = self.side.state.shared.version();
        let Some(draft) = &mut self.draft else { return };
        let is_next = number == draft.number + 1;
        let is_whole = matches!(state, StateUpdate::Full { .. });
        // A change with an old number is contained in the whole state, except if the host sends its
        // state in several frames and this change is one of them.
        let is_piece = draft.whole > 0 && state.version() == held + 1;
        // A host that was restored from an older copy sends its state under the number that this side
        // has. Any other whole state that is not newer is a late frame of the log.
        let is_told = number == draft.number && (draft.doubts > 0 || draft.may_be_back);
        let is_past = is_whole && !is_told && state.version() <= held;
        let is_in = if is_past || draft.seen.get(mid).is_some() {
            true
        } else if is_next {
            !is_whole && state.version() <= draft.whole && !draft.may_be_back
        } else {
            !is_whole && !is_piece
        };
        let fits = is_in || is_whole || state.version() == held + 1;
        if !fits && draft.doubts < SILENT {
            // After the next hello the host sends the whole state, and this change again.
            draft.doubts += 1;
            self.hello.arm(self.side.clock.timers());
            let expected = format!("a change of version {held} of the shared state");
            return self.complain(frame, ErrorCode::REF_NOT_FOUND, expected, now);
        }
        if !is_in && !self.take(frame, number, now) {
            return self.hello.arm(self.side.clock.timers());
        }
        let Some(draft) = &mut self.draft else { return };
        if is_whole && !is_past {
            (draft.whole, draft.may_be_back) = (state.version(), false);
        }
        if fits {
            draft.doubts = 0;
        } else {
            self.side.emit(Event::Missed(number..=number));
        }
        let Some(draft) = &mut self.draft else { return };
        // The number of this state may belong to another frame, so this side asks for that number again. If the
        // same state comes again after some time, the number belongs to the state. A copy that comes at once may be
        // a duplicate from the link.
        let (timers, patience) = (self.side.clock.timers(), self.side.options.retry);
        let offered = draft.offered.take().filter(|(of, _)| of == mid);
        let (_, since) = draft
            .offered
            .insert(offered.unwrap_or((mid.clone(), timers)));
        let is_first = is_whole && timers < *since + patience;
        if is_next && is_first {
            self.lacks(number, now);
        } else if is_next {
            self.passed(number);
        }
        if is_whole || !is_next {
            let ack = self.stamp(now).ack(Some((mid, number, 0)));
            self.side.send(MemberId::HOST, ack);
        }
    }
}
