//! Waiting times that grow.

use std::time::Duration;

use accp_context::Time;

/// The number of times that the waiting time doubles.
const DOUBLINGS: u32 = 5;

/// Returns the time to wait after this number of tries. The time doubles with each try, up to a limit.
pub(crate) fn waiting_time(first: Duration, tries: u32) -> Duration {
    first * (1 << tries.min(DOUBLINGS))
}

/// A timer whose waiting time doubles with each try that gets no answer.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    first: Duration,
    tries: u32,
    at: Option<Time>,
}

impl Backoff {
    pub(crate) fn new(first: Duration) -> Self {
        Self {
            first,
            tries: 0,
            at: None,
        }
    }

    /// Returns the time of the next try.
    pub(crate) fn at(&self) -> Option<Time> {
        self.at
    }

    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.at.is_some_and(|at| at <= now)
    }

    /// Starts to wait, unless it waits already.
    pub(crate) fn arm(&mut self, now: Time) {
        if self.at.is_none() {
            self.wait(now);
        }
    }

    /// Waits again, twice as long as the last time.
    pub(crate) fn again(&mut self, now: Time) {
        self.tries += 1;
        self.wait(now);
    }

    /// Waits as long as before the first try.
    pub(crate) fn soon(&mut self, now: Time) {
        self.at = Some(now + self.first);
    }

    fn wait(&mut self, now: Time) {
        self.at = Some(now + waiting_time(self.first, self.tries));
    }

    /// Stops waiting.
    pub(crate) fn rest(&mut self) {
        self.tries = 0;
        self.at = None;
    }

    pub(crate) fn tries(&self) -> u32 {
        self.tries
    }
}
