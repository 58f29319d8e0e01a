//! The spelling of scalars on the wire: literals, keys, and the text form with its mark.
//!
//! The grammar (draft section 3.1) says which characters may stand where. This module gives their
//! meaning: one text is one value, and every value has one text. The reference parser, the scanner,
//! the writer and the derive macro all call it.
//!
//! ```
//! use accp_registry::lexical::{self, Literal};
//!
//! assert_eq!(Literal::classify("42"), Literal::Integer(42));
//! assert_eq!(Literal::classify("007"), Literal::String("007"));
//!
//! let mut wire = String::new();
//! lexical::write_text(&mut wire, "What are Q3 findings?");
//! assert_eq!(wire, "What_are_Q3_findings?");
//! assert_eq!(lexical::decode_text(&wire), "What are Q3 findings?");
//! ```

mod class;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec;
use core::fmt::{self, Write as _};

use self::class::{CLASS, PLAIN, SAFE, shared_classes};
pub use self::class::{
    DELIMITERS, ESCAPE, agent_run, is_agent_char, is_agent_id, is_delimiter, is_key, is_key_char,
    is_ref_char, is_ref_key, is_safe_char, safe_run,
};
use crate::decimal::{Decimal, DecimalError};

/// Begins a `string` or untyped value in the text form.
pub const MARK: u8 = b'"';
/// Begins the plain decimal spelling of a JSON number that no literal can hold.
pub const NUMBER_MARK: u8 = b'#';

