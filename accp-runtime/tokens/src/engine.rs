//! Cuts a text into pieces, and the pieces into tokens.

mod class;
mod cut;
mod key;
mod memo;
mod merge;
mod quick;
mod split;
mod table;
mod unicode;

use std::sync::OnceLock;

pub(crate) use cut::last_cut;
use memo::Memo;
use merge::Merges;
use table::Table;

/// An encoding: its table of tokens, and the pattern that cuts texts into pieces.
pub(crate) struct Encoding {
    pub(crate) name: &'static str,
    table: Table,
    /// Whether words have capitals at their beginning only.
    cased: bool,
    merges: OnceLock<Merges>,
    memo: &'static Memo,
}

// The memos are not inside the statics of the encodings: a static of only zeros takes no room in the binary.
static O200K_MEMO: Memo = Memo::new();
static CL100K_MEMO: Memo = Memo::new();

pub(crate) static O200K_BASE: Encoding = Encoding {
    name: "o200k_base",
    table: Table::new(include_bytes!("../tables/o200k_base.bin")),
    cased: true,
    merges: OnceLock::new(),
    memo: &O200K_MEMO,
};

pub(crate) static CL100K_BASE: Encoding = Encoding {
    name: "cl100k_base",
    table: Table::new(include_bytes!("../tables/cl100k_base.bin")),
    cased: false,
    merges: OnceLock::new(),
    memo: &CL100K_MEMO,
};

impl Encoding {
    /// Builds the indexes for pieces that are not tokens, unless they exist already.
    pub(crate) fn load(&self) {
        self.merges();
    }

    /// Counts the tokens of a text. If there are more than `limit`, it stops early and returns some number above
    /// `limit`.
    pub(crate) fn count(&self, text: &str, limit: usize) -> usize {
        // No token is longer than `LONGEST`, so the length alone shows that a very long text is above the limit.
        if text.len().div_ceil(table::LONGEST) > limit {
            return limit + 1;
        }
        if self.cased {
            self.count_pieces::<true>(text.as_bytes(), limit)
        } else {
            self.count_pieces::<false>(text.as_bytes(), limit)
        }
    }

    fn count_pieces<const CASED: bool>(&self, text: &[u8], limit: usize) -> usize {
        let mut count = 0;
        let mut at = 0;
        while at < text.len() && count <= limit {
            let window = key::window(text, at);
            let length = quick::piece_end::<CASED>(text, at, window) - at;
            count += match length {
                1 => 1,
                2..=3 if quick::is_number(window, length) => 1,
                2..=8 => {
                    let slot = Memo::slot(key::first8(window as u64, length), length);
                    if let Some(count) = self.memo.get(slot) {
                        count
                    } else {
                        let count = self.count_long(text, at, length, limit);
                        self.memo.keep(slot, count);
                        count
                    }
                }
                _ => self.count_long(text, at, length, limit),
            };
            at += length;
        }
        count
    }

    #[inline(never)]
    fn count_long(&self, text: &[u8], at: usize, length: usize, limit: usize) -> usize {
        match self.table.rank_of(text, at, at + length) {
            Some(_) => 1,
            None => self.count_merged(text, at, length, limit),
        }
    }

    #[inline(never)]
    fn count_merged(&self, text: &[u8], at: usize, length: usize, limit: usize) -> usize {
        let mut count = 0;
        let piece = &text[at..at + length];
        self.merges().walk(&self.table, piece, |_, tokens| {
            count += tokens.len();
            count <= limit
        });
        count
    }

    fn merges(&self) -> &Merges {
        self.merges.get_or_init(|| Merges::new(&self.table))
    }

    /// Calls `tell` with each token of a text, and the byte at which the token ends.
    fn each(&self, text: &[u8], mut tell: impl FnMut(u32, usize)) {
        let mut at = 0;
        while at < text.len() {
            let window = key::window(text, at);
            let end = if self.cased {
                quick::piece_end::<true>(text, at, window)
            } else {
                quick::piece_end::<false>(text, at, window)
            };
            if let Some(token) = self.table.rank_of(text, at, end) {
                tell(token, end);
            } else {
                self.merges()
                    .walk(&self.table, &text[at..end], |start, tokens| {
                        for &(token, end) in tokens {
                            tell(token, at + start + end as usize);
                        }
                        true
                    });
            }
            at = end;
        }
    }

    /// Returns the byte at which each token of a text ends.
    pub(crate) fn ends(&self, text: &str) -> Vec<usize> {
        let mut ends = Vec::new();
        self.each(text.as_bytes(), |_, end| ends.push(end));
        ends
    }

    /// Returns the tokens of a text.
    pub(crate) fn tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        self.each(text.as_bytes(), |token, _| tokens.push(token));
        tokens
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn up_to_three_digits_are_a_token() {
        for encoding in [&O200K_BASE, &CL100K_BASE] {
            for number in 0..1000 {
                for text in [
                    format!("{number}"),
                    format!("{number:02}"),
                    format!("{number:03}"),
                ] {
                    let rank = encoding.table.rank_of(text.as_bytes(), 0, text.len());
                    assert!(rank.is_some(), "{text}");
                }
            }
        }
    }

    /// A lookup finds every token of the table by its bytes, and the bytes of each token are those of its two parts.
    #[test]
    fn tables_hold_all_tokens_and_their_parts() {
        for encoding in [&O200K_BASE, &CL100K_BASE] {
            let table = &encoding.table;
            let lengths = 1..=table::LONGEST;
            let tokens: BTreeMap<_, _> = lengths.flat_map(|length| table.tokens(length)).collect();
            assert_eq!(tokens.len(), table.count());
            for (token, bytes) in &tokens {
                let (first, second) = table.parts(*token);
                if bytes.len() == 1 {
                    assert_eq!((first, second), (*token, *token));
                } else {
                    let joined = [tokens[&first], tokens[&second]].concat();
                    assert_eq!(joined, *bytes, "{token}");
                }
            }
        }
    }

    #[test]
    fn the_quick_way_cuts_where_the_patterns_do() {
        let letters = ["a", "B", " ", "'", "s", "7", "\n", "!", "é", "/", "\t"];
        for number in 0..letters.len().pow(5) {
            let mut rest = number;
            let text: String = (0..5)
                .map(|_| {
                    let letter = letters[rest % letters.len()];
                    rest /= letters.len();
                    letter
                })
                .collect();
            let text = text.as_bytes();
            let window = key::window(text, 0);
            assert_eq!(
                quick::piece_end::<true>(text, 0, window),
                split::piece_end::<true>(text, 0)
            );
            assert_eq!(
                quick::piece_end::<false>(text, 0, window),
                split::piece_end::<false>(text, 0)
            );
        }
    }
}
