//! The classes of characters in a packet.

/// The separator of fields.
pub(crate) const SEPARATOR: char = '|';

/// Returns whether a text is a task or a domain.
///
/// ```abnf
/// task = 1*( ALPHA / DIGIT / "_" / "-" )
/// dom  = 1*( ALPHA / DIGIT / "_" / "-" )
/// ```
pub(crate) fn is_head(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.bytes().all(fits)
}

/// Returns whether a text is a key.
///
/// ```abnf
/// key = ALPHA *( ALPHA / DIGIT / "_" )
/// ```
pub(crate) fn is_key(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes()
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && text.bytes().all(fits)
}

/// Returns whether a character cannot stand in a packet: control characters, line breaks, and the
/// characters without width or that turn the direction of the text around them.
///
/// A reader of a log does not see them, and a model does (draft section 15).
///
/// ```
/// use accp_aacp::is_forbidden;
///
/// assert!(is_forbidden('\t') && is_forbidden('\u{200b}') && is_forbidden('\u{202e}'));
/// assert!(!is_forbidden(' ') && !is_forbidden('é') && !is_forbidden(':'));
/// ```
pub fn is_forbidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns the byte of the first forbidden character.
pub(crate) fn forbidden_at(text: &str) -> Option<usize> {
    // Every forbidden character is below the space, is DEL, or is outside ASCII.
    let plain = |byte: u8| (b' '..0x7f).contains(&byte);
    let from = text.bytes().position(|byte| !plain(byte))?;
    let rest = text.get(from..)?;
    let found = rest.char_indices().find(|(_, c)| is_forbidden(*c))?;
    Some(from + found.0)
}

/// Returns the text without spaces at both ends. A tab is not a space: it is a control character.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(' ')
}