/// The meaning of the wire text of one scalar, in a place without a declared type.
///
/// Only canonical spellings are typed, so `007`, `-0`, `1.10` and digits outside [`i64`] are
/// strings: every text is one value, and every value has one text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Literal<'a> {
    /// `true` or `false`.
    Boolean(bool),
    /// An integer without leading zeros, within [`i64`].
    Integer(i64),
    /// A decimal of 1 to 6 places without a trailing zero, except the zero in `1.0`.
    Decimal(Decimal),
    /// A number that no integer or decimal literal can hold. Its spelling follows `#`.
    Number(Number),
    /// A string that follows the mark `"`, still in the text form ([`decode_text`]).
    Text(&'a str),
    /// A raw string; its delimiters are still escaped ([`unescape`]).
    String(&'a str),
}

impl<'a> Literal<'a> {
    /// Classifies the wire text of one scalar. Every text has a class.
    pub fn classify(raw: &'a str) -> Self {
        let Some(&first) = raw.as_bytes().first() else {
            return Literal::String(raw);
        };
        match first {
            MARK => Literal::Text(&raw[1..]),
            NUMBER_MARK => Number::parse(&raw[1..]).map_or(Literal::String(raw), Literal::Number),
            b't' if raw == "true" => Literal::Boolean(true),
            b'f' if raw == "false" => Literal::Boolean(false),
            b'0'..=b'9' | b'-' => Self::classify_number(raw),
            _ => Literal::String(raw),
        }
    }

    fn classify_number(raw: &'a str) -> Self {
        if let Some(value) = canonical_integer(raw) {
            return Literal::Integer(value);
        }
        match Decimal::parse(raw) {
            Ok(value) if raw.contains('.') && value.is_spelt(raw) => Literal::Decimal(value),
            _ => Literal::String(raw),
        }
    }
}

/// ```abnf
/// integer = ["-"] 1*DIGIT   ; canonical: no leading zero, no "-0", within i64
/// ```
fn canonical_integer(raw: &str) -> Option<i64> {
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    let canonical = match digits.as_bytes() {
        [b'0'] => digits.len() == raw.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if canonical { raw.parse().ok() } else { None }
}

/// Reads an integer in a place where the schema declares one. Leading zeros are allowed. `None`
/// when the text is not `["-"] 1*DIGIT`, or outside [`i64`].
pub fn parse_integer(raw: &str) -> Option<i64> {
    // The standard library also accepts a plus sign, which is refused here.
    if raw.starts_with('+') {
        None
    } else {
        raw.parse().ok()
    }
}

/// A JSON number outside the literals. It is above [`i64`], or a float that has more than six
/// places, is negative zero, or has an integer part outside [`i64`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Number {
    /// An integer above [`i64::MAX`].
    Unsigned(u64),
    /// A finite float that is not a decimal literal.
    Float(f64),
}

impl Number {
    /// Reads the plain decimal spelling after `#`; only the canonical spelling counts.
    pub fn parse(spelling: &str) -> Option<Self> {
        let bytes = spelling.as_bytes();
        if !bytes.iter().all(|b| matches!(b, b'0'..=b'9' | b'-' | b'.')) {
            return None;
        }
        let number = match spelling.parse::<u64>() {
            Ok(value) if value > i64::MAX as u64 => Number::Unsigned(value),
            Ok(_) => return None,
            Err(_) => Number::Float(spelling.parse().ok().filter(|v: &f64| v.is_finite())?),
        };
        let mut canonical = String::new();
        number.write(&mut canonical);
        (canonical.as_bytes().first() == Some(&NUMBER_MARK) && &canonical[1..] == spelling)
            .then_some(number)
    }

    /// Appends the wire text: a decimal literal if one holds the float, otherwise `#` and the plain
    /// decimal spelling.
    pub fn write(self, out: &mut String) {
        match self {
            Number::Unsigned(value) => {
                if value > i64::MAX as u64 {
                    out.push(NUMBER_MARK as char);
                }
                push_display(out, value);
            }
            Number::Float(value) => write_float(out, value),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        f.write_str(text.strip_prefix('#').unwrap_or(&text))
    }
}

/// Appends a finite float: `1.0`, `3.14`, or `#40.7127753` when no literal can hold it.
///
/// A float that is not finite has no wire text, and callers refuse it first. For such a float this
/// function writes the string `NaN` or `inf`, with a mark, so that nothing reads it as another
/// value.
pub fn write_float(out: &mut String, value: f64) {
    let start = out.len();
    out.push(NUMBER_MARK as char);
    push_display(out, value);
    let spelling = &out[start + 1..];
    if !value.is_finite() {
        out.replace_range(start..=start, "\"");
        return;
    }
    if !spelling.contains('.') {
        // The point is needed only if the text would read as an integer.
        let integer = spelling.parse::<i64>().is_ok() || spelling.parse::<u64>().is_ok();
        if integer && spelling != "-0" {
            out.push_str(".0");
        }
    }
    if matches!(
        Literal::classify_number(&out[start + 1..]),
        Literal::Decimal(_)
    ) {
        out.remove(start);
    }
}

fn push_display(out: &mut String, value: impl fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}

/// Resolves the escapes of a raw string: `a\:b` is `a:b`. Borrows when there are no escapes.
pub fn unescape(raw: &str) -> Cow<'_, str> {
    if !raw.as_bytes().contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find(ESCAPE) {
        out.push_str(&rest[..at]);
        let mut tail = rest[at + 1..].chars();
        out.extend(tail.next());
        rest = tail.as_str();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Reads the raw text of a `string` field, with or without the mark. The text is always a string, even if it looks
/// like another type.
pub fn decode_string(raw: &str) -> Cow<'_, str> {
    match raw.as_bytes().first() {
        Some(&MARK) => decode_text(&raw[1..]),
        _ => unescape(raw),
    }
}

/// Reads the text form. Every text decodes.
///
/// `__` is an underscore, and `_` a space. A run of `%XX` that is UTF-8 decodes to its characters;
/// any other run stays as written. `%` alone is the empty text.
pub fn decode_text(raw: &str) -> Cow<'_, str> {
    if raw == "%" {
        return Cow::Borrowed("");
    }
    let is_special = |b: &u8| matches!(b, b'_' | b'%' | b'\\');
    let bytes = raw.as_bytes();
    let Some(first) = bytes.iter().position(is_special) else {
        return Cow::Borrowed(raw);
    };
    // No part of a text form is shorter than what it stands for, so `out` has room for all. Copying byte by byte is faster
    // than copying each of many short runs.
    let mut out = vec![0; bytes.len()];
    out[..first].copy_from_slice(&bytes[..first]);
    let (mut at, mut filled) = (first, first);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        out[filled] = match byte {
            b'_' if bytes.get(at) == Some(&b'_') => {
                at += 1;
                b'_'
            }
            b'_' => b' ',
            b'\\' => {
                let Some(&escaped) = bytes.get(at) else { break };
                at += 1;
                escaped
            }
            b'%' => {
                let start = at - 1;
                let mut end = start;
                let mut decoded = filled;
                while let Some(byte) = percent(&bytes[end..]) {
                    out[decoded] = byte;
                    decoded += 1;
                    end += 3;
                }
                if end == start {
                    b'%'
                } else {
                    if core::str::from_utf8(&out[filled..decoded]).is_err() {
                        decoded = filled + (end - start);
                        out[filled..decoded].copy_from_slice(&bytes[start..end]);
                    }
                    (at, filled) = (end, decoded);
                    continue;
                }
            }
            byte => byte,
        };
        filled += 1;
    }
    out.truncate(filled);
    // Each part is whole characters, so the bytes are UTF-8, and no byte is lost.
    let text = String::from_utf8(out);
    Cow::Owned(text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Returns the byte that `%XX` at the start of `bytes` encodes.
fn percent(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [b'%', high, low, ..] => Some(hex_digit(*high)? << 4 | hex_digit(*low)?),
        _ => None,
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|digit| digit as u8)
}

/// Returns whether the text form of `text` is `text` itself.
#[inline]
pub fn is_plain(text: &str) -> bool {
    !text.is_empty() && shared_classes(text) & PLAIN != 0
}

/// The number of bytes of a text form that are written at a time.
const BLOCK: usize = 256;
/// The most bytes that one byte of a text takes in its text form, as in `%0A`.
const LONGEST: usize = 3;

/// Appends the text form of `text`, the inverse of [`decode_text`].
pub fn write_text(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    if text.is_empty() {
        out.push('%');
        return;
    }
    // A text of many spaces and delimiters has many short runs. Copying blocks of bytes is faster than copying each run.
    let bytes = text.as_bytes();
    let (mut block, mut filled) = ([0; BLOCK], 0);
    for (at, &byte) in bytes.iter().enumerate() {
        if filled > BLOCK - LONGEST {
            push_ascii(out, &block[..filled]);
            filled = 0;
        }
        let mut push = |byte| {
            block[filled] = byte;
            filled += 1;
        };
        let is_spacing = |at: usize| matches!(bytes.get(at), Some(b' ' | b'_'));
        match byte {
            _ if CLASS[byte as usize] & PLAIN != 0 => push(byte),
            b'%' if !(bytes.len() == 1 || percent(&bytes[at..]).is_some()) => push(byte),
            b'_' => {
                push(b'_');
                push(b'_');
            }
            b' ' if !(is_spacing(at + 1) || at > 0 && is_spacing(at - 1)) => push(b'_'),
            _ if is_delimiter(byte) => {
                push(ESCAPE as u8);
                push(byte);
            }
            _ => {
                const HEX: [u8; 16] = *b"0123456789ABCDEF";
                push(b'%');
                push(HEX[usize::from(byte >> 4)]);
                push(HEX[usize::from(byte & 15)]);
            }
        }
    }
    push_ascii(out, &block[..filled]);
}

/// Appends bytes of a text form, which are always ASCII.
fn push_ascii(out: &mut String, bytes: &[u8]) {
    out.push_str(core::str::from_utf8(bytes).unwrap_or_default());
}

/// Appends a string in a place without a declared type. The string is written raw, or with a mark when the raw text
/// is empty, holds a character other than VCHAR, or would read as another value.
pub fn write_untyped(out: &mut String, text: &str) {
    write_marked(
        out,
        text,
        !matches!(Literal::classify(text), Literal::String(_)),
    );
}

/// Appends a string in a place where the schema declares `string`: as [`write_untyped`], but `42`
/// and `true` need no mark, because the reader knows that they are strings.
#[inline]
pub fn write_string(out: &mut String, text: &str) {
    if is_bare(text) {
        out.push_str(text);
    } else {
        write_marked(out, text, false);
    }
}

/// Returns whether a field of type `string` can hold a text as it is, without a mark and without escapes.
fn is_bare(text: &str) -> bool {
    !begins_with_mark(text) && shared_classes(text) & SAFE != 0
}

/// Returns whether a text is empty or begins with a mark. Such a text is written after a mark of its own.
#[inline]
fn begins_with_mark(text: &str) -> bool {
    matches!(text.as_bytes().first(), None | Some(&(MARK | NUMBER_MARK)))
}

fn write_marked(out: &mut String, text: &str, mark: bool) {
    let shared = shared_classes(text);
    if mark || begins_with_mark(text) || !is_printable(shared, text) {
        out.push(MARK as char);
        if !text.is_empty() {
            write_text(out, text);
        }
    } else if shared & SAFE != 0 {
        out.push_str(text);
    } else {
        write_escaped(out, text);
    }
}

/// Returns whether a text is entirely VCHAR, given the classes that its bytes share.
fn is_printable(shared: u8, text: &str) -> bool {
    shared & SAFE != 0 || text.bytes().all(|byte| CLASS[byte as usize] != 0)
}

/// Appends printable text with its delimiters escaped.
pub fn write_escaped(out: &mut String, text: &str) {
    let mut copied = 0;
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        if is_delimiter(byte) {
            out.push_str(&text[copied..at]);
            out.push(ESCAPE);
            copied = at;
        }
    }
    out.push_str(&text[copied..]);
}

/// Reads a decimal in a place where the schema declares one: `142` and `007.50` are accepted.
///
/// # Errors
/// When the text is not a decimal, has more than six places, or is out of range.
pub fn parse_decimal(raw: &str) -> Result<Decimal, DecimalError> {
    Decimal::parse(raw)
}

/// Reads a float in a place where the schema declares `number`: any literal, or the `#` spelling.
/// `None` when the text is not a number.
pub fn parse_number(raw: &str) -> Option<f64> {
    if let Some(spelling) = raw.strip_prefix('#') {
        return match Number::parse(spelling)? {
            Number::Unsigned(value) => Some(value as f64),
            Number::Float(value) => Some(value),
        };
    }
    let plain = raw.bytes().all(|b| matches!(b, b'0'..=b'9' | b'-' | b'.'));
    let (whole, fraction) = raw.split_once('.').unwrap_or((raw, "0"));
    if !plain || fraction.is_empty() || whole.trim_start_matches('-').is_empty() {
        return None;
    }
    raw.parse().ok().filter(|value: &f64| value.is_finite())
}
