//! The facts that a member sends to its host about itself: the requests that it takes, and that it
//! leaves.

use super::Member;
use crate::delivery::backoff::Backoff;
use crate::interface::event::Event;
use crate::log::mid::MemberId;
use crate::state::takers::in_order;
use crate::wire::frames::ByeSync;
use crate::wire::link::serves;
use accp_context::Time;

/// The facts that a member has to send to its host. The member repeats them until the log shows that the
/// host has them.
#[derive(Debug)]
pub(crate) struct Word {
    /// The requests that this side takes; `None` before the agent has named any.
    takes: Option<Vec<String>>,
    /// True once the agent wants to leave.
    leaves: bool,
    retry: Backoff,
    /// True if the message goes out with the next batch.
    is_due: bool,
}

impl Word {
    pub(crate) fn new(retry: std::time::Duration) -> Self {
        Self {
            takes: None,
            leaves: false,
            retry: Backoff::new(retry),
            is_due: false,
        }
    }

    /// Returns when the message goes out again.
    pub(crate) fn at(&self) -> Option<Time> {
        self.retry.at()
    }

    pub(crate) fn timeout(&mut self, now: Time) {
        if self.retry.is_due(now) {
            self.retry.again(now);
            self.is_due = true;
        }
    }

    fn say(&mut self) {
        self.retry.rest();
        self.is_due = true;
    }
}

impl Member {
    /// Takes these requests from now on.
    pub(crate) fn say_takes(&mut self, heads: &[String]) {
        self.word.takes = Some(in_order(heads));
        self.word.say();
    }

    /// Leaves the session. The draft has no frame for leaving, so at a host that knows only the draft
    /// the side is out at once.
    pub(crate) fn say_bye(&mut self) {
        if self.draft.is_some() {
            self.side.emit(Event::Left);
        } else {
            self.word.leaves = true;
            self.word.say();
        }
    }

    /// Takes the answer of the host: this side is out.
    pub(super) fn take_bye(&mut self) {
        if std::mem::take(&mut self.word.leaves) {
            self.word.retry.rest();
            self.side.emit(Event::Left);
        }
    }

    /// Returns whether the host still has to learn which requests this side takes. The log has the
    /// requests that the host knows of.
    fn has_untold_takes(&self) -> bool {
        let party = self.side.state.members.get(self.side.me());
        let heard = party.and_then(|party| party.takes.as_ref());
        self.word.takes.is_some() && heard != self.word.takes.as_ref()
    }

    /// Sends the facts that the host does not know yet: that this side leaves, or which requests it
    /// takes.
    pub(super) fn speak(&mut self, now: Time) {
        if !self.word.leaves && !self.has_untold_takes() {
            self.word.retry.rest();
            return;
        }
        // After a restart, the message waits until the host has answered the hello.
        if !std::mem::take(&mut self.word.is_due) && self.word.retry.at().is_some() {
            return;
        }
        if self.word.leaves {
            self.side.send_frame(MemberId::HOST, ByeSync {}, now);
        } else if let Some(heads) = self.word.takes.clone() {
            self.side.send_frame(MemberId::HOST, serves(&heads), now);
        }
        self.word.retry.arm(self.side.clock.timers());
    }
}
