//! Types whose values are texts in a fixed format: dates, times, identifiers, bytes.

use alloc::string::String;
use alloc::vec::Vec;

/// A type whose values are texts in a fixed format. Each value has exactly one text, so a reader never changes the
/// text.
///
/// ```
/// use accp_registry::Format;
///
/// assert!(Format::Date.holds("2028-02-29") && !Format::Date.holds("2027-02-29"));
/// assert!(Format::Timestamp.holds("2026-11-28T09:30:00.25+01:00"));
/// assert!(!Format::Uuid.holds("67E55044-10B1-426F-9247-BB680E5FE0C8"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// `date`: `YYYY-MM-DD`, a day of the calendar from year 0 to 9999 (RFC 3339 `full-date`).
    Date,
    /// `time`: `HH:MM:SS`, perhaps a fraction of up to nine places, and `Z` or the offset `+HH:MM` (RFC 3339 `full-time`).
    /// It has no leap second.
    Time,
    /// `timestamp`: a date, `T` and a time (RFC 3339 `date-time`).
    Timestamp,
    /// `duration`: `P1Y2M3DT4H5M6S` or `P3W`, with no unit missing between the first and the last (RFC 3339, appendix
    /// A).
    Duration,
    /// `uuid`: 32 hexadecimal digits in lower case, with four hyphens (RFC 9562).
    Uuid,
    /// `url`: an absolute URI, with a scheme, in ASCII (RFC 3986).
    Url,
    /// `bytes`: base64 without padding (RFC 4648, section 4).
    Bytes,
}

/// The number of days of each month of a year that is not a leap year.
const DAYS: [u8; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Date,
        Self::Time,
        Self::Timestamp,
        Self::Duration,
        Self::Uuid,
        Self::Url,
        Self::Bytes,
    ];

    /// Returns the word of the type in a registry.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::Time => "time",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::Uuid => "uuid",
            Self::Url => "url",
            Self::Bytes => "bytes",
        }
    }

    /// Returns the type with this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.word() == word)
    }

    /// Returns a description of the values, for people: `a date as YYYY-MM-DD`.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Date => "a date as YYYY-MM-DD",
            Self::Time => "a time as HH:MM:SS with Z or an offset, such as 09:30:00Z",
            Self::Timestamp => "a time of RFC 3339, such as 2026-11-28T09:30:00Z",
            Self::Duration => "a duration of ISO 8601, such as P1DT12H",
            Self::Uuid => "a UUID, in small letters and with its hyphens",
            Self::Url => {
                "an absolute URL of RFC 3986, with %XX for other characters, such as https://example.org/"
            }
            Self::Bytes => "base64 without padding",
        }
    }

    /// Returns an example of a value, for people and models.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Date => "2026-11-28",
            Self::Time => "09:30:00Z",
            Self::Timestamp => "2026-11-28T09:30:00Z",
            Self::Duration => "P1DT12H",
            Self::Uuid => "67e55044-10b1-426f-9247-bb680e5fe0c8",
            Self::Url => "https://example.org/",
            Self::Bytes => "AAEC",
        }
    }

    /// Returns the name that JSON Schema has for this format (`format`); `None` for bytes, which have a
    /// `contentEncoding`.
    pub const fn json_schema(self) -> Option<&'static str> {
        match self {
            Self::Date => Some("date"),
            Self::Time => Some("time"),
            Self::Timestamp => Some("date-time"),
            Self::Duration => Some("duration"),
            Self::Uuid => Some("uuid"),
            Self::Url => Some("uri"),
            Self::Bytes => None,
        }
    }

    /// Returns whether a text is a value. The text is without escapes.
    pub fn holds(self, text: &str) -> bool {
        match self {
            Self::Date => is_date(text.as_bytes()),
            Self::Time => is_time(text.as_bytes()),
            Self::Timestamp => text
                .split_once('T')
                .is_some_and(|(date, time)| is_date(date.as_bytes()) && is_time(time.as_bytes())),
            Self::Duration => is_duration(text),
            Self::Uuid => is_uuid(text.as_bytes()),
            Self::Url => is_url(text),
            Self::Bytes => is_base64(text.as_bytes()),
        }
    }
}

/// Returns the number that two digits mean.
fn two(digits: &[u8]) -> Option<u8> {
    match digits {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => Some((tens - b'0') * 10 + (ones - b'0')),
        _ => None,
    }
}

/// ```abnf
/// full-date = 4DIGIT "-" 2DIGIT "-" 2DIGIT   ; a day of its month
/// ```
fn is_date(text: &[u8]) -> bool {
    let [c1, c0, y1, y0, b'-', m1, m0, b'-', d1, d0] = *text else {
        return false;
    };
    let parts = (
        two(&[c1, c0]),
        two(&[y1, y0]),
        two(&[m1, m0]),
        two(&[d1, d0]),
    );
    let (Some(century), Some(year), Some(month @ 1..=12), Some(day @ 1..)) = parts else {
        return false;
    };
    let counted = if year == 0 { century } else { year };
    let is_leap = counted.is_multiple_of(4);
    day <= DAYS[usize::from(month - 1)] + u8::from(month == 2 && is_leap)
}

