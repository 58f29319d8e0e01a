//! The clock of the system.

use std::time::{Duration, SystemTime};

use super::Clock;

/// The clock of the system, and its random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[expect(
    clippy::disallowed_methods,
    reason = "a part of the crate that does IO"
)]
impl Clock for SystemClock {
    fn now(&mut self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    fn wait(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn random(&mut self) -> u64 {
        let mut bytes = [0; 8];
        if getrandom::fill(&mut bytes).is_err() {
            // The number distinguishes callers. Without random bytes, the time and the process id do so less
            // reliably.
            bytes = (self.now() << 20 ^ u64::from(std::process::id())).to_le_bytes();
        }
        u64::from_le_bytes(bytes) >> 1
    }
}
