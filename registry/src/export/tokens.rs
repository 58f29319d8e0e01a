//! The grammar of scalars, as [`crate::lexical`] spells them. Each function returns the expression that matches the
//! spelling.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::grammar::{Expr, choice, class, literal, many, optional, repeat, sequence, some};
use crate::lexical;
use crate::types::EnumValue;

const DIGIT: (u8, u8) = (b'0', b'9');

/// Returns a class of the characters for which `is` holds.
pub(super) fn chars(all: impl Iterator<Item = char>, is: impl Fn(char) -> bool) -> Expr {
    let mut ranges: Vec<(char, char)> = Vec::new();
    for next in all.filter(|c| is(*c)) {
        match ranges.last_mut() {
            Some((_, last)) if u32::from(*last) + 1 == u32::from(next) => *last = next,
            _ => ranges.push((next, next)),
        }
    }
    Expr::Class(ranges)
}

/// Returns a class of printable characters of ASCII.
pub(super) fn bytes(is: impl Fn(u8) -> bool) -> Expr {
    chars('!'..='~', |c| is(c as u8))
}

/// Returns `escaped-char`.
fn escaped() -> Expr {
    sequence([literal("\\"), bytes(lexical::is_delimiter)])
}

/// Returns one character of a string, except those of `without`; every escaped character is
/// allowed.
fn unit(without: &str) -> Expr {
    let is = |byte: u8| lexical::is_safe_char(byte) && !without.as_bytes().contains(&byte);
    choice([bytes(is), escaped()])
}

/// Returns any scalar: every text of a `string`, a `text`, or a place without a declared type.
pub(super) fn scalar() -> Expr {
    some(unit(""))
}

pub(super) fn agent() -> Expr {
    some(bytes(lexical::is_agent_char))
}

pub(super) fn reference() -> Expr {
    sequence([literal("$"), reference_key()])
}

/// Returns the key of a reference.
pub(super) fn reference_key() -> Expr {
    some(bytes(lexical::is_ref_char))
}

/// Returns a key of data and its colon.
pub(super) fn key() -> Expr {
    sequence([some(bytes(lexical::is_key_char)), literal(":")])
}

/// Returns a key of data other than `_`, and its colon.
pub(super) fn name() -> Expr {
    let word = || many(bytes(lexical::is_key_char));
    let first = bytes(|byte| byte.is_ascii_alphanumeric());
    choice([
        sequence([first, word(), literal(":")]),
        sequence([
            literal("_"),
            some(bytes(lexical::is_key_char)),
            literal(":"),
        ]),
    ])
}

/// Returns the written form of a value of an enumeration.
pub(super) fn enum_value(value: &EnumValue) -> Expr {
    let mut wire = String::new();
    lexical::write_string(&mut wire, value.wire());
    literal(&wire)
}

/// Returns any [`i64`], without leading zeros.
pub(super) fn integer() -> Expr {
    choice([
        sequence([optional(literal("-")), natural()]),
        literal(&i64::MIN.to_string()),
    ])
}

/// Returns an [`i64`] from 0, without leading zeros.
pub(super) fn natural() -> Expr {
    choice([literal("0"), positive()])
}

/// Returns an [`i64`] from 1, without leading zeros.
pub(super) fn positive() -> Expr {
    choice([
        sequence([class(&[(b'1', b'9')]), digits(0, Some(17))]),
        bounded(&i64::MAX.to_string(), Bound::UpTo),
    ])
}

/// Returns a decimal of at most six places; a whole number is allowed too.
pub(super) fn decimal() -> Expr {
    sequence([
        integer(),
        optional(sequence([literal("."), digits(1, Some(6))])),
    ])
}

/// Returns a number as a field of type `number` reads it: without a mark, or with the mark `#` as in a place without
/// a declared type. Marked numbers have at most 15 digits: such a spelling is always the shortest of its float, and
/// only the shortest is valid.
pub(super) fn number() -> Expr {
    let plain = sequence([
        optional(literal("-")),
        digits(1, Some(19)),
        optional(sequence([literal("."), digits(1, None)])),
    ]);
    choice([plain, marked()])
}

