//! The grammar of the texts of formatted types ([`crate::Format`]). Each function returns the expression that matches
//! the texts.

use alloc::string::String;

use super::grammar::{Expr, choice, class, literal, many, optional, repeat, sequence, some};
use super::tokens::{bytes, digits};
use crate::format::{Format, is_url_char};
use crate::lexical;
use crate::view;

/// How the characters of a text are written.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// In a place where no character is escaped.
    Plain,
    /// In a frame, where delimiters are escaped.
    Frame,
    /// In a view, without quotes.
    Bare,
}

/// Returns the texts of a format as they stand in a frame.
pub(super) fn wire(format: Format) -> Expr {
    // The empty text is written as the mark `"`.
    match format {
        Format::Bytes => choice([texts(format, Place::Frame), literal("\"")]),
        format => texts(format, Place::Frame),
    }
}

/// Returns the texts of a format.
pub(super) fn plain(format: Format) -> Expr {
    match format {
        Format::Bytes => optional(texts(format, Place::Plain)),
        format => texts(format, Place::Plain),
    }
}

/// Returns the texts of a format as they stand in a view without quotes.
pub(super) fn bare(format: Format) -> Expr {
    texts(format, Place::Bare)
}

/// Returns the texts of a format as they stand in a view, in quotes.
pub(super) fn quoted(format: Format) -> Expr {
    sequence([literal("\""), plain(format), literal("\"")])
}

/// Returns the texts of a format except the empty text.
fn texts(format: Format, place: Place) -> Expr {
    match format {
        Format::Date => date(),
        Format::Time => time(place),
        Format::Timestamp => sequence([date(), literal("T"), time(place)]),
        Format::Duration => duration(),
        Format::Uuid => uuid(),
        Format::Url => url(place),
        Format::Bytes => base64(place),
    }
}

/// Returns the character `mark`, with an escape where the place needs one.
fn mark(place: Place, mark: &str) -> Expr {
    match place {
        Place::Frame => {
            let mut escaped = String::new();
            lexical::write_escaped(&mut escaped, mark);
            literal(&escaped)
        }
        Place::Plain | Place::Bare => literal(mark),
    }
}

/// Returns one of these digits.
fn of(set: &'static str) -> Expr {
    bytes(|byte| set.as_bytes().contains(&byte))
}

/// Returns two digits, the first out of `tens`.
fn two(tens: &'static str) -> Expr {
    sequence([of(tens), digits(1, Some(1))])
}

fn date() -> Expr {
    let words = |words: &[&str]| choice(words.iter().map(|word| literal(word)));
    let ninth = || sequence([literal("0"), of("123456789")]);
    let in_all = || choice([ninth(), two("1"), sequence([literal("2"), of("012345678")])]);
    let in_most = || choice([ninth(), two("12"), literal("30")]);
    let in_some = choice([in_most(), literal("31")]);
    let year = || digits(4, Some(4));
    // Two digits, not `00`, whose number is divisible by four.
    let fourth = || {
        choice([
            sequence([literal("0"), of("48")]),
            sequence([of("2468"), of("048")]),
            sequence([of("13579"), of("26")]),
        ])
    };
    let leap = choice([
        sequence([digits(2, Some(2)), fourth()]),
        sequence([choice([fourth(), literal("00")]), literal("00")]),
    ]);
    let long = words(&["-01-", "-03-", "-05-", "-07-", "-08-", "-10-", "-12-"]);
    let short = words(&["-04-", "-06-", "-09-", "-11-"]);
    choice([
        sequence([year(), long, in_some]),
        sequence([year(), short, in_most()]),
        sequence([year(), literal("-02-"), in_all()]),
        sequence([leap, literal("-02-29")]),
    ])
}

fn time(place: Place) -> Expr {
    let hour = || choice([two("01"), sequence([literal("2"), of("0123")])]);
    let sixty = || two("012345");
    let colon = || mark(place, ":");
    let offset = sequence([of("+-"), hour(), colon(), sixty()]);
    sequence([
        hour(),
        colon(),
        sixty(),
        colon(),
        sixty(),
        optional(sequence([literal("."), digits(1, Some(9))])),
        choice([literal("Z"), offset]),
    ])
}

fn duration() -> Expr {
    let part = |unit: &str| sequence([digits(1, None), literal(unit)]);
    // Parts follow in the order of their units, and no unit between two parts may be missing.
    let run = |[first, second, third]: [&str; 3]| {
        let two = || sequence([part(second), optional(part(third))]);
        choice([sequence([part(first), optional(two())]), two(), part(third)])
    };
    let time = || sequence([literal("T"), run(["H", "M", "S"])]);
    let date = sequence([run(["Y", "M", "D"]), optional(time())]);
    sequence([literal("P"), choice([date, time(), part("W")])])
}

fn uuid() -> Expr {
    let hex = |count| repeat(of("0123456789abcdef"), count, Some(count));
    let hyphen = || literal("-");
    let four = || sequence([hex(4), hyphen()]);
    sequence([hex(8), hyphen(), four(), four(), four(), hex(12)])
}

fn url(place: Place) -> Expr {
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_plain = |byte: u8| match place {
        Place::Plain => is_url_char(byte),
        Place::Frame => is_url_char(byte) && !lexical::is_delimiter(byte),
        Place::Bare => is_url_char(byte) && !view::DELIMITERS.contains(&char::from(byte)),
    };
    let hex = || class(&[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')]);
    let mut units = alloc::vec![bytes(is_plain), sequence([literal("%"), hex(), hex()])];
    if place == Place::Frame {
        let is_escaped = |byte| is_url_char(byte) && lexical::is_delimiter(byte);
        units.push(sequence([literal("\\"), bytes(is_escaped)]));
    }
    sequence([
        bytes(|byte| byte.is_ascii_alphabetic()),
        many(bytes(is_scheme)),
        mark(place, ":"),
        some(choice(units)),
    ])
}

fn base64(place: Place) -> Expr {
    let digit = || bytes(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    // A text without quotes begins with a letter or a digit.
    let first = || match place {
        Place::Bare => bytes(|byte| byte.is_ascii_alphanumeric()),
        Place::Plain | Place::Frame => digit(),
    };
    let tail = |first: Expr| {
        choice([
            sequence([first.clone(), of("AQgw")]),
            sequence([first, digit(), of("AEIMQUYcgkosw048")]),
        ])
    };
    let four = |first: Expr| sequence([first, repeat(digit(), 3, Some(3))]);
    let whole = [four(first()), many(four(digit())), optional(tail(digit()))];
    choice([sequence(whole), tail(first())])
}
