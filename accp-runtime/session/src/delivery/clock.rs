//! A clock for timers.

use std::time::Duration;

use accp_context::Time;

/// A clock for timers that never goes back. If the clock of the caller is set back by an hour, a
/// timer on that clock would wait for an hour too long.
#[derive(Debug)]
pub(crate) struct Clock {
    /// The time of the last input, on the clock of the caller.
    pub now: Time,
    /// The time by which this clock is ahead of the clock of the caller.
    ahead: Duration,
}

impl Clock {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            now,
            ahead: Duration::ZERO,
        }
    }

    /// Takes the time of an input.
    pub(crate) fn set(&mut self, now: Time) {
        let back = self.now.as_millis().saturating_sub(now.as_millis());
        self.ahead += Duration::from_millis(u64::try_from(back).unwrap_or_default());
        self.now = now;
    }

    /// Returns the time of the last input, for timers.
    pub(crate) fn timers(&self) -> Time {
        self.now + self.ahead
    }

    /// Converts a time of the timers to the clock of the caller.
    pub(crate) fn of_caller(&self, timer: Time) -> Time {
        let ahead = i64::try_from(self.ahead.as_millis()).unwrap_or(i64::MAX);
        Time::from_millis(timer.as_millis().saturating_sub(ahead))
    }
}
