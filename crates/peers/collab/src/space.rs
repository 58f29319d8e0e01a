//! White space as Python defines it, because Python scripts read the same files.

/// Returns whether a character is white space: also the four separators U+001C to U+001F.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Returns a text without the white space around it.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Returns whether a text has nothing but white space.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}
