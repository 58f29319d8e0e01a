//! Finds the tokens of a piece that is not a token itself.
//!
//! The encoding joins bytes into tokens. Among the pairs of neighbours that make a token, it joins the pair whose token
//! has the lowest rank, and the first of several such pairs. It repeats this until no two neighbours make a token. A
//! walk from left to right leads to the same tokens, because of two facts (the authors of the crate `bpe` found this
//! way):
//!
//! - Every token was joined from two parts. A token always has the same two parts, because only the bytes of the token
//!   decide how these bytes are joined.
//! - A sequence of tokens is the result for a text if and only if each two neighbours are the result for their own
//!   bytes. The reason is that the first join across a border between two tokens joins the two parts at this border.
//!   The same join would happen in a text of only these two tokens.
//!
//! So the walk takes the longest token that fits its neighbour on the left, and goes back where no token fits.

use super::key;
use super::table::{LONGEST, Table};

/// The longest piece whose tokens are kept on the stack.
const SHORT: usize = 128;

/// The indexes that the walk needs in addition to the table. They are built for the first piece that is not a token.
pub(crate) struct Merges {
    pairs: Pairs,
    lengths: Lengths,
}

/// A token, and where it ends.
type Token = (u32, u32);

impl Merges {
    pub(crate) fn new(table: &Table) -> Self {
        Self {
            pairs: Pairs::new(table),
            lengths: Lengths::new(table),
        }
    }

    /// Calls `tell` with the tokens of a piece, in order, until `tell` returns false. The tokens of a long piece
    /// come in several stretches. `tell` gets the byte at which the stretch begins, and the tokens, each with its
    /// end counted from that byte.
    pub(crate) fn walk(
        &self,
        table: &Table,
        piece: &[u8],
        tell: impl FnMut(usize, &[Token]) -> bool,
    ) {
        let mut tell = tell;
        if let Some(tokens) = self.behind_sign(table, piece) {
            tell(0, &tokens);
        } else if piece.len() <= key::WINDOW {
            let mut tokens = [(0, 0); key::WINDOW];
            let count = self.cover(table, piece, &mut tokens, &mut [u64::MAX]);
            tell(0, &tokens[..count]);
        } else if piece.len() <= SHORT {
            let mut tokens = [(0, 0); SHORT];
            let count = self.cover(table, piece, &mut tokens, &mut [u64::MAX; 3]);
            tell(0, &tokens[..count]);
        } else {
            self.walk_long(table, piece, tell);
        }
    }

    /// Returns the tokens of a piece that consists of one byte and one token after it, such as a word after a sign.
    /// Most short pieces are like this.
    fn behind_sign(&self, table: &Table, piece: &[u8]) -> Option<[Token; 2]> {
        let first = *piece.first()?;
        if first.is_ascii_alphanumeric() || piece.len() > key::WINDOW {
            return None;
        }
        let sign = table.byte(first);
        let word = table.rank_of(piece, 1, piece.len())?;
        let hold = self.pairs.hold(table, sign, word);
        hold.then_some([(sign, 1), (word, piece.len() as u32)])
    }

    /// Finds the tokens of a long piece a stretch at a time, so that it takes little memory and can stop early.
    ///
    /// The next stretch begins at a border of tokens before the end of the current stretch. Its first token must be
    /// the token that the current stretch has after this border. Then the two tokens at the border are neighbours
    /// in the current stretch, which shows that they fit together. If the next stretch begins with another token,
    /// the current stretch is made again, twice as long.
    fn walk_long(
        &self,
        table: &Table,
        piece: &[u8],
        mut tell: impl FnMut(usize, &[Token]) -> bool,
    ) {
        let mut start = 0;
        let mut wide = WIDE;
        let mut tokens = self.stretch(table, piece, start, wide);
        while start + wide < piece.len() {
            let sure = tokens.partition_point(|&(_, end)| end as usize <= wide - AGAIN);
            if let (Some(&(_, border)), Some(&(next, _))) =
                (tokens.get(sure.wrapping_sub(1)), tokens.get(sure))
            {
                let from = start + border as usize;
                let following = self.stretch(table, piece, from, WIDE);
                if following.first().is_some_and(|&(token, _)| token == next) {
                    if !tell(start, &tokens[..sure]) {
                        return;
                    }
                    (start, wide, tokens) = (from, WIDE, following);
                    continue;
                }
            }
            wide *= 2;
            tokens = self.stretch(table, piece, start, wide);
        }
        tell(start, &tokens);
    }

