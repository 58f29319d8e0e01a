//! Frames that a host neither acknowledges nor refuses. The host knows only the draft.

use super::super::Member;
use crate::interface::event::Event;
use accp_context::Time;

/// The number of times that a frame goes out without an answer before this side concludes that the host has dropped
/// it.
pub(super) const SILENT: u32 = 4;

/// The same number, for a frame that the host has no known reason to drop.
const GONE: u32 = 2 * SILENT;

impl Member {
    /// Gives up the first frame if the host answers, but neither acknowledges nor refuses the frame, and
    /// has a reason to drop it. The reason may be a cancellation that this side has missed.
    pub(super) fn conclude_silence(&mut self, now: Time) {
        let skew = self.side.options.skew;
        // Only a frame that went out can stay unanswered. While this side asks for missing
        // frames, it sends no frame.
        let went_out = std::mem::take(&mut self.outbox.went_out);
        let chains = &self.side.state.chains;
        let Some(first) = self.outbox.frames().next() else {
            return;
        };
        let reason = first.scan(|frame| frame.has_expired(skew, now) || chains.is_cancelled(frame));
        let has_reason = reason == Some(true);
        let may_expire = first.scan(|frame| frame.envelope.ttl.is_some());
        let Some(draft) = &mut self.draft else { return };
        draft.silent += u32::from(went_out);
        if !has_reason && !draft.acknowledges {
            return;
        }
        if draft.silent < if has_reason { SILENT } else { GONE } {
            return self.outbox.retry.soon(self.side.clock.timers());
        }
        let mid = first.mid.clone();
        match self.outbox.refused(&mid) {
            Some(frame) if may_expire == Some(true) => self.dropped(frame),
            Some(frame) => self.forget(frame, Event::Cancelled),
            None => {}
        }
    }
}
