//! Advice on request: fields that cost tokens, and values that should not stand in a packet (draft
//! sections 9 and 15).

use std::fmt;

use crate::packet::Packet;

/// The kind of an advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// A list of fields. A receiver that has a list of its own needs none.
    FieldList,
    /// A pointer to data: it costs many tokens.
    Pointer,
    /// An e-mail address.
    EmailAddress,
    /// A card number: 13 to 19 digits with a valid check digit.
    CardNumber,
    /// A text that looks like a key or a password made by a machine.
    KeyLike,
}

impl Advice {
    /// Returns the code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FieldList => "field-list",
            Self::Pointer => "pointer",
            Self::EmailAddress => "email-address",
            Self::CardNumber => "card-number",
            Self::KeyLike => "key-like",
        }
    }
}

impl fmt::Display for Advice {
    /// Writes what is wrong and the cure; never a part of the packet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FieldList => {
                "a list of fields costs tokens; leave it out if the receiver has a list of its own"
            }
            Self::Pointer => {
                "a pointer costs many tokens; leave it out if the receiver knows where the data is"
            }
            Self::EmailAddress => {
                "this looks like an e-mail address; name the person by an id, and let the receiver \
                 look it up"
            }
            Self::CardNumber => "this looks like a card number; point to the account with data_ptr",
            Self::KeyLike => {
                "this looks like a key or a password; never put one in a packet, point to it with \
                 data_ptr"
            }
        })
    }
}

/// An advice with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The advice.
    pub advice: Advice,
    /// The index of the field: 2 is the first after the domain.
    pub field: usize,
    /// The byte in the packet at which the value begins, from 0.
    pub at: usize,
}

/// Returns the advice on a packet, in the order of its fields.
///
/// ```
/// use accp_aacp::{Advice, Packet, lint};
///
/// let packet = Packet::parse("SEND|HR|return:a|aacp:1.1|to:ann@example.com|fields:a,b")?;
/// let notes: Vec<Advice> = lint(&packet).iter().map(|note| note.advice).collect();
/// assert_eq!(notes, [Advice::EmailAddress, Advice::FieldList]);
/// # Ok::<(), accp_aacp::DecodeError>(())
/// ```
pub fn lint(packet: &Packet<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    for ((key, value), field) in packet.fields().iter().zip(2..) {
        let at = value.as_ptr().addr() - packet.text().as_ptr().addr();
        let mut note = |advice| notes.push(Note { advice, field, at });
        if *key == "fields" && !value.is_empty() {
            note(Advice::FieldList);
        }
        if !value.is_empty() && (*key == "data_ptr" || value.contains("://")) {
            note(Advice::Pointer);
        }
        if has_address(value) {
            note(Advice::EmailAddress);
        }
        if has_card_number(value) {
            note(Advice::CardNumber);
        }
        if has_key(value) || has_secret(&format!("{key}={value}")) {
            note(Advice::KeyLike);
        }
    }
    notes
}

/// Returns whether a text holds `name@host.domain`.
fn has_address(text: &str) -> bool {
    let name = |c: char| c.is_alphanumeric() || "._%+-".contains(c);
    let host = |c: char| c.is_alphanumeric() || ".-".contains(c);
    text.match_indices('@').any(|(at, _)| {
        let (before, after) = text.split_at(at);
        let after = after.get(1..).unwrap_or_default();
        let after = after.split(|c| !host(c)).next().unwrap_or_default();
        let domain = after.trim_end_matches('.').rsplit_once('.');
        before.chars().next_back().is_some_and(name)
            && domain.is_some_and(|(host, end)| !host.is_empty() && end.chars().count() > 1)
    })
}

/// Returns whether a text holds a number of 13 to 19 digits whose last digit is the check digit of the other digits
/// (Luhn). Spaces and hyphens may split the number into groups, and other groups may stand beside them.
fn has_card_number(text: &str) -> bool {
    let mut runs = text.split(|c: char| !c.is_ascii_digit() && !matches!(c, ' ' | '-'));
    runs.any(|run| {
        let groups = run.split([' ', '-']).filter(|group| !group.is_empty());
        let groups: Vec<&str> = groups.collect();
        (0..groups.len()).any(|from| {
            let mut digits = Vec::new();
            let mut from = groups.iter().skip(from);
            while digits.len() < 19
                && let Some(group) = from.next()
            {
                // 20 digits are enough to show that the number is too long for a card.
                let group = group.bytes().take(20);
                digits.extend(group.map(|digit| u32::from(digit - b'0')));
                if (13..=19).contains(&digits.len()) && is_checked(&digits) {
                    return true;
                }
            }
            false
        })
    })
}

fn is_checked(digits: &[u32]) -> bool {
    let places = digits.iter().rev().enumerate();
    let sum: u32 = places
        .map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => *digit,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != 0)
}

/// The prefixes of the keys of well-known issuers.
const PREFIXES: [&str; 17] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "AKIA",
    "AIza",
    "eyJ",
    "ya29.",
];
/// The least length of a key after one of the prefixes.
const AFTER_PREFIX: usize = 12;
/// Prefixes of keys that ordinary names have, too, such as `npm_audit` and `ASIA-PACIFIC`.
const SHORT_PREFIXES: [&str; 4] = ["ASIA", "hf_", "npm_", "pypi-"];
/// The number of letters and digits in a row that a key has after one of these prefixes.
const UNBROKEN: usize = 16;
/// The least length of a key that is recognised only by its mixture of characters.
const MIXED: usize = 24;

