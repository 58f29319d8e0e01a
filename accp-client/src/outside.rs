//! Frames of no session.

use std::sync::atomic::{AtomicU64, Ordering};

use accp_runtime::Envelope;

use crate::clock;

/// The ids that no member of any session makes: 12 decimal digits that begin with 0.
const IDS: u64 = 100_000_000_000;

/// Returns the envelope of a frame that belongs to no session, as an answer to a request that names none: a
/// `mid` of its own, `seq` 0 and the time (draft section 3.5).
///
/// No two calls in this process give the same `mid`, and two processes do so only if one of them makes more than
/// 1,000 a second. Members never make such an id, because theirs begin with their number, and that is 100 or more.
///
/// ```
/// let (one, two) = (accp_client::outside(), accp_client::outside());
/// assert!(one.msg_id != two.msg_id && one.timestamp.is_some());
/// assert_eq!(one.msg_id.as_deref().map(str::len), Some(12));
/// ```
pub fn outside() -> Envelope<'static> {
    /// The id that is next, unless the time is later.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = clock::now();
    NEXT.fetch_max(now.as_millis().unsigned_abs(), Ordering::Relaxed);
    let mid = NEXT.fetch_add(1, Ordering::Relaxed) % IDS;
    Envelope::new(format!("{mid:012}"), 0).at(now.as_secs())
}
