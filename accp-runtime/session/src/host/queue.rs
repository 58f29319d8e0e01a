//! Members that wait for a number, where all share one numbering.

use std::collections::VecDeque;
use std::time::Duration;

use crate::log::mid::{MemberId, Mid};
use accp_context::Time;

/// Gives members their turns, so that no member takes all numbers. A member waits in the queue with one frame, and
/// the host sends it the next number when its turn comes. Other members wait until this member has taken the
/// number, or its time is over.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The members that wait, each with its frame and the time since when it waits.
    waiting: VecDeque<(MemberId, Mid, Time)>,
    /// The member whose turn it is, and the end of the turn.
    turn: Option<(MemberId, Time)>,
}

impl Queue {
    /// Returns whether it is the turn of another member.
    pub(crate) fn is_anothers(&self, member: MemberId, now: Time) -> bool {
        let turn = self.turn.filter(|(_, until)| now < *until);
        turn.is_some_and(|(other, _)| other != member)
    }

    /// Lets a member wait that could not take a number. If no member has a turn, it is the turn of this
    /// member, which was just sent the number.
    pub(crate) fn wait(&mut self, member: MemberId, mid: &Mid, now: Time, patience: Duration) {
        if !self.is_anothers(member, now) {
            self.turn = Some((member, now + patience));
        } else if self.waiting.iter().all(|(other, ..)| *other != member) {
            self.waiting.push_back((member, mid.clone(), now));
        }
    }

    /// Returns whether a member has waited at least this long.
    pub(crate) fn has_waited(&self, member: MemberId, now: Time, patience: Duration) -> bool {
        let waits = |(other, _, since): &(MemberId, Mid, Time)| {
            *other == member && now >= *since + patience
        };
        self.waiting.iter().any(waits)
    }

    /// Notes that a member has taken a number.
    pub(crate) fn took(&mut self, member: MemberId) {
        self.turn.take_if(|(other, _)| *other == member);
        self.waiting.retain(|(other, ..)| *other != member);
    }

    /// Returns the end of the present turn, if other members wait for it.
    pub(crate) fn ends(&self) -> Option<Time> {
        let turn = self.turn.filter(|_| !self.waiting.is_empty());
        turn.map(|(_, until)| until)
    }

    /// Begins the next turn, if the last one is over. Returns the member and its frame.
    pub(crate) fn next(&mut self, now: Time, patience: Duration) -> Option<(MemberId, Mid)> {
        self.turn.take_if(|(_, until)| now >= *until);
        if self.turn.is_some() {
            return None;
        }
        let (member, mid, _) = self.waiting.pop_front()?;
        self.turn = Some((member, now + patience));
        Some((member, mid))
    }
}
