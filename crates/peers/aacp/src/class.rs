//! The characters of a packet. The registry says which texts are words, keys and values.

use accp_registry::aacp::{KEY, WORD, is_value_char};

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

/// Calls `found` with the place and the byte of each separator and each colon, in their order.
#[inline]
pub(crate) fn marks(text: &str, mut found: impl FnMut(usize, u8)) {
    let (chunks, rest) = text.as_bytes().as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        let word = u64::from_le_bytes(*chunk);
        let mut marks = equal(word, b'|') | equal(word, b':');
        while marks != 0 {
            let at = marks.trailing_zeros() as usize / 8;
            found(index * 8 + at, chunk.get(at).copied().unwrap_or_default());
            marks &= marks - 1;
        }
    }
    let start = chunks.len() * 8;
    for (at, byte) in rest.iter().enumerate() {
        if matches!(byte, b'|' | b':') {
            found(start + at, *byte);
        }
    }
}

/// Returns the highest bit of each of the eight bytes that are this one.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x7f; 8]);
    let differs = word ^ u64::from_le_bytes([byte; 8]);
    !(((differs & LOW) + LOW) | differs | LOW)
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

/// Returns how many separators a text has.
pub(crate) fn separators(text: &str) -> usize {
    // A chunk has at most 255 bytes, so its count fits in one byte. With byte counters, the
    // compiler can add 16 at once.
    let chunks = text.as_bytes().chunks(255);
    let sums = chunks.map(|chunk| {
        let is_one = |byte: &u8| u8::from(*byte == b'|');
        chunk.iter().map(is_one).fold(0_u8, u8::wrapping_add)
    });
    sums.map(usize::from).sum()
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
