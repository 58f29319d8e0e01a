//! Keys that a reader knows before it meets them.

use super::{Reader, Result};

/// A key of a param or a pair, and its meaning.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The key and its colon in the first eight bytes, or the first eight bytes of a longer key.
    head: u64,
    /// The next eight bytes of the key and its colon.
    tail: u64,
    /// The bits of `tail` that belong to the key or its colon.
    mask: u64,
    text: &'static str,
    meaning: usize,
}

impl Key {
    /// Returns a key with a meaning: a number that the caller chooses.
    pub const fn new(text: &'static str, meaning: usize) -> Self {
        let (bytes, mut words, mut masks, mut at) = (text.as_bytes(), [[0; 8]; 2], [[0; 8]; 2], 0);
        while at < 16 && at <= bytes.len() {
            words[at / 8][at % 8] = if at < bytes.len() { bytes[at] } else { b':' };
            masks[at / 8][at % 8] = u8::MAX;
            at += 1;
        }
        Self {
            head: u64::from_le_bytes(words[0]),
            tail: u64::from_le_bytes(words[1]),
            mask: u64::from_le_bytes(masks[1]),
            text,
            meaning,
        }
    }

    /// Returns whether a text with the same head begins with this key and a colon. Keys above 15 bytes are told apart
    /// by their text alone.
    #[inline]
    fn begins(&self, text: &[u8]) -> bool {
        let tail = || Some(u64::from_le_bytes(*text.get(8..)?.first_chunk()?));
        self.text.len() < 8
            || self.text.len() < 16 && tail().is_some_and(|tail| tail & self.mask == self.tail)
    }
}

/// Keys that can be looked up by their heads.
#[derive(Debug)]
pub struct Keys {
    list: &'static [Key],
    /// The keys that have a slot: the first of the list.
    slotted: &'static [Key],
    /// The index of each of these keys, in the slot of its head or in the next free slot behind.
    slots: [u8; SLOTS],
}

const SLOTS: usize = 64;
/// How many keys have a slot, so that most slots are free. Others are found by their text.
const MOST: usize = 48;
const FREE: u8 = u8::MAX;

impl Keys {
    /// Makes a table of the keys.
    pub const fn new(list: &'static [Key]) -> Self {
        let most = if list.len() < MOST { list.len() } else { MOST };
        let (slotted, _) = list.split_at(most);
        let (mut slots, mut at) = ([FREE; SLOTS], 0);
        while at < slotted.len() {
            let mut slot = slot_of(slotted[at].head);
            while slots[slot] != FREE {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = at as u8;
            at += 1;
        }
        Self {
            list,
            slotted,
            slots,
        }
    }

    /// Returns the meaning of the key with which a text begins, and the text behind its colon.
    #[inline]
    fn take<'t>(&self, text: &'t str) -> Option<(usize, &'t str)> {
        let head = head_of(*text.as_bytes().first_chunk()?);
        let mut slot = slot_of(head);
        loop {
            // No key has the index of a free slot.
            let key = self.slotted.get(usize::from(self.slots[slot]))?;
            if key.head == head && key.begins(text.as_bytes()) {
                return Some((key.meaning, text.get(key.text.len() + 1..)?));
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

/// Returns the slot of a head: the highest bits of a product depend on all bits of the head.
const fn slot_of(head: u64) -> usize {
    (head.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS.trailing_zeros())) as usize
}

/// Returns the first eight bytes of a text, without those behind the first colon.
#[inline]
fn head_of(bytes: [u8; 8]) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const COLONS: u64 = u64::from_le_bytes([b':'; 8]);
    let head = u64::from_le_bytes(bytes);
    // In `colons`, the lowest set bit is the highest bit of the first byte that is a colon.
    let zeros = head ^ COLONS;
    let colons = zeros.wrapping_sub(ONES) & !zeros & (ONES << 7);
    // Without a colon, this mask has all bits set.
    head & (colons ^ colons.wrapping_sub(1))
}

impl<'a> Reader<'a> {
    /// The meaning of the end of the params or pairs, which is consumed.
    pub(crate) const END: usize = usize::MAX;
    /// The meaning of a key that is not among the known ones. [`unknown_key`](Self::unknown_key) returns that key.
    const UNKNOWN: usize = usize::MAX - 1;

    /// Consumes a key with the separator before it and the colon behind it, if it comes next: `|task:` or `,mid:`. The
    /// first key of a body or the metadata has `first` in place of the separator.
    ///
    /// A reader that asks for the keys of a writer in their order finds each at once. `param_of` and `metadata_of` read
    /// what remains.
    #[expect(
        clippy::inline_always,
        reason = "the compiler compares a constant key as a number"
    )]
    #[inline(always)]
    pub(crate) fn expects(&mut self, first: &'static str, key: &'static str) -> Result<bool> {
        match self.behind(first, key) {
            Some(rest) => {
                self.rest = rest;
                self.pair_read().map(|()| true)
            }
            None => Ok(false),
        }
    }

