//! Keys that a reader knows before it meets them.

use super::{Reader, Result};

/// A key of a param or a pair, and its meaning.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The key and its colon in the first eight bytes, or the first eight bytes of a longer key.
    head: u64,
    /// The bits of `head` that belong to the key or its colon.
    mask: u64,
    text: &'static str,
    meaning: usize,
}

impl Key {
    /// Returns a key with a meaning: a number that the caller chooses.
    pub const fn new(text: &'static str, meaning: usize) -> Self {
        let (bytes, mut head, mut mask, mut at) = (text.as_bytes(), [0; 8], [0; 8], 0);
        while at < 8 && at <= bytes.len() {
            head[at] = if at < bytes.len() { bytes[at] } else { b':' };
            mask[at] = u8::MAX;
            at += 1;
        }
        Self {
            head: u64::from_le_bytes(head),
            mask: u64::from_le_bytes(mask),
            text,
            meaning,
        }
    }

    /// Returns whether a text with the same head begins with this key and a colon.
    #[inline]
    fn begins(&self, text: &[u8]) -> bool {
        self.text.len() < 8
            || text
                .strip_prefix(self.text.as_bytes())
                .is_some_and(|rest| rest.first() == Some(&b':'))
    }
}

/// Returns the place of the first key with this head.
fn place_of(head: u64, keys: &[Key]) -> usize {
    let found = keys.iter().position(|key| key.head == head);
    found.unwrap_or(keys.len())
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
    /// Reads the key of a param as [`param`](Self::param) does, and returns its meaning, or [`Self::UNKNOWN`].
    /// `next` is the index in `keys` of the key that is expected. It becomes the index after the key that was
    /// found. So each key is found at once if the text has its keys in the order of `keys`.
    #[inline]
    pub(crate) fn param_of(&mut self, keys: &[Key], next: &mut usize) -> Result<Option<usize>> {
        match self.before_param()? {
            Some(what) => self.key_of(keys, next, what).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the key of a pair of the metadata, as [`param_of`](Self::param_of) reads the key of a param.
    #[inline]
    pub(crate) fn metadata_of(&mut self, keys: &[Key], next: &mut usize) -> Result<Option<usize>> {
        match self.before_pair()? {
            Some(what) => self.key_of(keys, next, what).map(Some),
            None => Ok(None),
        }
    }

    /// The meaning of a key that is not among the known ones. [`unknown_key`](Self::unknown_key) returns that key.
    pub(crate) const UNKNOWN: usize = usize::MAX;

    /// Returns the last key that was not among the known ones.
    pub(crate) fn unknown_key(&self) -> &'a str {
        self.unknown
    }

    #[inline]
    fn key_of(&mut self, keys: &[Key], next: &mut usize, what: &'static str) -> Result<usize> {
        let text = self.rest.as_bytes();
        if let Some(head) = text.first_chunk::<8>() {
            let at = match keys.get(*next) {
                Some(key) if u64::from_le_bytes(*head) & key.mask == key.head => *next,
                _ => place_of(head_of(*head), keys),
            };
            if let Some(key) = keys.get(at).filter(|key| key.begins(text)) {
                *next = at + 1;
                self.split(key.text.len() + 1);
                self.pair_read()?;
                return Ok(key.meaning);
            }
        }
        self.key_by_text(keys, what)
    }

    /// Reads a key by comparing texts: a key near the end of the text, a key that begins like another, or an unknown
    /// key.
    #[cold]
    fn key_by_text(&mut self, keys: &[Key], what: &'static str) -> Result<usize> {
        self.unknown = self.pair_key(what)?;
        let found = keys.iter().find(|key| key.text == self.unknown);
        Ok(found.map_or(Self::UNKNOWN, |key| key.meaning))
    }
}
