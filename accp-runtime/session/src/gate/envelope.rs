//! Checks of the envelope of a frame, and of its expiry.

use accp_registry::ErrorCode;

use crate::log::mid::Mid;
use crate::options::Rules;
use crate::wire::refusal::Refusal;
use crate::wire::relay::RESERVED;
use crate::wire::scan::Scanned;
use accp_context::Time;

/// Returns the id and the `seq` of a frame with a valid envelope.
pub(crate) fn ids(rules: &Rules, frame: &Scanned<'_>) -> Result<(Mid, u64), Refusal> {
    let shape = |expected: &'static str| Refusal::new(ErrorCode::PARSE_ERROR, expected);
    let wrong = |expected: &'static str| Refusal::new(ErrorCode::INVALID_TYPE, expected);
    let mid = frame.mid().cloned().ok_or_else(|| shape("a mid"))?;
    if !mid.is_hex() && !rules.any_mid {
        return Err(shape("a mid of 12 hexadecimal digits"));
    }
    if mid.is_too_long() {
        return Err(shape("a mid of at most 128 characters"));
    }
    let is_too_long = |id: Option<&Mid>| id.is_some_and(Mid::is_too_long);
    if is_too_long(frame.cid()) || is_too_long(frame.aid().as_ref()) {
        return Err(shape("a cid and an aid of at most 128 characters"));
    }
    let sequence = frame.envelope.sequence;
    let sequence = sequence.ok_or_else(|| shape("a seq, an integer from 1"))?;
    let extra = &frame.envelope.extra;
    if RESERVED.iter().any(|key| extra.get(key).is_some()) {
        return Err(shape(
            "none of pos, prev, tok, cut, rep, by, for, sum and proof, which a host adds",
        ));
    }
    let ts = frame.envelope.timestamp;
    if frame.envelope.ttl.is_some_and(|ttl| ttl < 0) {
        return Err(wrong("a ttl of 0 or more seconds"));
    }
    if frame.envelope.ttl.is_some_and(|ttl| ttl > 0) && ts.is_none() {
        return Err(wrong("a ts beside the ttl"));
    }
    if let (Some(ts), Some(ttl)) = (ts, frame.envelope.ttl)
        && ts.checked_add(ttl).is_none()
    {
        return Err(wrong("a ts and a ttl that add up to a time"));
    }
    Ok((mid, sequence))
}

/// Refuses a frame whose time stamp is in the future. The cause is a wrong clock, so the sender may try
/// again. E3001 is the only code of the draft that is about time and allows another try.
pub(crate) fn is_not_early(rules: &Rules, frame: &Scanned<'_>, now: Time) -> Result<(), Refusal> {
    let latest = (now + rules.skew).as_secs();
    if frame.envelope.timestamp.is_none_or(|ts| ts <= latest) {
        return Ok(());
    }
    let expected = "a ts that is not in the future";
    Err(Refusal::new(ErrorCode::TIMEOUT, expected))
}