/// ```abnf
/// full-time = 2DIGIT ":" 2DIGIT ":" 2DIGIT ["." 1*9DIGIT] ("Z" / ("+" / "-") 2DIGIT ":" 2DIGIT)
/// ```
fn is_time(text: &[u8]) -> bool {
    let is_below = |digits: &[u8], limit: u8| two(digits).is_some_and(|number| number < limit);
    let is_clock = |hour: &[u8], minute: &[u8]| is_below(hour, 24) && is_below(minute, 60);
    let [h1, h0, b':', m1, m0, b':', s1, s0, rest @ ..] = text else {
        return false;
    };
    if !is_clock(&[*h1, *h0], &[*m1, *m0]) || !is_below(&[*s1, *s0], 60) {
        return false;
    }
    let zone = match rest {
        [b'.', rest @ ..] => {
            let places = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&places) {
                return false;
            }
            &rest[places..]
        }
        rest => rest,
    };
    match zone {
        [b'Z'] => true,
        [b'+' | b'-', h1, h0, b':', m1, m0] => is_clock(&[*h1, *h0], &[*m1, *m0]),
        _ => false,
    }
}

/// ```abnf
/// duration  = "P" (dur-date / dur-time / dur-week)
/// dur-date  = (dur-day / dur-month / dur-year) [dur-time]
/// dur-time  = "T" (dur-hour / dur-minute / dur-second)
/// dur-year  = 1*DIGIT "Y" [dur-month]     ; and so on
/// ```
fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else {
        return false;
    };
    let (date, time) = match rest.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (rest, None),
    };
    if time.is_none() && is_run(date, "W") {
        return true;
    }
    let is_date = is_run(date, "YMD");
    match time {
        Some(time) => (is_date || date.is_empty()) && is_run(time, "HMS"),
        None => is_date,
    }
}

/// Returns whether a text has parts of these units, one after the other without a gap: `1Y2M`, `2M3D`, but not `1Y3D`.
fn is_run(text: &str, units: &str) -> bool {
    let mut parts = text.split_inclusive(|c: char| !c.is_ascii_digit());
    let mut units = units.chars();
    let Some(first) = parts.next().and_then(unit) else {
        return false;
    };
    units.any(|unit| unit == first)
        && parts.all(|part| unit(part).is_some_and(|unit| units.next() == Some(unit)))
}

/// Returns the unit of a part such as `12Y`; `None` if the digits or the unit are missing.
fn unit(part: &str) -> Option<char> {
    let unit = part.chars().next_back().filter(char::is_ascii_uppercase)?;
    (part.len() > 1).then_some(unit)
}

/// ```abnf
/// UUID = 8hex "-" 4hex "-" 4hex "-" 4hex "-" 12hex
/// ```
fn is_uuid(text: &[u8]) -> bool {
    let is_one = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    text.len() == 36 && text.iter().enumerate().all(is_one)
}

/// Returns whether a byte may stand in a URI, besides `%XX`.
pub(crate) fn is_url_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&byte)
}

/// ```abnf
/// URI    = scheme ":" 1*(unreserved / gen-delims / sub-delims / pct-encoded)
/// scheme = ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )
/// ```
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let mut rest = rest.as_bytes();
    if rest.is_empty()
        || !scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        || !scheme.bytes().all(is_scheme)
    {
        return false;
    }
    loop {
        rest = match rest {
            [] => return true,
            [b'%', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                rest
            }
            [byte, rest @ ..] if is_url_char(*byte) => rest,
            _ => return false,
        };
    }
}

/// The digits of base64 (RFC 4648, section 4).
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

fn is_base64(text: &[u8]) -> bool {
    // Some bits of the last digit may belong to no byte. They must be zero, so that the same bytes always have the
    // same text.
    let unused = match text.len() % 4 {
        0 => 0,
        2 => 0b1111,
        3 => 0b11,
        _ => return false,
    };
    let last = text.last().and_then(|byte| digit(*byte));
    text.iter().all(|byte| digit(*byte).is_some()) && last.is_none_or(|last| last & unused == 0)
}

/// Returns bytes as base64 without padding (RFC 4648, section 4).
///
/// ```
/// assert_eq!(accp_registry::to_base64(b"hi"), "aGk");
/// assert_eq!(accp_registry::from_base64("aGk"), Some(b"hi".to_vec()));
/// assert_eq!(accp_registry::from_base64("aGl"), None); // bits that belong to no byte
/// ```
pub fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..=chunk.len() {
            let digit = bits >> (18 - 6 * at) & 63;
            out.push(char::from(DIGITS[digit as usize]));
        }
    }
    out
}

/// Returns the bytes of base64 without padding; `None` unless the text is what [`to_base64`] writes.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    if !is_base64(text.as_bytes()) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0;
        for at in 0..4 {
            let digit = chunk.get(at).and_then(|byte| digit(*byte));
            bits = bits << 6 | u32::from(digit.unwrap_or_default());
        }
        let bytes = bits.to_be_bytes();
        out.extend_from_slice(&bytes[1..chunk.len()]);
    }
    Some(out)
}