fn has_key(text: &str) -> bool {
    let of_a_key = |c: char| c.is_ascii_alphanumeric() || "_-+/=.".contains(c);
    let mut words = text.split(|c| !of_a_key(c));
    words.any(|word| {
        let is_known = word.split('=').any(begins_like_a_key);
        // In paths and names, marks separate the words. A key has one long run of characters.
        let mut runs = word.split(['_', '-', '/', '.', '=']);
        let is_mixed = |run: &str| {
            let has = |class: fn(&char) -> bool| run.chars().filter(class).count() >= 3;
            let hex = run.chars().all(|c| c.is_ascii_hexdigit());
            let digits = has(char::is_ascii_digit);
            let both = has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
            run.len() >= MIXED && digits && (both || hex && has(char::is_ascii_alphabetic))
        };
        is_known || runs.any(is_mixed)
    })
}

fn begins_like_a_key(word: &str) -> bool {
    let after = |prefixes: &[&str], most: &dyn Fn(&str) -> usize, least| {
        let mut rest = prefixes
            .iter()
            .filter_map(|prefix| word.strip_prefix(prefix));
        rest.any(|rest| most(rest) >= least)
    };
    let unbroken = |rest: &str| rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    after(&PREFIXES, &str::len, AFTER_PREFIX) || after(&SHORT_PREFIXES, &unbroken, UNBROKEN)
}

/// Names of secrets: the secret follows after a `=` or a `:`.
const NAMES: [&str; 8] = [
    "password", "passwd", "pwd", "secret", "token", "apikey", "api_key", "api-key",
];
/// The least length of a secret after its name.
const AFTER_NAME: usize = 6;
/// The least length of a token after `Bearer `.
const AFTER_BEARER: usize = 16;

/// Returns whether a text holds a secret: after a name such as `password=`, after `Bearer `, or in a block that begins
/// with `-----BEGIN`.
fn has_secret(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let is_named = NAMES.iter().any(|name| {
        lower.match_indices(name).any(|(at, _)| {
            let after = lower.get(at + name.len()..).unwrap_or_default();
            let value = after.strip_prefix(['=', ':']).unwrap_or_default();
            let of_value = |c: &char| !c.is_whitespace() && *c != ',';
            value.chars().take_while(of_value).count() >= AFTER_NAME
        })
    });
    let of_token = |c: &char| c.is_ascii_alphanumeric() || "-._~+/=".contains(*c);
    let mut tokens = text.split("Bearer ").skip(1);
    is_named
        || text.contains("-----BEGIN")
        || tokens.any(|rest| rest.chars().take_while(of_token).count() >= AFTER_BEARER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(value: &str) -> Vec<Advice> {
        let text = format!("SEND|HR|return:a|aacp:1.1|issue:{value}");
        let notes = lint(&Packet::parse(&text).unwrap());
        assert!(
            notes
                .iter()
                .all(|note| text[note.at..] == *value && note.field == 4)
        );
        notes.iter().map(|note| note.advice).collect()
    }

    #[test]
    fn what_looks_personal_or_secret_is_named() {
        for value in ["ann@example.com", "to ann.b@x.org, please", "é@ü.de"] {
            assert_eq!(advice(value), [Advice::EmailAddress], "{value}");
        }
        for value in [
            "4111 1111 1111 1111",
            "card:4111-1111-1111-1111",
            "378282246310005",
            "2024-08 4111 1111 1111 1111 net 30",
            "12 4111111111111111",
            "4111-1111-1111-1111 2024-08-31",
        ] {
            assert_eq!(advice(value), [Advice::CardNumber], "{value}");
        }
        for value in [
            "sk-abcdefghijklmnop",
            "AKIAIOSFODNN7EXAMPLE",
            "key=9f86d081884c7d659a2feaa0c55ad015",
            "Zm9vYmFyMTIzNDU2Nzg5QUJDREVG",
            "xoxp-abcdefghijkl",
            "xoxa-2-abcdefghijk",
            "gho_abcdefghijklmnop",
            "ghu_abcdefghijklmnop",
            "ghs_abcdefghijklmnop",
            "sk_test_abcdefghijklmnop",
            "rk_live_abcdefghijklmnop",
            "ASIAIOSFODNN7EXAMPLE",
            "id=ASIAIOSFODNN7EXAMPLE",
            "hf_abcdefghijklmnopqrstuvwxyz",
            "npm_abcdefghijklmnopqrstuvwxyz",
            "pypi-AgEIcHlwaS5vcmcCJDEy",
            "ya29.a0AfB_byCdefgh",
            "-----BEGIN PRIVATE KEY-----",
            "Authorization: Bearer abcdefghijklmnop",
            "password=hunter",
            "DB_PASSWORD:hunter",
            "for:x,passwd=hunter2",
            "pwd=hunter",
            "client_secret=abcdef",
            "token:abcdef",
            "apikey=abcdef",
            "API_KEY=abcdef",
            "api-key:abcdef",
        ] {
            assert_eq!(advice(value), [Advice::KeyLike], "{value}");
        }
    }

    #[test]
    fn ordinary_values_are_not() {
        for value in [
            "",
            "@",
            "a@b",
            "me@",
            "4111111111111112",
            "0000000000000000",
            "2024-08",
            "res:emp_salary,approved_budget,ytd_spend",
            "ip_rights_restriction_of_the_second_part",
            "payroll_2024_08_REVIEW_REQ",
            "net30",
            "41111111111111111111",
            "4111 1111 1111 1112 2024",
            "ASIA-PACIFIC-REGION-SALES",
            "ASIAPACIFICREGION",
            "npm_audit_of_the_second_quarter",
            "hf_quarterly_responsibilities",
            "pypi-package-index-report",
            "reset_password",
            "password=",
            "token=none",
            "tokens=1000000",
            "the secret: of success",
            "bearer responsibilities",
            "Bearer of bad news",
            "-----",
        ] {
            assert_eq!(advice(value), [], "{value}");
        }
    }
}
