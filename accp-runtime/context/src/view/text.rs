//! Texts in a view: bare, as a JSON string, or below their line.

pub(super) use accp_registry::view::{DELIMITERS, is_bare, is_bare_key, is_hidden, write_quoted};

/// Returns whether the character is one of the blanks that models put between the words of a line.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

/// Texts with more bytes stand below their line.
const LONG: usize = 60;

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

/// Writes the lines of a text so that no line begins a block. With `inline`, the first line of the text follows other
/// text on its line, so it cannot begin a block.
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

/// Reads back a text that [`write_below`] wrote.
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

/// Writes a text so that a reader finds its end in a note or a definition.
pub(super) fn write_word(out: &mut String, text: &str) {
    if is_bare(text) && !text.contains([' ', ';']) {
        out.push_str(text);
    } else {
        write_quoted(out, text);
    }
}
