//! The one place in which the host asks what a member knows: the log of this implementation, or only the draft. Each
//! function here does something differently for these two kinds of members.

use accp_context::Time;

use super::Host;
use crate::delivery::cursor::Cursor;
use crate::log::mid::MemberId;
use crate::wire::link::Link;
use crate::wire::scan::Scanned;
use crate::wire::stamp::Stamp;

impl Host {
    /// Returns whether the member knows only the draft.
    pub(super) fn is_draft(&self, member: MemberId) -> bool {
        let cursor = self.relays.cursors.get(member);
        cursor.is_some_and(Cursor::is_draft)
    }

    /// Returns the head of a link frame for a member.
    pub(super) fn stamp_for(&mut self, member: MemberId, now: Time) -> Stamp<'_> {
        let number = self.draft(member).map(|draft| draft.number);
        self.side.stamp(now).for_draft(number)
    }

    /// Returns whether a frame is a link frame. If a member knows only the draft, each E3003 from it counts as a link
    /// frame, because such a member does not name the frame that the error is about.
    pub(super) fn is_link_frame(&self, from: MemberId, frame: &Scanned<'_>) -> bool {
        Link::is(frame) || self.is_draft(from) && Link::is_about_turn(frame)
    }

    /// Takes a link frame, which came on the link of the member or by a POST.
    pub(super) fn link(&mut self, from: MemberId, link: Link, is_linked: bool, now: Time) {
        if self.is_draft(from) && self.draft_link(from, &link, now) {
            return;
        }
        match link {
            Link::Hello(hello) if hello.draft && is_linked => {
                self.side.transfers.returned(from);
                self.greet_draft(from, &hello, now);
            }
            Link::Hello(hello) if hello.draft => self.introduce(from, &hello, now),
            link => self.log_link(from, link, now),
        }
    }

    /// Returns whether a member has to wait while it is the turn of another. A member that knows only
    /// the draft waits for one turn at most: it believes that a host drops a frame with the right
    /// number if the host does not answer.
    pub(super) fn has_to_wait(&self, member: MemberId, now: Time) -> bool {
        let patience = self.side.options.retry;
        !(self.is_draft(member) && self.queue.has_waited(member, now, patience))
    }

    /// Sends the shared state to a member whose change was made for another version. Members that
    /// know the log fetch the state themselves.
    pub(super) fn resend_state(&mut self, member: MemberId, now: Time) {
        if self.is_draft(member) {
            self.send_state(member, now);
        }
    }

    /// Begins anew with a member that lacks entries which the log does not have any more.
    pub(super) fn restart_member(&mut self, member: MemberId, now: Time) {
        if self.is_draft(member) {
            self.restart_draft(member, now);
        } else {
            self.greet_behind(member, now);
        }
    }
}
