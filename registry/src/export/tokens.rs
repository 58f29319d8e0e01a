//! What a scalar looks like: [`crate::lexical`] as expressions.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::grammar::{Expr, choice, class, literal, many, optional, repeat, sequence, some};
use crate::{EnumValue, lexical};

const DIGIT: (u8, u8) = (b'0', b'9');

/// Ranges of the bytes that `is` holds for.
fn ranges(is: impl Fn(u8) -> bool) -> Vec<(u8, u8)> {
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for byte in (0x21..=0x7e).filter(|byte| is(*byte)) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == byte => *last = byte,
            _ => ranges.push((byte, byte)),
        }
    }
    ranges
}

fn bytes(is: impl Fn(u8) -> bool) -> Expr {
    Expr::Class(ranges(is))
}

/// `escaped-char`
fn escaped() -> Expr {
    sequence([literal("\\"), bytes(lexical::is_delimiter)])
}

/// One character of a string but those of `without`; all escaped ones are of it.
fn unit(without: &str) -> Expr {
    let is = |byte: u8| lexical::is_safe_char(byte) && !without.as_bytes().contains(&byte);
    choice([bytes(is), escaped()])
}

/// Any scalar: every text of a `string`, a `text`, or where no type is declared.
pub(super) fn scalar() -> Expr {
    some(unit(""))
}

pub(super) fn agent() -> Expr {
    some(bytes(lexical::is_agent_char))
}

pub(super) fn reference() -> Expr {
    sequence([literal("$"), reference_key()])
}

/// What a reference names.
pub(super) fn reference_key() -> Expr {
    some(bytes(lexical::is_ref_char))
}

/// A key of data and its colon.
pub(super) fn key() -> Expr {
    sequence([some(bytes(lexical::is_key_char)), literal(":")])
}

/// A key of data but `_`, and its colon.
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

/// What is written of a value of an enumeration.
pub(super) fn enum_value(value: &EnumValue) -> Expr {
    let mut wire = String::new();
    lexical::write_string(&mut wire, value.wire());
    literal(&wire)
}

/// Any [`i64`], without leading zeros.
pub(super) fn integer() -> Expr {
    choice([
        sequence([optional(literal("-")), natural()]),
        literal(&i64::MIN.to_string()),
    ])
}

/// An [`i64`] from 0, without leading zeros.
pub(super) fn natural() -> Expr {
    choice([
        literal("0"),
        sequence([class(&[(b'1', b'9')]), digits(0, Some(17))]),
        bounded(&i64::MAX.to_string(), Side::To),
    ])
}

/// A decimal of at most six places; a whole number is one too.
pub(super) fn decimal() -> Expr {
    sequence([
        integer(),
        optional(sequence([literal("."), digits(1, Some(6))])),
    ])
}

/// A number that a field of this type reads: plain, or marked as where no type is declared.
/// Of the marked ones only those of up to 15 digits: such a spelling is the shortest of the
/// float that it means, which is what makes it one.
pub(super) fn number() -> Expr {
    const SHORTEST: u32 = 15;
    const PLACES: u32 = 7;
    let nonzero = || class(&[(b'1', b'9')]);
    let plain = sequence([
        digits(1, Some(19)),
        optional(sequence([literal("."), digits(1, None)])),
    ]);
    let mut marked = Vec::new();
    for zeros in 0..PLACES - 1 {
        marked.push(sequence([
            literal(&format!("0.{}", "0".repeat(zeros as usize))),
            nonzero(),
            digits(PLACES - 2 - zeros, Some(SHORTEST - 2)),
            nonzero(),
        ]));
    }
    // 290 zeros and 15 digits are still far from the floats that have fewer digits.
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
    let sign = || optional(literal("-"));
    choice([
        sequence([sign(), plain]),
        sequence([literal("#"), sign(), choice(marked)]),
        literal("#-0"),
    ])
}

/// The key of a pair: a scalar that reads as a string where no type is declared, so neither
/// a boolean nor a number in its canonical spelling, which is another value.
pub(super) fn pair_key() -> Expr {
    let digit = || class(&[DIGIT]);
    let rest = || many(unit(""));
    // After a number has begun: the character that makes it none.
    let other = || unit(".0123456789");
    let fraction = || optional(sequence([literal("."), digits(0, None)]));
    let minus = || optional(literal("-"));
    let beyond = |limit: &str| {
        let longer = sequence([class(&[(b'1', b'9')]), digits(19, None)]);
        choice([longer, bounded(limit, Side::Beyond)])
    };
    choice([
        sequence([unit("\"#-0123456789tf"), rest()]),
        sequence([literal("\""), rest()]),
        not_word("true"),
        not_word("false"),
        // Begins as a number and goes on as none.
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
        // Parts are missing.
        sequence([literal("-"), fraction()]),
        sequence([minus(), digits(1, None), literal(".")]),
        // Zeros too many, negative zero, places too many.
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
        // Out of range.
        sequence([beyond(&i64::MAX.to_string()), fraction()]),
        sequence([
            literal("-"),
            beyond(&i64::MIN.unsigned_abs().to_string()),
            fraction(),
        ]),
    ])
}

fn digits(min: u32, max: Option<u32>) -> Expr {
    repeat(class(&[DIGIT]), min, max)
}

#[derive(Clone, Copy)]
enum Side {
    /// The limit and what is below it.
    To,
    /// What is above the limit.
    Beyond,
}

/// The numbers of as many digits as `limit`, without a leading zero, on one side of it.
fn bounded(limit: &str, side: Side) -> Expr {
    let mut options = Vec::new();
    for (at, digit) in limit.bytes().enumerate() {
        let least = if at == 0 { b'1' } else { b'0' };
        let is_last = at + 1 == limit.len();
        let range = match side {
            Side::To if is_last => (least, digit),
            Side::To => (least, digit - 1),
            Side::Beyond => (digit + 1, b'9'),
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

/// The scalars that begin as the word does and are not the word.
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
            // Here the word ends, and the text does not.
            sequence([literal(next), tail])
        } else {
            sequence([literal(next), optional(tail)])
        };
        tail = choice([sequence([unit(next), rest()]), after]);
    }
    sequence([literal(&word[..1]), optional(tail)])
}
