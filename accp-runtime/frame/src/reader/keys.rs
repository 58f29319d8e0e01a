//! Finds the keys that a reader expects, fast: by their first bytes instead of by comparing texts.

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

    /// Returns whether a text with the same head begins with this key and a colon. Returns false for a key above 15
    /// bytes: only a comparison of the whole text can find such a key.
    #[inline]
    fn begins(&self, text: &[u8]) -> bool {
        let tail = || Some(u64::from_le_bytes(*text.get(8..)?.first_chunk()?));
        self.text.len() < 8
            || self.text.len() < 16 && tail().is_some_and(|tail| tail & self.mask == self.tail)
    }
}

/// A hash table of keys: the head of a key gives its slot.
#[derive(Debug)]
pub struct Keys {
    list: &'static [Key],
    /// The keys that have a slot: the first keys of the list.
    slotted: &'static [Key],
    /// For each slot, the index of its key in `slotted`. If the slot of a key was taken, the key has the next free
    /// slot.
    slots: [u8; SLOTS],
}

const SLOTS: usize = 64;
/// The greatest number of keys that have a slot, so that some slots are always free. The reader finds other keys by
/// comparing texts.
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

    /// Returns the meaning of the key at the beginning of a text, and the text after the colon of the key.
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

/// Returns the slot of a head. It is the highest bits of a product, because these depend on all bits of the head.
const fn slot_of(head: u64) -> usize {
    (head.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS.trailing_zeros())) as usize
}

/// Returns the first eight bytes of a text as a number. Bytes after the first colon become zero.
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
    /// The number that stands for the end of the params or pairs. The reader has consumed the closing bracket.
    pub(crate) const END: usize = usize::MAX;
    /// The number that stands for a key that is not among the known keys. [`unknown_key`](Self::unknown_key) returns
    /// that key.
    const UNKNOWN: usize = usize::MAX - 1;

    /// If this key comes next, consumes it with the separator and the colon: `|task:` or `,mid:`. For the first key of
    /// a payload or of the metadata, `first` must come next instead: `task:` or `[mid:`.
    ///
    /// If the caller asks for the keys in the order of the writer, it finds each key at once. `param_of` and
    /// `metadata_of` read the keys that remain.
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

    /// If the last param of a payload and the end of the payload come next, consumes them with the separator:
    /// `|schema:TA}`. If this reader counts params, consumes nothing, because a key must be counted before its value is
    /// read.
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

    /// If the text begins with `other`, returns the text after it. Before the first key, compares with `first` instead.
    #[expect(clippy::inline_always, reason = "as for `expects`")]
    #[inline(always)]
    fn behind(&self, first: &'static str, other: &'static str) -> Option<&'a str> {
        if self.params == 0 {
            self.rest.strip_prefix(first)
        } else {
            self.rest.strip_prefix(other)
        }
    }

    /// Reads the key of a param as [`param`](Self::param) does, and returns its meaning. Returns [`Self::END`] at the
    /// end of the payload, and another number that is not a meaning for an unknown key.
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

    /// Returns the last key that was not among the known keys.
    pub(crate) fn unknown_key(&self) -> &'a str {
        self.unknown
    }

    /// Moves to the text after a known key, and returns the meaning of the key.
    #[inline]
    fn known(&mut self, (meaning, rest): (usize, &'a str)) -> Result<usize> {
        self.rest = rest;
        self.pair_read()?;
        Ok(meaning)
    }

    /// Reads the key of a param that the table did not find, or the end of the payload.
    #[inline(never)]
    fn other_param(&mut self, keys: &Keys) -> Result<usize> {
        match self.before_param()? {
            Some(what) => self.key_by_text(keys, what),
            None => Ok(Self::END),
        }
    }

    /// Reads the key of a pair that the table did not find, or the end of the metadata.
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
