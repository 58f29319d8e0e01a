//! Corrects the numbers of the frames in the outbox by the answers of the host.

use super::{LATER, Outbox};
use crate::log::mid::Mid;
use crate::options::Scope;

impl Outbox {
    /// Takes the id of the last frame that the host has consumed, from the answer to a ping. The frames of the outbox
    /// up to this frame count as consumed. If the store of this side is an older copy, the host has consumed them in
    /// an earlier run. Dropped frames would otherwise hold up the others, because the host does not acknowledge them.
    pub(crate) fn consumed_up_to(&mut self, last: &Mid, until: u64) {
        if self.renamed.contains(last) {
            return;
        }
        let frames = self.frames.iter();
        let count = frames
            .take_while(|frame| {
                is_not_after(&frame.mid, last) && !self.anew.contains_key(&frame.order)
            })
            .count();
        if let Some(frame) = count.checked_sub(1).and_then(|at| self.frames.get(at)) {
            let mid = frame.mid.clone();
            self.consumed_before(&mid, None, until);
        }
    }

    /// Notes that the log up to position `until` has the consumed frames up to `last`. Frames with a known position
    /// keep their position.
    pub(crate) fn logged_by(&mut self, last: &Mid, until: u64) {
        for taken in &mut self.taken {
            if taken.until == LATER && is_not_after(&taken.frame.mid, last) {
                taken.until = until;
            }
        }
    }

    /// Returns the number of the first frame that this side has not found in the log. `None` while this side does
    /// not know the number.
    pub(crate) fn known_sequence(&self) -> Option<u64> {
        (!self.number_unknown && self.to_ask.is_empty()).then(|| self.first_sequence())
    }

    /// Takes, from a hello of the host, the number that the host expects next, and the last frame that the host has
    /// consumed. If the store of this side was an old copy, other frames of an earlier run have taken numbers since.
    /// Then no later frame of the outbox may go out under the number that the host expects of the first frame.
    pub(crate) fn greeted(&mut self, expected: u64, last: Option<&Mid>) {
        if self.scope == Scope::Shared {
            return;
        }
        if !self.number_unknown && expected < self.sequence {
            return; // an older answer
        }
        let consumed = last.and_then(|last| self.find(last));
        self.consumed = consumed.map_or(0, |index| index + 1);
        self.number_unknown |= self.sequence + self.consumed as u64 != expected;
        if self.number_unknown {
            self.sequence = expected;
            self.sent = 0;
        }
    }

    /// Takes the number that the host expects, from a refusal of the frame `mid`.
    ///
    /// With shared numbering, the first frame goes out again under this number. Where each sender has its own
    /// numbers, the refusal usually means that an earlier frame was lost on the way. If `mid` is the first frame of
    /// the outbox, or the expected number is greater than the number of `mid`, this side is wrong about its numbers.
    pub(crate) fn expected(&mut self, mid: &Mid, expected: u64) {
        let Some(index) = self.find(mid).filter(|_| self.acted_on != Some(expected)) else {
            return;
        };
        self.acted_on = Some(expected);
        self.sent = 0;
        let index = index as u64;
        match self.scope {
            Scope::Shared => self.sequence = expected,
            // The host expects the number that the first frame has now. The frame went out under
            // an older number, so going out again is enough.
            Scope::Sender if index == 0 && expected == self.sequence => {}
            Scope::Sender if index == 0 || expected > self.sequence + index => {
                // A host that was restored from an older copy may lack frames that it had consumed.
                // So all frames go out again.
                self.go_again();
                self.number_unknown = true;
                self.sequence = expected;
            }
            Scope::Sender => {}
        }
    }

    /// Continues with the number that a host of the draft alone has named as the next.
    pub(crate) fn begin_at(&mut self, sequence: u64) {
        self.sequence = sequence;
        (self.sent, self.acted_on, self.number_unknown) = (0, None, false);
    }

    /// Notes that another frame has taken the number `taken`, with shared numbering.
    pub(crate) fn passed(&mut self, taken: u64) {
        if self.scope == Scope::Shared && taken >= self.sequence {
            self.sequence = taken + 1;
        }
    }
}

/// Returns whether this id was made before `last` by the same side, or is `last`. The host takes the
/// frames of a side in order.
fn is_not_after(mid: &Mid, last: &Mid) -> bool {
    let is_made = mid.maker().is_some() && mid.maker() == last.maker();
    mid == last || is_made && mid < last
}
