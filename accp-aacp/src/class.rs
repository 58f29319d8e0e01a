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

/// Returns the byte of the first character that cannot stand in a packet: a control character, a
/// line break, or a character that a reader of a log does not see (draft section 15).
pub(crate) fn forbidden_at(text: &str) -> Option<usize> {
    // In ASCII, these are the characters below the space, and DEL.
    let plain = |byte: u8| (b' '..0x7f).contains(&byte);
    let from = text.bytes().position(|byte| !plain(byte))?;
    let rest = text.get(from..)?;
    let is_forbidden = |c: char| c != SEPARATOR && !is_value_char(c);
    let found = rest.char_indices().find(|(_, c)| is_forbidden(*c))?;
    Some(from + found.0)
}

/// Returns the text without spaces at both ends. A tab is not a space: it is a control character.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(' ')
}
