//! The codes with which a program moves the cursor of a terminal, sets colours and chooses characters (ECMA-48).

/// The character that begins a code.
const ESCAPE: char = '\u{1b}';
/// The character that ends the text of a code, and the code that does the same.
const BELL: char = '\u{7}';
const END: &str = "\u{1b}\\";

/// Returns the text without codes.
pub(super) fn without_codes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code)) = rest.split_once(ESCAPE) {
        out.push_str(before);
        rest = behind(code);
    }
    out.push_str(rest);
    out
}

/// Returns what stands behind a code, whose first character was read. A code that breaks off ends where it does.
///
/// ```abnf
/// code       = ESC (sequence / string / short)
/// sequence   = "[" *%x30-3F *%x20-2F %x40-7E
/// string     = ("]" / "P" / "X" / "^" / "_") *any (BEL / ESC "\")
/// short      = *%x20-2F %x30-7E
/// ```
fn behind(code: &str) -> &str {
    let mut characters = code.chars();
    match characters.next() {
        Some('[') => sequence(characters.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') => string(characters.as_str()),
        _ => short(code),
    }
}

fn sequence(code: &str) -> &str {
    let code = code.trim_start_matches(|c| ('0'..='?').contains(&c));
    let code = code.trim_start_matches(is_between);
    code.strip_prefix(|c| ('@'..='~').contains(&c))
        .unwrap_or(code)
}

/// Returns what stands behind the text of a code. The text stands in one line: if the line has no end of the code, its
/// words are not a part of the code.
fn string(code: &str) -> &str {
    let line = code.split('\n').next().unwrap_or_default();
    let bell = line.find(BELL).map(|at| at + BELL.len_utf8());
    let end = line.find(END).map(|at| at + END.len());
    let end = bell.into_iter().chain(end).min();
    end.and_then(|end| code.get(end..)).unwrap_or(code)
}

fn short(code: &str) -> &str {
    let behind = code.trim_start_matches(is_between);
    behind
        .strip_prefix(|c| ('0'..='~').contains(&c))
        .unwrap_or(code)
}

/// Returns whether a character may stand inside a code, before its last character.
fn is_between(c: char) -> bool {
    (' '..='/').contains(&c)
}
