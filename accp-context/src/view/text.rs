//! Texts in a view: bare, as a JSON string, or below their line.
use std::fmt::Write as _;

use accp_registry::lexical::Literal;

/// Texts with more bytes stand below their line.
const LONG: usize = 60;

/// Characters that end a bare text.
pub(super) const DELIMITERS: [char; 11] = [',', '(', ')', '[', ']', '{', '}', '|', '"', '\\', '\n'];

/// Returns whether the character is invisible or changes how others are shown.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Returns whether a text may stand without quotes: it begins with a letter, a digit or `_`, and
/// does not read as another value.
pub(super) fn is_bare(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_alphanumeric() || c == '_')
        && !text.ends_with(' ')
        && !text.contains(|c: char| DELIMITERS.contains(&c) || is_hidden(c))
        && matches!(Literal::classify(text), Literal::String(_))
}

/// Returns whether a key may stand without quotes.
pub(super) fn is_bare_key(key: &str) -> bool {
    is_bare(key) && !key.contains(':')
}

/// Writes a JSON string that escapes all hidden characters.
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

/// Returns whether a text has no hidden characters except line feeds and tabs.
pub(super) fn is_shown(text: &str) -> bool {
    !text.contains(|c: char| is_hidden(c) && c != '\n' && c != '\t')
}

/// Returns whether a text should stand below its line.
pub(super) fn is_below(text: &str) -> bool {
    (text.len() > LONG || text.contains('\n')) && is_shown(text)
}

/// Returns whether the line would begin a block, or looks like a line that was escaped.
pub(super) fn is_guarded(line: &str) -> bool {
    line.trim_start_matches('\\').starts_with('@')
}

/// Writes the lines of a text so that none begins a block. The first line stands at the start of a
/// line, or behind other text if `inline`.
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

/// Reads the text back from its lines.
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