    /// Consumes the last param of a payload and the end, with the separator before them, if they come next:
    /// `|schema:TA}`. Where params are counted it consumes nothing, because a key counts before its value is read.
    #[expect(clippy::inline_always, reason = "as for `expects`")]
    #[inline(always)]
    pub(crate) fn ends(&mut self, first: &'static str, end: &'static str) -> bool {
        match self.behind(first, end) {
            Some(rest) if !self.is_counted => {
                self.rest = rest;
                self.params = 0;
                true
            }
            _ => false,
        }
    }

    /// Returns the text behind a constant, which has `first` in place of the separator before the first key.
    #[expect(clippy::inline_always, reason = "as for `expects`")]
    #[inline(always)]
    fn behind(&self, first: &'static str, other: &'static str) -> Option<&'a str> {
        if self.params == 0 {
            self.rest.strip_prefix(first)
        } else {
            self.rest.strip_prefix(other)
        }
    }

    /// Reads the key of a param as [`param`](Self::param) does, and returns its meaning, [`Self::END`] or another number
    /// that is not a meaning.
    #[inline]
    pub(crate) fn param_of(&mut self, keys: &Keys) -> Result<usize> {
        if self.eat('}') {
            self.params = 0;
            return Ok(Self::END);
        }
        self.next_param(keys)
    }

    fn next_param(&mut self, keys: &Keys) -> Result<usize> {
        let is_first = self.params == 0;
        let text = if is_first {
            Some(self.rest)
        } else {
            self.rest.strip_prefix('|')
        };
        match text.and_then(|text| keys.take(text)) {
            Some(known) => self.known(known),
            None => self.other_param(keys),
        }
    }

    /// Reads the key of a pair of the metadata, as [`param_of`](Self::param_of) reads the key of a param.
    #[inline]
    pub(crate) fn metadata_of(&mut self, keys: &Keys) -> Result<usize> {
        if self.params > 0 && self.eat(']') {
            self.params = 0;
            return Ok(Self::END);
        }
        self.next_pair(keys)
    }

    fn next_pair(&mut self, keys: &Keys) -> Result<usize> {
        let is_first = self.params == 0;
        let text = self.rest.strip_prefix(if is_first { '[' } else { ',' });
        match text.and_then(|text| keys.take(text)) {
            Some(known) => self.known(known),
            None => self.other_pair(keys),
        }
    }

    /// Returns the last key that was not among the known ones.
    pub(crate) fn unknown_key(&self) -> &'a str {
        self.unknown
    }

    /// Goes on behind a known key, and returns its meaning.
    #[inline]
    fn known(&mut self, (meaning, rest): (usize, &'a str)) -> Result<usize> {
        self.rest = rest;
        self.pair_read()?;
        Ok(meaning)
    }

    /// Reads the key of any param, or the end of the payload.
    #[inline(never)]
    fn other_param(&mut self, keys: &Keys) -> Result<usize> {
        match self.before_param()? {
            Some(what) => self.key_by_text(keys, what),
            None => Ok(Self::END),
        }
    }

    /// Reads the key of any pair, or the end of the metadata.
    #[inline(never)]
    fn other_pair(&mut self, keys: &Keys) -> Result<usize> {
        match self.before_pair()? {
            Some(what) => self.key_by_text(keys, what),
            None => Ok(Self::END),
        }
    }

    /// Reads a key by comparing texts: a key near the end of the text, a long key, or an unknown key.
    #[cold]
    fn key_by_text(&mut self, keys: &Keys, what: &'static str) -> Result<usize> {
        self.unknown = self.pair_key(what)?;
        let found = keys.list.iter().find(|key| key.text == self.unknown);
        Ok(found.map_or(Self::UNKNOWN, |key| key.meaning))
    }
}