    fn stretch(&self, table: &Table, piece: &[u8], start: usize, wide: usize) -> Vec<Token> {
        let text = &piece[start..piece.len().min(start + wide)];
        let mut tokens = vec![(0, 0); text.len()];
        let mut open = vec![u64::MAX; text.len() / 64 + 1];
        let count = self.cover(table, text, &mut tokens, &mut open);
        tokens.truncate(count);
        tokens
    }

    /// Finds the tokens of a text and returns their number. `tokens` must have room for one token per byte, and
    /// `open` must have a bit for each border between bytes.
    fn cover(&self, table: &Table, text: &[u8], tokens: &mut [Token], open: &mut [u64]) -> usize {
        let mut count: usize = 0;
        let mut start = 0;
        let (mut token, mut length) = self.lengths.longest(table, text, 0, text.len().max(2));
        loop {
            let end = start + length;
            let before = tokens.get(count.wrapping_sub(1)).copied();
            // The bit of a border is cleared once it is known that no tokens cover the text after the border.
            let fits = open[end / 64] >> (end % 64) & 1 == 1
                && before.is_none_or(|(before, _)| self.pairs.hold(table, before, token));
            if fits {
                tokens[count] = (token, end as u32);
                count += 1;
                if end == text.len() {
                    return count;
                }
                start = end;
                (token, length) = self.lengths.longest(table, text, start, usize::MAX);
            } else if length > 1 {
                (token, length) = self.lengths.longest(table, text, start, length);
            } else if let Some((before, _)) = before {
                open[start / 64] &= !(1 << (start % 64));
                count -= 1;
                let end = start;
                start = count
                    .checked_sub(1)
                    .map_or(0, |last| tokens[last].1 as usize);
                (token, length) = (before, end - start);
            } else {
                // Every byte is a token, so the walk always finds tokens before it gets here.
                return count;
            }
        }
    }
}

/// The number of bytes of a long piece in one stretch.
const WIDE: usize = 4096;
/// The number of bytes at the end of a stretch that belong to the next stretch, too.
const AGAIN: usize = 4 * LONGEST;

/// An index of the tokens that two tokens make.
struct Pairs {
    /// A hash table with open addressing. A slot has the token in its low 18 bits, and 14 bits of the hash above.
    slots: Box<[u32]>,
    shift: u32,
}

