//! Envelopes of frames outside of any session, and the expiry of frames that somebody has written by hand.

use std::sync::atomic::{AtomicU64, Ordering};

use accp_frame::{EncodeOptions, Envelope, Typed, profiles::ErrorFail};
use accp_session::Rules;

use crate::clock;
use crate::error::Error;

/// The ids that no member of any session makes: 12 decimal digits that begin with 0.
const IDS: u64 = 100_000_000_000;

/// Returns the envelope of a frame that belongs to no session, such as the answer to a request that names no
/// session: a new `mid`, `seq` 0 and the time (draft section 3.5).
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
    /// The number of the next id, unless the present time in milliseconds is larger.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = clock::now();
    NEXT.fetch_max(now.as_millis().unsigned_abs(), Ordering::Relaxed);
    let mid = NEXT.fetch_add(1, Ordering::Relaxed) % IDS;
    Envelope::new(format!("{mid:012}"), 0).at(now.as_secs())
}

/// Returns an error with the metadata of a frame that belongs to no session. It still names the frame that it is about.
pub(crate) fn as_outside(error: &str) -> Option<String> {
    let mut error = Typed::<ErrorFail<'_>>::decode(error).ok()?;
    let envelope = outside();
    error.envelope.msg_id = envelope.msg_id;
    error.envelope.sequence = envelope.sequence;
    error.envelope.timestamp = envelope.timestamp;
    let options = EncodeOptions {
        inline: true,
        ..EncodeOptions::default()
    };
    let mut text = String::new();
    error.encode_into(&mut text, options).ok()?;
    Some(text)
}

/// Returns the seconds that are left of the `ttl` of a frame whose metadata somebody has written by hand: the `ttl`
/// less the time since the `ts`, but at least 1. A frame without a `ts` begins now, and a frame without a `ttl` never
/// expires (draft section 3.5). A `ttl` that leads beyond all times stays as it is, so that the session refuses it. Use
/// this where the session writes the `ts` of the frame anew.
///
/// ```
/// use accp_client::ttl_left;
/// use accp_runtime::Frame;
///
/// let left = |text| ttl_left(&Frame::parse(text)?.envelope()?).map_err(Box::<dyn std::error::Error>::from);
/// assert_eq!(left("@cook>req:plan{}[ttl:60]")?, Some(60));
/// assert_eq!(left("@cook>req:plan{}[ts:1000]")?, None);
/// assert!(left("@cook>req:plan{}[ts:1000,ttl:60]").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Expired`] when the time is over, with the tolerance that a host has for clocks ([`Rules::skew`]).
pub fn ttl_left(envelope: &Envelope<'_>) -> Result<Option<i64>, Error> {
    let Some(ttl) = envelope.ttl.filter(|ttl| *ttl > 0) else {
        return Ok(envelope.ttl);
    };
    let now = clock::now().as_secs();
    let Some(end) = envelope.timestamp.unwrap_or(now).checked_add(ttl) else {
        // The session refuses a time that does not exist.
        return Ok(Some(ttl));
    };
    let skew = i64::try_from(Rules::default().skew.as_secs()).unwrap_or(i64::MAX);
    if end < now.saturating_sub(skew) {
        return Err(Error::Expired);
    }
    Ok(Some(end.saturating_sub(now).clamp(1, ttl)))
}
