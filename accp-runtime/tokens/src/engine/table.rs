//! The tokens of an encoding, in the form that they have in the binary.
//!
//! A file begins with a head of 129 rows, one for each length of a token. A row has four numbers, each a `u32` in
//! little-endian order: where its pilots begin, how many pilots there are, where its records begin, and how many
//! records there are. A record is the bytes of a token and its rank in three bytes. A perfect hash leads to the one
//! record that a key can be in: the hash chooses a bucket, and the pilot of the bucket, a `u16`, leads each key of
//! the bucket to a record of its own. So there is nothing to build or to unpack, and a lookup reads one pilot and
//! one record.
//!
//! Row 0 has no tokens. Its records are the ranks of the two parts of each token, in the order of ranks: five bytes for
//! a token, with 20 bits for each part. Both parts of a one-byte token are the token itself.

use super::key;

/// The longest token of both encodings.
pub(crate) const LONGEST: usize = 128;
/// The number of bytes of a rank.
const RANK: usize = 3;
/// The number of bytes of the two parts of a token.
const PARTS: usize = 5;

/// The tokens of one length.
#[derive(Clone, Copy)]
struct Row {
    pilots: usize,
    buckets: u32,
    records: usize,
    slots: u32,
}

/// The tokens of an encoding with their ranks.
pub(crate) struct Table {
    bytes: &'static [u8],
    rows: [Row; LONGEST + 1],
}

impl Table {
    /// Reads the head of a file.
    pub(crate) const fn new(bytes: &'static [u8]) -> Self {
        let mut rows = [Row {
            pilots: 0,
            buckets: 0,
            records: 0,
            slots: 0,
        }; LONGEST + 1];
        let mut length = 0;
        while length <= LONGEST {
            let at = length * 16;
            rows[length] = Row {
                pilots: word(bytes, at) as usize,
                buckets: word(bytes, at + 4),
                records: word(bytes, at + 8) as usize,
                slots: word(bytes, at + 12),
            };
            length += 1;
        }
        Self { bytes, rows }
    }

    /// Returns the rank of a token of at most eight bytes; `None` if the bytes are not a token.
    #[inline]
    pub(crate) fn rank8(&self, key: u64, length: usize) -> Option<u32> {
        let at = self.record(key::hash(key.into()), length)?;
        let record = self.bytes.get(at..)?.first_chunk::<{ key::WINDOW }>()?;
        let record = u128::from_le_bytes(*record);
        if key::first8(record as u64, length) != key {
            return None;
        }
        Some((record >> (8 * length)) as u32 & 0xff_ffff)
    }

    /// Returns the rank of a token of at most [`key::WINDOW`] bytes; `None` if the bytes are not a token.
    #[inline]
    pub(crate) fn rank16(&self, key: u128, length: usize) -> Option<u32> {
        let at = self.record(key::hash(key), length)?;
        let record = self.bytes.get(at..)?.first_chunk()?;
        if key::first(u128::from_le_bytes(*record), length) != key {
            return None;
        }
        self.rank_at(at + length)
    }

    /// Returns the rank of the token of this length at the beginning of a window; `None` if the bytes are not a
    /// token.
    #[inline]
    pub(crate) fn rank(&self, window: u128, length: usize) -> Option<u32> {
        if length <= 8 {
            self.rank8(key::first8(window as u64, length), length)
        } else {
            self.rank16(key::first(window, length), length)
        }
    }

    /// Returns the rank of a token of any length; `None` if the bytes are not a token.
    #[inline]
    pub(crate) fn rank_of(&self, text: &[u8], start: usize, end: usize) -> Option<u32> {
        let length = end - start;
        if length <= key::WINDOW {
            return self.rank(key::window(text, start), length);
        }
        self.rank_of_long(text.get(start..end)?)
    }

    /// Returns how many tokens there are.
    pub(crate) fn count(&self) -> usize {
        self.rows[0].slots as usize
    }

    /// Returns the two tokens that a token is joined from. For a one-byte token, both are the token itself.
    #[inline]
    pub(crate) fn parts(&self, token: u32) -> (u32, u32) {
        let at = self.rows[0].records + token as usize * PARTS;
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        let both = bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        (both as u32 & 0xf_ffff, (both >> 20) as u32 & 0xf_ffff)
    }

    /// Returns the token of a byte.
    #[inline]
    pub(crate) fn byte(&self, byte: u8) -> u32 {
        self.rank8(byte.into(), 1).unwrap_or(0)
    }

    /// Returns the window of each token of a length. Some tokens come twice.
    pub(crate) fn windows(&self, length: usize) -> impl Iterator<Item = u128> {
        let row = self.rows[length];
        let slots = 0..row.slots as usize;
        slots.map(move |slot| key::window(self.bytes, row.records + slot * (length + RANK)))
    }

    /// Looks up each token of a length by its bytes. Returns those that it finds, each with its bytes.
    #[cfg(test)]
    pub(crate) fn tokens(&self, length: usize) -> impl Iterator<Item = (u32, &[u8])> {
        let row = self.rows[length];
        (0..row.slots as usize).filter_map(move |slot| {
            let at = row.records + slot * (length + RANK);
            let rank = self.rank_of(self.bytes, at, at + length)?;
            Some((rank, &self.bytes[at..at + length]))
        })
    }

    fn rank_of_long(&self, token: &[u8]) -> Option<u32> {
        if token.len() > LONGEST {
            return None;
        }
        let at = self.record(key::hash_long(token), token.len())?;
        let end = at + token.len();
        (self.bytes.get(at..end)? == token)
            .then(|| self.rank_at(end))
            .flatten()
    }

    /// Returns the start of the only record that can hold a key with this hash.
    #[inline]
    fn record(&self, hash: u64, length: usize) -> Option<usize> {
        let row = self.rows.get(length)?;
        if row.slots == 0 {
            return None;
        }
        let at = row.pilots + 2 * key::bucket(hash, row.buckets);
        let pilot = u16::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?);
        Some(row.records + key::place(hash, pilot, row.slots) * (length + RANK))
    }

    #[inline]
    fn rank_at(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes) & 0xff_ffff)
    }
}

const fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
