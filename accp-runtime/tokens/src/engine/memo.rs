//! A cache of the token counts of short pieces.
//!
//! Frames have few names and use them over and over, with the same signs before them: `|task`, for example, is two
//! tokens each time.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bits that choose the slot of a key. A slot keeps only the other bits of the key, so it also has
/// room for the length and the count.
const PLACE: u32 = 14;
/// A factor for keys. It is odd, so that two different keys never have the same product.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Slots for the counts of recent pieces. A slot is one word, so threads share the slots without a lock: if a slot
/// has the mark of a piece, it also has the count of that piece, whichever thread wrote it.
pub(crate) struct Memo([AtomicU64; 1 << PLACE]);

/// The index of the slot for a piece, and the mark that the slot has if it holds this piece.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    place: usize,
    mark: u64,
}

impl Memo {
    // Only statics have this type, so the array is never on a stack.
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

    /// Returns the count of a piece if the slot holds it.
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> Option<usize> {
        let kept = self.0[slot.place].load(Ordering::Relaxed);
        (kept & !0xf == slot.mark).then_some((kept & 0xf) as usize)
    }

    /// Stores the count of a piece. The piece replaces the piece that was in the slot.
    pub(crate) fn keep(&self, slot: Slot, count: usize) {
        self.0[slot.place].store(slot.mark | count as u64, Ordering::Relaxed);
    }
}
