//! Counts of short pieces that are not tokens, as they were counted before.
//!
//! Frames have few names and use them over and over, with the same signs before them: `|task` is two tokens each time.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of the place. A slot keeps the rest of the bits of the key, so there is room for the length and the count.
const PLACE: u32 = 14;
/// Odd, so that two keys never have the same product.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A place for each of the last pieces. A slot is one word, so threads share it without a lock: whatever
/// another thread writes there, a slot that has this key has its count.
pub(crate) struct Memo([AtomicU64; 1 << PLACE]);

/// Where the count of a piece is kept, and what marks it.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    place: usize,
    mark: u64,
}

impl Memo {
    // Only statics are made of it, which never stand on a stack.
    #[allow(clippy::large_stack_arrays)]
    pub(crate) const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 1 << PLACE])
    }

    /// Returns the slot of a piece of at most eight bytes.
    #[inline]
    pub(crate) fn slot(key: u64, length: usize) -> Slot {
        let spread = key.wrapping_mul(SPREAD);
        Slot {
            place: (spread >> (u64::BITS - PLACE)) as usize,
            mark: spread << PLACE | (length as u64) << 4,
        }
    }

    /// Returns the count of a piece if it is kept.
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> Option<usize> {
        let kept = self.0[slot.place].load(Ordering::Relaxed);
        (kept & !0xf == slot.mark).then_some((kept & 0xf) as usize)
    }

    /// Keeps the count of a piece, in the place of another one.
    pub(crate) fn keep(&self, slot: Slot, count: usize) {
        self.0[slot.place].store(slot.mark | count as u64, Ordering::Relaxed);
    }
}
