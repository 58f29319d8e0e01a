//! Texts in a view: bare, as a JSON string, or below their line.
use std::fmt::Write as _;

use accp_registry::lexical::Literal;

/// Longer texts stand below their line.
const LONG: usize = 60;

/// What ends a bare text.
pub(super) const DELIMITERS: [char; 11] = [',', '(', ')', '[', ']', '{', '}', '|', '"', '\\', '\n'];

/// Whether the character is not shown, or changes how others are.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Whether a text may stand as it is: it begins with a letter, a digit or `_`, and reads as
/// itself.
pub(super) fn is_bare(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_alphanumeric() || c == '_')
        && !text.ends_with(' ')
        && !text.contains(|c: char| DELIMITERS.contains(&c) || is_hidden(c))
        && matches!(Literal::classify(text), Literal::String(_))
}

/// Whether a key may stand as it is.
pub(super) fn is_bare_key(key: &str) -> bool {
    is_bare(key) && !key.contains(':')
}

/// A JSON string in which nothing is hidden.
pub(super) fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_hidden(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether what a text shows is all that it holds.
pub(super) fn is_shown(text: &str) -> bool {
    !text.contains(|c: char| is_hidden(c) && c != '\n' && c != '\t')
}

/// Whether a text is to stand below its line.
pub(super) fn is_below(text: &str) -> bool {
    (text.len() > LONG || text.contains('\n')) && is_shown(text)
}

/// Whether the line would begin a block, or be taken for one that was kept from it.
pub(super) fn is_guarded(line: &str) -> bool {
    line.trim_start_matches('\\').starts_with('@')
}

/// The lines of a text, none of which begins a block. The first one stands at the start of a
/// line or `inline`, behind something else.
pub(super) fn write_below(out: &mut String, text: &str, inline: bool) {
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if (at > 0 || !inline) && is_guarded(line) {
            out.push('\\');
        }
        out.push_str(line);
    }
}

/// The text whose lines these are.
pub(super) fn read_below(lines: &str, inline: bool) -> String {
    let mut out = String::with_capacity(lines.len());
    for (at, line) in lines.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let guarded = line.strip_prefix('\\');
        let guarded = guarded.filter(|_| (at > 0 || !inline) && is_guarded(line));
        out.push_str(guarded.unwrap_or(line));
    }
    out
}
