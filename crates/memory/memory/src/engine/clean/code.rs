//! Removes the codes with which a program moves the cursor of a terminal, sets colours and chooses characters
//! (ECMA-48).

/// The character that begins a code.
const ESCAPE: char = '\u{1b}';
/// The character that ends the text of a code, and the code that does the same.
const BELL: char = '\u{7}';
const END: &str = "\u{1b}\\";

/// Begins the code that makes what follows a link (OSC 8). The code has parameters, `;` and the address; an empty
/// address ends the link.
const LINK: &str = "]8;";

/// Returns the text without codes. The address of a link stands in brackets behind its words.
pub(super) fn without_codes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The address of the link that has not ended yet, and where its words begin.
    let mut link = None;
    let mut unended = None;
    while let Some((before, code)) = rest.split_once(ESCAPE) {
        out.push_str(before);
        rest = behind(code, &mut unended);
        if let Some(address) = address(code, rest) {
            end_link(&mut out, link.take());
            link = (!address.is_empty()).then_some((address, out.len()));
        }
    }
    out.push_str(rest);
    end_link(&mut out, link);
    out
}

/// Returns the address in the code of a link. `rest` is the text after the code.
fn address<'c>(code: &'c str, rest: &str) -> Option<&'c str> {
    let whole = code.get(..code.len() - rest.len())?;
    let (_, address) = whole.strip_prefix(LINK)?.split_once(';')?;
    let address = address
        .strip_suffix(BELL)
        .or_else(|| address.strip_suffix(END));
    address.map(str::trim)
}

/// Puts the address of a link behind its words, unless they are the address.
fn end_link(out: &mut String, link: Option<(&str, usize)>) {
    if let Some((address, from)) = link
        && out.get(from..).is_some_and(|words| words.trim() != address)
    {
        let end = out.trim_end_matches('\n').len();
        out.insert_str(end.max(from), &format!(" ({address})"));
    }
}

/// Returns the text after a code. The caller has already read the first character of the code, `ESC`. If a code is not
/// complete, only its beginning is left out.
///
/// ```abnf
/// code       = ESC (sequence / string / short)
/// sequence   = "[" *%x30-3F *%x20-2F %x40-7E
/// string     = ("]" / "P" / "X" / "^" / "_") *any (BEL / ESC "\")
/// short      = *%x20-2F %x30-7E
/// ```
fn behind<'c>(code: &'c str, unended: &mut Option<usize>) -> &'c str {
    let mut characters = code.chars();
    match characters.next() {
        Some('[') => sequence(characters.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') => string(characters.as_str(), unended),
        _ => short(code),
    }
}

fn sequence(code: &str) -> &str {
    let code = code.trim_start_matches(|c| ('0'..='?').contains(&c));
    let code = code.trim_start_matches(is_between);
    code.strip_prefix(|c| ('@'..='~').contains(&c))
        .unwrap_or(code)
}

/// Returns the text after a code with a string. Such a code ends in the line in which it begins. If the line has no end
/// of the code, the words of the line are not a part of the code.
///
/// `unended` is a line whose rest was searched without finding an end: the length of the text behind that line. Further
/// codes of the same line have no end either, and nobody searches for one again.
fn string<'c>(code: &'c str, unended: &mut Option<usize>) -> &'c str {
    if unended.is_some_and(|behind| code.len() >= behind) {
        return code;
    }
    for (at, character) in code.char_indices() {
        let rest = &code[at..];
        if character == '\n' {
            *unended = Some(rest.len());
            return code;
        }
        let behind = rest.strip_prefix(BELL).or_else(|| rest.strip_prefix(END));
        if let Some(behind) = behind {
            return behind;
        }
    }
    *unended = Some(0);
    code
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
