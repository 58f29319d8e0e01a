//! The time of day, as sessions count it.

use std::time::{Duration, SystemTime};

use accp_session::Time;
use tokio::time::Instant;

/// Returns the time of day.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Time::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// Returns the instant at which the time of day will be `time`.
pub(crate) fn instant(time: Time) -> Instant {
    let left = time.as_millis().saturating_sub(now().as_millis()).max(0);
    Instant::now() + Duration::from_millis(left.unsigned_abs())
}
