//! Removes from results what only a terminal needs: codes for colours, progress bars, spaces before line numbers.

use crate::layout::without_padding;

/// The character that begins a code of a terminal.
const ESCAPE: char = '\u{1b}';
/// A line that is written over this often is a progress bar.
const BAR: usize = 3;

/// Returns a result as a person finally sees it on a terminal. Only codes, overwritten text and padding are left out.
pub(super) fn clean(text: &str) -> String {
    let plain = without_codes(text);
    let mut lines: Vec<&str> = plain.split('\n').map(last_written).collect();
    without_padding(&mut lines);
    lines.join("\n")
}

/// Returns the final text of a line: the text behind the last carriage return of a progress bar.
fn last_written(line: &str) -> &str {
    let shown = line.strip_suffix('\r').unwrap_or(line);
    if shown.matches('\r').count() < BAR {
        return line;
    }
    shown.rsplit('\r').next().unwrap_or(shown)
}

/// Returns the text without the codes with which a program moves the cursor and sets colours.
fn without_codes(text: &str) -> String {
    if !text.contains(ESCAPE) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        let (before, code) = rest.split_at(at);
        out.push_str(before);
        rest = behind_code(code);
    }
    out.push_str(rest);
    out
}

/// Returns what stands behind a code: `ESC [` numbers and a letter, `ESC ]` up to a bell, or `ESC` and one character.
fn behind_code(code: &str) -> &str {
    let body = code.get(1..).unwrap_or_default();
    if let Some(inside) = body.strip_prefix('[') {
        let is_final = |character: char| ('@'..='~').contains(&character);
        return match inside.find(|character| is_final(character) || character == '\n') {
            Some(at) if inside[at..].starts_with(is_final) => &inside[at + 1..],
            Some(at) => &inside[at..],
            None => "",
        };
    }
    if let Some(inside) = body.strip_prefix(']') {
        let end = inside.find(['\u{7}', ESCAPE, '\n']);
        return match end {
            Some(at) if inside[at..].starts_with('\u{7}') => &inside[at + 1..],
            Some(at) if inside[at..].starts_with("\u{1b}\\") => &inside[at + 2..],
            Some(at) => &inside[at..],
            None => "",
        };
    }
    let mut characters = body.chars();
    match characters.next() {
        Some('\n') | None => body,
        Some(_) => characters.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn codes_and_bars_leave_and_words_stay() {
        assert_eq!(clean("\u{1b}[1;31merror\u{1b}[0m: no"), "error: no");
        assert_eq!(clean("\u{1b}]0;title\u{7}ready\u{1b}(B"), "readyB");
        assert_eq!(clean("10%\r50%\r90%\r100% done\nnext"), "100% done\nnext");
        // A carriage return before a line feed only ends the line. Another single one is not a progress bar.
        assert_eq!(clean("a\r\nb\rc"), "a\r\nb\rc");
        assert_eq!(clean("   1\ta\n   2\t  b\n   3\tc"), "1\ta\n2\t  b\n3\tc");
        assert_eq!(clean("cut \u{1b}[3"), "cut ");
        for text in ["", "    fn a() {}\n", "ä\u{1b}", "\u{1b}\n\u{1b}["] {
            assert!(clean(text).len() <= text.len());
        }
    }
}
