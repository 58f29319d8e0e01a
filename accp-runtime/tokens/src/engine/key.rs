//! Keys of tokens: the bytes of a candidate token as two words, and the place of a token in a table.
//!
//! The command that makes the tables includes this file, so that both agree on the place.

/// The longest token whose key is two words. Longer tokens are hashed from their bytes.
pub(crate) const WINDOW: usize = 16;

const SEEDS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];
const SPREAD: u64 = 0xff51_afd7_ed55_8ccd;

/// Returns sixteen bytes of a text in little-endian order, with zeros after the end of the text.
#[inline]
pub(crate) fn window(text: &[u8], at: usize) -> u128 {
    if let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
        return u128::from_le_bytes(*bytes);
    }
    let Some(rest) = text.get(at..) else { return 0 };
    if let Some(bytes) = text.last_chunk() {
        // The shift removes the bytes before `at`, and adds zeros at the end.
        let shift = 8 * (WINDOW - rest.len()) as u32;
        return u128::from_le_bytes(*bytes).checked_shr(shift).unwrap_or(0);
    }
    let mut bytes = [0; WINDOW];
    for (byte, from) in bytes.iter_mut().zip(rest) {
        *byte = *from;
    }
    u128::from_le_bytes(bytes)
}

/// Keeps the first bytes of a window, at most [`WINDOW`]; zeros follow.
#[inline]
pub(crate) fn first(window: u128, length: usize) -> u128 {
    debug_assert!((1..=WINDOW).contains(&length));
    window & (u128::MAX >> ((8 * (WINDOW - length) as u32) & 127))
}

/// Keeps the first bytes of a window, at most eight; zeros follow.
#[inline]
pub(crate) fn first8(window: u64, length: usize) -> u64 {
    debug_assert!((1..=8).contains(&length));
    window & (u64::MAX >> ((64 - 8 * length as u32) & 63))
}

/// Returns the hash of a key of at most [`WINDOW`] bytes.
#[inline]
pub(crate) fn hash(key: u128) -> u64 {
    fold(key as u64 ^ SEEDS[0], (key >> 64) as u64 ^ SEEDS[1])
}

/// Returns the hash of a longer token.
pub(crate) fn hash_long(bytes: &[u8]) -> u64 {
    let parts = (0..bytes.len()).step_by(WINDOW);
    parts.fold(0, |hash, at| {
        let part = window(bytes, at);
        fold(
            part as u64 ^ SEEDS[0] ^ hash,
            (part >> 64) as u64 ^ SEEDS[1],
        )
    })
}

/// Returns the bucket of a hash. The pilot of the bucket leads to the place.
#[inline]
pub(crate) fn bucket(hash: u64, buckets: u32) -> usize {
    below(hash >> 32, buckets)
}

/// Returns the place of a hash, given the pilot of its bucket.
#[inline]
pub(crate) fn place(hash: u64, pilot: u16, slots: u32) -> usize {
    let moved = (hash ^ u64::from(pilot).wrapping_mul(SEEDS[1])).wrapping_mul(SPREAD);
    below(moved >> 32, slots)
}

/// Maps 32 random bits to a number below a bound.
#[inline]
fn below(bits: u64, bound: u32) -> usize {
    ((bits * u64::from(bound)) >> 32) as usize
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