const EMPTY: u32 = u32::MAX;
const TOKEN: u32 = 18;
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Pairs {
    fn new(table: &Table) -> Self {
        let size = (2 * table.count()).next_power_of_two();
        let mut pairs = Self {
            slots: vec![EMPTY; size].into_boxed_slice(),
            shift: u64::BITS - size.ilog2(),
        };
        for token in 0..table.count() as u32 {
            let (left, right) = table.parts(token);
            if left != token {
                let (mut at, mark) = pairs.place(left, right);
                while pairs.slots[at] != EMPTY {
                    at = (at + 1) & (size - 1);
                }
                pairs.slots[at] = mark << TOKEN | token;
            }
        }
        pairs
    }

    #[inline]
    fn place(&self, left: u32, right: u32) -> (usize, u32) {
        let hash = (u64::from(left) << TOKEN | u64::from(right)).wrapping_mul(SPREAD);
        ((hash >> self.shift) as usize, (hash >> 20) as u32 & 0x3fff)
    }

    /// Returns the token that two tokens make, if there is one.
    #[inline]
    fn joined(&self, table: &Table, left: u32, right: u32) -> Option<u32> {
        let (mut at, mark) = self.place(left, right);
        loop {
            let slot = *self.slots.get(at)?;
            if slot == EMPTY {
                return None;
            }
            if slot >> TOKEN == mark {
                let token = slot & ((1 << TOKEN) - 1);
                if table.parts(token) == (left, right) {
                    return Some(token);
                }
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Returns whether the encoding makes these two tokens of their bytes. It does if no join across their border
    /// comes before the joins that made the two tokens. This function undoes the joins that made the tokens, the last
    /// join first, and looks at the two parts at the border each time.
    fn hold(&self, table: &Table, mut left: u32, mut right: u32) -> bool {
        // A join across the border comes first if its rank is below this limit.
        let mut limit = u32::MAX;
        let (mut inner, mut outer) = (table.parts(left).1, table.parts(right).0);
        loop {
            let joined = self.joined(table, left, right);
            if joined.is_some_and(|token| token < limit) {
                return false;
            }
            // The parts of a one-byte token are the token itself. Of joins with the same rank, the left one comes
            // first.
            if inner != left && (left > right || outer == right) {
                limit = left;
                left = inner;
                inner = table.parts(left).1;
            } else if outer != right {
                limit = right + 1;
                right = outer;
                outer = table.parts(right).0;
            } else {
                return true;
            }
        }
    }
}

/// The lengths of the tokens that begin with the same bytes, as bits in hash tables. A bit may also come from other
/// bytes with the same hash.
struct Lengths {
    /// For the first three bytes: the lengths 3 and 4.
    three: Box<[u8]>,
    /// For the first five bytes: the lengths 5 to 7.
    five: Box<[u8]>,
    /// For the first eight bytes: the lengths 8 to 16, and whether there are longer tokens.
    eight: Box<[u16]>,
    /// For the first sixteen bytes: the lengths 17 to 128. The lowest bit stands for 17.
    long: Box<[u128]>,
}

const LONGER: u16 = 1 << 9;

impl Lengths {
    fn new(table: &Table) -> Self {
        let mut lengths = Self {
            three: vec![0; 1 << 17].into_boxed_slice(),
            five: vec![0; 1 << 18].into_boxed_slice(),
            eight: vec![0; 1 << 17].into_boxed_slice(),
            long: vec![0; 1 << 13].into_boxed_slice(),
        };
        for length in 3..=LONGEST {
            for window in table.windows(length) {
                match length {
                    3..5 => lengths.three[spread::<3, 17>(window)] |= 1 << (length - 3),
                    5..8 => lengths.five[spread::<5, 18>(window)] |= 1 << (length - 5),
                    8..=16 => lengths.eight[spread::<8, 17>(window)] |= 1 << (length - 8),
                    _ => {
                        lengths.eight[spread::<8, 17>(window)] |= LONGER;
                        lengths.long[spread_long(window)] |= 1 << (length - 17);
                    }
                }
            }
        }
        lengths
    }

    /// Returns the longest token that begins at a byte and is shorter than `below`, with its length.
    fn longest(&self, table: &Table, text: &[u8], at: usize, below: usize) -> (u32, usize) {
        let window = key::window(text, at);
        let most = (text.len() - at).min(below - 1);
        if most >= 8 {
            let bits = self.eight[spread::<8, 17>(window)];
            if most > key::WINDOW && bits & LONGER != 0 {
                let mut bits = self.long[spread_long(window)] & ones(most - 16);
                while bits != 0 {
                    let bit = bits.ilog2();
                    let length = 17 + bit as usize;
                    if let Some(token) = table.rank_of(text, at, at + length) {
                        return (token, length);
                    }
                    bits &= !(1 << bit);
                }
            }
            let bits = u32::from(bits & !LONGER) << 8;
            if let Some(found) = of_lengths(table, window, bits, most) {
                return found;
            }
        }
        if most >= 5 {
            let bits = u32::from(self.five[spread::<5, 18>(window)]) << 5;
            if let Some(found) = of_lengths(table, window, bits, most) {
                return found;
            }
        }
        if most >= 3 {
            let bits = u32::from(self.three[spread::<3, 17>(window)]) << 3;
            if let Some(found) = of_lengths(table, window, bits, most) {
                return found;
            }
        }
        if most >= 2
            && let Some(token) = table.rank(window, 2)
        {
            return (token, 2);
        }
        (table.byte(window as u8), 1)
    }
}

/// Returns the longest token of the lengths whose bits are set, with its length.
#[inline]
fn of_lengths(table: &Table, window: u128, bits: u32, most: usize) -> Option<(u32, usize)> {
    let mut bits = bits & (u32::MAX >> (31 - most.min(31)));
    while bits != 0 {
        let length = bits.ilog2() as usize;
        if let Some(token) = table.rank(window, length) {
            return Some((token, length));
        }
        bits &= !(1 << length);
    }
    None
}

/// Returns a number whose lowest `count` bits are set, at least 1 and at most 128 bits.
fn ones(count: usize) -> u128 {
    u128::MAX >> (128 - count.clamp(1, 128))
}

/// Returns the place in a table with 2^`BITS` entries for the first `LENGTH` bytes of a window, at most eight.
#[inline]
fn spread<const LENGTH: usize, const BITS: u32>(window: u128) -> usize {
    let key = key::first8(window as u64, LENGTH).wrapping_mul(SPREAD);
    ((key ^ key << 29) >> (u64::BITS - BITS)) as usize
}

fn spread_long(window: u128) -> usize {
    (key::hash(window) >> (u64::BITS - 13)) as usize
}
