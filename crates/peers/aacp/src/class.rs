//! Checks the characters of a packet. The crate accp-registry defines which texts are words, keys and values.

use accp_registry::aacp::{KEY, WORD, is_value_char};
use accp_registry::lexical::is_key_char;

/// The separator of fields.
pub(crate) const SEPARATOR: char = '|';

/// Returns whether a text is a task or a domain.
///
/// ```abnf
/// task = 1*( ALPHA / DIGIT / "_" / "-" )
/// dom  = 1*( ALPHA / DIGIT / "_" / "-" )
/// ```
pub(crate) fn is_head(text: &str) -> bool {
    (WORD.fits)(text)
}

/// Returns whether a text is a key.
///
/// ```abnf
/// key = ALPHA *( ALPHA / DIGIT / "_" )
/// ```
pub(crate) fn is_key(text: &str) -> bool {
    (KEY.fits)(text)
}

/// Calls `found` with the place of each separator, and with the end of the text, in their order.
#[inline]
pub(crate) fn ends(text: &str, mut found: impl FnMut(usize)) {
    let (chunks, rest) = text.as_bytes().as_chunks::<8>();
    // The last chunk has the remaining bytes, of which there are at most seven, and a separator that stands for the
    // end.
    let mut last = [0; 8];
    for (byte, from) in last.iter_mut().zip(rest.iter().chain(b"|")) {
        *byte = *from;
    }
    let mut start = 0;
    for chunk in chunks.iter().chain([&last]) {
        let mut marks = equal(u64::from_le_bytes(*chunk), b'|');
        while marks != 0 {
            found(start + marks.trailing_zeros() as usize / 8);
            marks &= marks - 1;
        }
        start += chunk.len();
    }
}

/// Returns how many characters at the start of a text can be part of a key.
#[inline]
pub(crate) fn key_run(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| !is_key_char(*byte));
    end.unwrap_or(bytes.len())
}

/// Returns a word in which each byte that equals `byte` has its highest bit set, and all other bits are 0.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x7f; 8]);
    let differs = word ^ u64::from_le_bytes([byte; 8]);
    !(((differs & LOW) + LOW) | differs | LOW)
}

/// Returns whether a text has only ASCII characters other than control characters and separators.
pub(crate) fn is_clean(text: &str) -> bool {
    let odd = |byte: &u8| u8::from(!(b' '..0x7f).contains(byte) || *byte == b'|');
    text.as_bytes()
        .iter()
        .map(odd)
        .fold(0, |any, odd| any | odd)
        == 0
}

/// Returns whether a text has only ASCII characters other than control characters.
fn is_plain(text: &str) -> bool {
    // The fold has no branch for a byte, so the compiler can check 16 bytes at once.
    let odd = |byte: &u8| u8::from(!(b' '..0x7f).contains(byte));
    text.as_bytes()
        .iter()
        .map(odd)
        .fold(0, |any, odd| any | odd)
        == 0
}

/// Returns the byte of the first character that cannot stand in a packet: a control character, a
/// line break, or a character that a reader of a log does not see (draft section 15).
pub(crate) fn forbidden_at(text: &str) -> Option<usize> {
    if is_plain(text) {
        return None;
    }
    let is_forbidden = |c: char| c != SEPARATOR && !is_value_char(c);
    let mut characters = text.char_indices();
    characters
        .find(|(_, c)| is_forbidden(*c))
        .map(|found| found.0)
}

/// Returns the text without spaces at both ends. A tab is not a space: it is a control character.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(' ')
}