/// Returns a number with the mark `#`.
pub(super) fn marked() -> Expr {
    const SHORTEST: u32 = 15;
    const PLACES: u32 = 7;
    let nonzero = || class(&[(b'1', b'9')]);
    let mut marked = Vec::new();
    for zeros in 0..PLACES - 1 {
        marked.push(sequence([
            literal(&format!("0.{}", "0".repeat(zeros as usize))),
            nonzero(),
            digits(PLACES - 2 - zeros, Some(SHORTEST - 2)),
            nonzero(),
        ]));
    }
    // Very small floats hold fewer than 15 digits. A number with 290 zeros before its digits is still far larger than
    // those.
    marked.push(sequence([
        literal("0."),
        repeat(literal("0"), PLACES - 1, Some(290)),
        nonzero(),
        optional(sequence([digits(0, Some(SHORTEST - 2)), nonzero()])),
    ]));
    for whole in 1..=SHORTEST - PLACES {
        marked.push(sequence([
            nonzero(),
            digits(whole - 1, Some(whole - 1)),
            literal("."),
            digits(PLACES - 1, Some(SHORTEST - whole - 1)),
            nonzero(),
        ]));
    }
    let sign = optional(literal("-"));
    choice([
        sequence([literal("#"), sign, choice(marked)]),
        literal("#-0"),
    ])
}

/// Returns the key of a pair: a scalar that reads as a string in a place without a declared type.
/// So the key is neither a boolean nor a number in its canonical spelling, because these are other
/// values.
pub(super) fn pair_key() -> Expr {
    let digit = || class(&[DIGIT]);
    let rest = || many(unit(""));
    // This character follows the beginning of a number, and makes the text a string.
    let other = || unit(".0123456789");
    let fraction = || optional(sequence([literal("."), digits(0, None)]));
    let minus = || optional(literal("-"));
    let beyond = |limit: &str| {
        let longer = sequence([class(&[(b'1', b'9')]), digits(19, None)]);
        choice([longer, bounded(limit, Bound::Above)])
    };
    choice([
        sequence([unit("\"#-0123456789tf"), rest()]),
        sequence([literal("\""), rest()]),
        not_word("true"),
        not_word("false"),
        // Texts that begin as a number and continue as a string.
        sequence([
            choice([sequence([literal("-"), digits(0, None)]), digits(1, None)]),
            choice([
                sequence([other(), rest()]),
                sequence([
                    literal("."),
                    digits(0, None),
                    choice([other(), literal(".")]),
                    rest(),
                ]),
            ]),
        ]),
        // Numbers with missing parts.
        sequence([literal("-"), fraction()]),
        sequence([minus(), digits(1, None), literal(".")]),
        // Too many zeros, negative zero, too many places.
        sequence([minus(), literal("0"), digits(1, None), fraction()]),
        choice([literal("-0"), literal("-0.0")]),
        sequence([
            minus(),
            digits(1, None),
            literal("."),
            digits(1, None),
            literal("0"),
        ]),
        sequence([
            minus(),
            digits(1, None),
            literal("."),
            repeat(digit(), 7, None),
        ]),
        // Numbers out of range.
        sequence([beyond(&i64::MAX.to_string()), fraction()]),
        sequence([
            literal("-"),
            beyond(&i64::MIN.unsigned_abs().to_string()),
            fraction(),
        ]),
    ])
}

pub(super) fn digits(min: u32, max: Option<u32>) -> Expr {
    repeat(class(&[DIGIT]), min, max)
}

#[derive(Clone, Copy)]
enum Bound {
    /// The limit and the numbers below it.
    UpTo,
    /// The numbers above the limit.
    Above,
}

/// Returns the numbers that have the same number of digits as `limit`, without a leading zero: those up to `limit`,
/// or those above it.
fn bounded(limit: &str, bound: Bound) -> Expr {
    let mut options = Vec::new();
    for (at, digit) in limit.bytes().enumerate() {
        let least = if at == 0 { b'1' } else { b'0' };
        let is_last = at + 1 == limit.len();
        let range = match bound {
            Bound::UpTo if is_last => (least, digit),
            Bound::UpTo => (least, digit - 1),
            Bound::Above => (digit + 1, b'9'),
        };
        if range.0 <= range.1 {
            let left = (limit.len() - at - 1) as u32;
            let mut parts = Vec::new();
            if at > 0 {
                parts.push(literal(&limit[..at]));
            }
            parts.push(class(&[range]));
            if left > 0 {
                parts.push(digits(left, Some(left)));
            }
            options.push(sequence(parts));
        }
    }
    choice(options)
}

/// Returns the scalars that begin with the first character of the word, except the word itself.
fn not_word(word: &str) -> Expr {
    let rest = || many(unit(""));
    let mut tail = some(unit(""));
    for (at, _) in word
        .char_indices()
        .skip(1)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        let next = &word[at..=at];
        let after = if at + 1 == word.len() {
            // The word ends here, but the text continues.
            sequence([literal(next), tail])
        } else {
            sequence([literal(next), optional(tail)])
        };
        tail = choice([sequence([unit(next), rest()]), after]);
    }
    sequence([literal(&word[..1]), optional(tail)])
}
