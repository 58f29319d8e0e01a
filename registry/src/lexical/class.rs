//! The classes of bytes in a frame.

/// The characters that separate the parts of a frame.
///
/// ```abnf
/// delimiter = "@" / ">" / ":" / "{" / "}" / "[" / "]" / "|" / "$" / "," / "~" / "\"
/// ```
pub const DELIMITERS: &str = r"@>:{}[]|$,~\";
/// Escapes a delimiter inside a value.
pub const ESCAPE: char = '\\';

/// Returns whether a byte is one of [`DELIMITERS`].
#[inline]
pub const fn is_delimiter(byte: u8) -> bool {
    CLASS[byte as usize] & DELIMITER != 0
}

/// ```abnf
/// safe-char = VCHAR except delimiter
/// ```
#[inline]
pub const fn is_safe_char(byte: u8) -> bool {
    CLASS[byte as usize] & SAFE != 0
}

/// Returns the length of `*safe-char` at the start of `bytes`.
#[inline]
pub fn safe_run(bytes: &[u8]) -> usize {
    run(bytes, SAFE)
}

/// Returns the length of the characters of an `agent-id` at the start of `bytes`.
pub fn agent_run(bytes: &[u8]) -> usize {
    run(bytes, AGENT)
}

/// Returns the length of the characters of a class at the start of `bytes`.
#[inline]
fn run(bytes: &[u8], class: u8) -> usize {
    let is_end = |byte: u8| CLASS[byte as usize] & class == 0;
    let mut length = 0;
    // The compiler unrolls a loop over an array, and tests no bounds in it. Most values end in the first block.
    while let Some(block) = bytes.get(length..).and_then(<[u8]>::first_chunk::<16>) {
        for (at, &byte) in block.iter().enumerate() {
            if is_end(byte) {
                return length + at;
            }
        }
        length += block.len();
    }
    let rest = bytes.get(length..).unwrap_or_default();
    let end = rest.iter().position(|&byte| is_end(byte));
    length + end.unwrap_or(rest.len())
}

/// ```abnf
/// key = 1*( ALPHA / DIGIT / "_" )
/// ```
pub fn is_key(text: &str) -> bool {
    !text.is_empty() && shared_classes(text) & KEY != 0
}

/// Returns whether a byte is a character of a `key` or an `operation`.
#[inline]
pub const fn is_key_char(byte: u8) -> bool {
    CLASS[byte as usize] & KEY != 0
}

/// ```abnf
/// agent-id = 1*( ALPHA / DIGIT / "-" / "_" )
/// ```
pub fn is_agent_id(text: &str) -> bool {
    !text.is_empty() && shared_classes(text) & AGENT != 0
}

/// Returns whether a byte is a character of an `agent-id`.
#[inline]
pub const fn is_agent_char(byte: u8) -> bool {
    CLASS[byte as usize] & AGENT != 0
}

/// ```abnf
/// ref-key = 1*( ALPHA / DIGIT / "_" / "." )
/// ```
pub fn is_ref_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_ref_char)
}

/// Returns whether a byte is a character of a `ref-key`.
#[inline]
pub const fn is_ref_char(byte: u8) -> bool {
    is_key_char(byte) || byte == b'.'
}

/// `safe-char`.
pub(super) const SAFE: u8 = 1;
const DELIMITER: u8 = 2;
/// A character of a `key`.
const KEY: u8 = 4;
/// A safe character that stands for itself in the text form.
pub(super) const PLAIN: u8 = 8;
/// A character of an `agent-id`.
const AGENT: u8 = 16;

/// The classes of each byte, one bit for each class; 0 for a byte that no frame can hold.
pub(super) static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0x21;
    while byte <= 0x7e_usize {
        table[byte] = match byte as u8 {
            b'_' => SAFE | KEY | AGENT,
            b'%' => SAFE,
            b'-' => SAFE | PLAIN | AGENT,
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => SAFE | KEY | PLAIN | AGENT,
            _ => SAFE | PLAIN,
        };
        byte += 1;
    }
    let mut at = 0;
    while at < DELIMITERS.len() {
        table[DELIMITERS.as_bytes()[at] as usize] = DELIMITER;
        at += 1;
    }
    table
};

/// Returns the classes that all bytes of a text share. The texts of a frame are short, so a fold
/// without an early exit is faster.
#[inline]
pub(super) fn shared_classes(text: &str) -> u8 {
    text.bytes()
        .fold(u8::MAX, |shared, byte| shared & CLASS[byte as usize])
}
