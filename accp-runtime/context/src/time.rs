//! Time that the caller passes in.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant: milliseconds since the Unix epoch.
///
/// A session has no clock. Its caller passes the time in. The clocks of two sessions may differ by
/// the skew that the host allows.
///
/// ```
/// use accp_runtime::session::Time;
///
/// let now = Time::from_secs(1_714_000_000);
/// assert_eq!(now.as_millis(), 1_714_000_000_000);
/// assert_eq!((now + std::time::Duration::from_millis(1_500)).as_secs(), 1_714_000_001);
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(i64);

impl Time {
    /// Returns the instant this many milliseconds after the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the instant this many seconds after the Unix epoch.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Returns the milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the whole seconds since the Unix epoch, as `ts` of an envelope counts them.
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1000)
    }
}

impl std::ops::Add<Duration> for Time {
    type Output = Self;

    /// Adds, and stops at the largest time.
    fn add(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.as_secs(), self.0.rem_euclid(1000))
    }
}
