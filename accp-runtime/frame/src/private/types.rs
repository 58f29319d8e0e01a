//! Checks that no two variants of an enum accept the same frame.
//!
//! The compiler limits the time for a constant, so nothing here may grow with the square of the number of variants. A
//! hash table of the types finds those that are equal.

use core::option::Option;

use super::const_error::ConstError;
use super::shape::equal;
use crate::frame_types::FrameTypes;
use crate::writer::FrameType;

/// The number of slots of a table. If there are too many frame types for one table, the search reads the types several
/// times. Each time it puts only the types with certain hashes into the table.
const SLOTS: usize = 1024;

/// A frame type of a variant that an earlier variant accepts too. `before` is the index of the earlier variant.
#[derive(Debug, Clone, Copy)]
pub struct Clash {
    before: usize,
    frame: FrameType<'static>,
}

/// Returns for each variant its first clash with an earlier variant. `N` is the number of variants.
pub const fn clashes<const N: usize>(variants: &[(&str, FrameTypes)]) -> [Option<Clash>; N] {
    let mut clashes = [Option::None; N];
    let (mut count, mut at) = (0, 0);
    while at < variants.len() {
        count += length(&variants[at].1);
        at += 1;
    }
    let parts = 2 * count / SLOTS + 1;
    let mut part = 0;
    while part < parts {
        let mut table = Table {
            slots: [Option::None; SLOTS],
            part,
            parts,
        };
        let mut at = 0;
        while at < variants.len() {
            table.add_all(&variants[at].1, at, &mut clashes);
            at += 1;
        }
        part += 1;
    }
    clashes
}

/// Returns the number of known frame types.
const fn length(types: &FrameTypes) -> usize {
    match types {
        FrameTypes::One(_) => 1,
        FrameTypes::Several(types) => {
            let (mut count, mut at) = (0, 0);
            while at < types.len() {
                count += length(&types[at]);
                at += 1;
            }
            count
        }
        FrameTypes::Unknown => 0,
    }
}

/// The frame types whose hash leaves the remainder `part` when divided by `parts`, each with its first variant.
struct Table<'v> {
    slots: [Option<(&'v FrameType<'static>, usize)>; SLOTS],
    part: usize,
    parts: usize,
}

impl<'v> Table<'v> {
    const fn add_all(
        &mut self,
        types: &'v FrameTypes,
        variant: usize,
        clashes: &mut [Option<Clash>],
    ) {
        match types {
            FrameTypes::One(frame) => self.add(frame, variant, clashes),
            FrameTypes::Several(types) => {
                let mut at = 0;
                while at < types.len() {
                    self.add_all(&types[at], variant, clashes);
                    at += 1;
                }
            }
            FrameTypes::Unknown => {}
        }
    }

    /// Adds a frame type, or records its clash. The table has a free slot unless very many types have hashes of the
    /// same part. If there is none, the enum does not compile, because a clash could be missed.
    const fn add(
        &mut self,
        frame: &'v FrameType<'static>,
        variant: usize,
        clashes: &mut [Option<Clash>],
    ) {
        let hash = hash(frame);
        if hash % self.parts != self.part {
            return;
        }
        let mut slot = hash / self.parts % SLOTS;
        let mut tries = 0;
        while let Option::Some((other, before)) = self.slots[slot] {
            if is_same(frame, other) {
                let is_first = match &clashes[variant] {
                    Option::Some(clash) => before < clash.before,
                    Option::None => before < variant,
                };
                if is_first {
                    clashes[variant] = Option::Some(Clash {
                        before,
                        frame: *frame,
                    });
                }
                return;
            }
            slot = (slot + 1) % SLOTS;
            tries += 1;
            assert!(
                tries < SLOTS,
                "too many frames of this enum have one hash, so that they are not told apart; give it fewer variants"
            );
        }
        self.slots[slot] = Option::Some((frame, variant));
    }
}

const fn hash(frame: &FrameType<'_>) -> usize {
    let hash = mixed(frame.intent.as_str().as_bytes(), 0);
    let hash = mixed(frame.operation.as_bytes(), hash);
    let hash = match frame.schema {
        Option::Some(code) => mixed(code.as_bytes(), hash),
        Option::None => hash,
    };
    hash as usize
}

/// Mixes a text into a hash, eight bytes at once: the compiler limits the number of steps of a constant.
const fn mixed(mut text: &[u8], hash: u64) -> u64 {
    let mut hash = folded(hash, text.len() as u64);
    while let Option::Some((chunk, rest)) = text.split_first_chunk() {
        hash = folded(hash, u64::from_le_bytes(*chunk));
        text = rest;
    }
    let (mut last, mut at) = (0, 0);
    while at < text.len() {
        last = last << 8 | text[at] as u64;
        at += 1;
    }
    folded(hash, last)
}

/// Mixes two words: every bit of them changes every bit of their product, and the two halves of the
/// product become one word.
const fn folded(hash: u64, bits: u64) -> u64 {
    let product = (hash ^ bits ^ 0x9e37_79b9_7f4a_7c15) as u128 * 0xd6e8_feb8_6659_fd93_u128;
    product as u64 ^ (product >> 64) as u64
}

/// Returns whether the types are equal. Compares lengths first, because this is cheap.
const fn is_same(a: &FrameType<'_>, b: &FrameType<'_>) -> bool {
    let schema = match (a.schema, b.schema) {
        (Option::Some(a), Option::Some(b)) => a.len() == b.len() && equal(a, b),
        (Option::None, Option::None) => true,
        _ => false,
    };
    schema
        && a.operation.len() == b.operation.len()
        && equal(a.operation, b.operation)
        && equal(a.intent.as_str(), b.intent.as_str())
}

/// Returns the error for the variant at `at` if it has a clash.
pub const fn taken(
    variants: &[(&str, FrameTypes)],
    clashes: &[Option<Clash>],
    at: usize,
) -> Option<ConstError> {
    let Option::Some(Clash { before, frame }) = clashes[at] else {
        return Option::None;
    };
    let error = ConstError::of("`")
        .and(frame.intent.as_str().as_bytes())
        .and(b":");
    let error = error.and(frame.operation.as_bytes()).and(b"`");
    let error = match frame.schema {
        Option::Some(code) => error.and(b" of schema ").and(code.as_bytes()),
        Option::None => error,
    };
    let error = error
        .and(b" is the variant `")
        .and(variants[before].0.as_bytes());
    let error = error.and(b"` already, so `").and(variants[at].0.as_bytes());
    Option::Some(
        error.and(b"` would never be read: one of the two needs another operation or schema"),
    )
}

/// Returns the error for the first variant that has a clash. `N` is the number of variants.
pub const fn first_taken<const N: usize>(variants: &[(&str, FrameTypes)]) -> Option<ConstError> {
    let clashes = clashes::<N>(variants);
    let mut at = 0;
    while at < N {
        if clashes[at].is_some() {
            return taken(variants, &clashes, at);
        }
        at += 1;
    }
    Option::None
}
