//! The patterns of both encodings, which cut a text into pieces. No token crosses a cut.
//!
//! Each function names the alternative of the pattern that it matches. The first alternative that fits wins, as in
//! the engine of the reference. Alternatives of `cl100k_base`:
//!
//! ```text
//! '(?i:[sdmt]|ll|ve|re) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}{1,3} | ?[^\s\p{L}\p{N}]+[\r\n]*
//! | \s+$ | \s*[\r\n] | \s+(?!\S) | \s
//! ```
//!
//! and of `o200k_base`, with `U` for `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]` and `L` for `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?U*L+(?i:'s|'t|'re|'ve|'m|'ll|'d)? | [^\r\n\p{L}\p{N}]?U+L*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! | \p{N}{1,3} | ?[^\s\p{L}\p{N}]+[\r\n/]* | \s*[\r\n]+ | \s+(?!\S) | \s+
//! ```

use super::class::Class;
use super::unicode::class;

/// Returns the end of the piece that begins at the byte `at`, before the end of the text. `CASED` is for
/// `o200k_base`, whose words have capitals at their beginning only.
pub(crate) fn piece_end<const CASED: bool>(text: &[u8], at: usize) -> usize {
    let Some((first, length)) = class(text, at) else {
        return text.len();
    };
    let behind = at + length;
    let word = if CASED {
        cased_word(text, at, first, behind)
    } else {
        contraction(text, at).or_else(|| plain_word(text, at, first, behind))
    };
    if let Some(end) = word {
        return end;
    }
    if first == Class::Number {
        return numbers(text, behind);
    }
    let symbol = if first.is_symbol() {
        Some(behind)
    } else if text.get(at) == Some(&b' ') {
        // The symbol after the space belongs to the same piece.
        class(text, behind)
            .filter(|(class, _)| class.is_symbol())
            .map(|(_, length)| behind + length)
    } else {
        None
    };
    match symbol {
        Some(behind) => symbols::<CASED>(text, behind),
        None => spaces::<CASED>(text, at),
    }
}

/// `'(?i:[sdmt]|ll|ve|re)`. Without regard to case, `ſ` is an `s`.
fn contraction(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix(b"'")?;
    let length = match *rest {
        [b's' | b'S' | b'd' | b'D' | b'm' | b'M' | b't' | b'T', ..] => 2,
        [b'l' | b'L', b'l' | b'L', ..]
        | [b'v' | b'V' | b'r' | b'R', b'e' | b'E', ..]
        | [0xc5, 0xbf, ..] => 3,
        _ => return None,
    };
    Some(at + length)
}

/// `[^\r\n\p{L}\p{N}]?\p{L}+`
fn plain_word(text: &[u8], at: usize, first: Class, behind: usize) -> Option<usize> {
    let start = match first {
        Class::Newline | Class::Number => return None,
        _ if first.is_letter() => at,
        _ => behind,
    };
    let end = run(text, start, Class::is_letter);
    (end > start).then_some(end)
}

/// `[^\r\n\p{L}\p{N}]?U*L+(contraction)?|[^\r\n\p{L}\p{N}]?U+L*(contraction)?`
fn cased_word(text: &[u8], at: usize, first: Class, behind: usize) -> Option<usize> {
    let end = match first {
        Class::Newline | Class::Number => None,
        // A mark can be the prefix of a word, and can also begin a word. The first alternative tries both before
        // the second alternative is tried.
        Class::Mark => match cased(text, behind) {
            Cased::Whole(end) => Some(end),
            Cased::Capitals(_) | Cased::None => match cased(text, at) {
                Cased::Whole(end) | Cased::Capitals(end) => Some(end),
                Cased::None => None,
            },
        },
        _ => {
            let start = if first.is_letter() { at } else { behind };
            match cased(text, start) {
                Cased::Whole(end) | Cased::Capitals(end) => Some(end),
                Cased::None => None,
            }
        }
    }?;
    Some(contraction(text, end).unwrap_or(end))
}

/// The end of a word without its prefix.
enum Cased {
    /// `U*L+` fits.
    Whole(usize),
    /// Only `U+L*` fits.
    Capitals(usize),
    None,
}

fn cased(text: &[u8], start: usize) -> Cased {
    let mut end = start;
    // The end of the last character that can be in both halves.
    let mut both = None;
    while let Some((class, length)) = class(text, end) {
        match class {
            Class::Upper => end += length,
            Class::Letter | Class::Mark => {
                end += length;
                both = Some(end);
            }
            Class::Lower => {
                let lower = |class| matches!(class, Class::Lower | Class::Letter | Class::Mark);
                return Cased::Whole(run(text, end + length, lower));
            }
            _ => break,
        }
    }
    match both {
        // `U*` gives back this character and the capitals after it, so that `L+` can match the character.
        Some(end) => Cased::Whole(end),
        None if end > start => Cased::Capitals(end),
        None => Cased::None,
    }
}

/// Returns the end of `\p{N}{1,3}`, given the end of the first number.
fn numbers(text: &[u8], behind: usize) -> usize {
    let mut end = behind;
    for _ in 0..2 {
        match class(text, end) {
            Some((Class::Number, length)) => end += length,
            _ => break,
        }
    }
    end
}

/// Returns the end of `[^\s\p{L}\p{N}]+[\r\n/]*`, given the end of the first symbol. Only `o200k_base` has the `/`.
pub(crate) fn symbols<const CASED: bool>(text: &[u8], behind: usize) -> usize {
    let end = run(text, behind, Class::is_symbol);
    let tail = text.get(end..).unwrap_or_default();
    let tail = tail
        .iter()
        .take_while(|&&byte| matches!(byte, b'\r' | b'\n') || CASED && byte == b'/');
    end + tail.count()
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`. In `cl100k_base`, the alternative `\s+$` comes before these.
pub(crate) fn spaces<const CASED: bool>(text: &[u8], at: usize) -> usize {
    let mut end = at;
    let mut newline = None;
    let mut last = at;
    while let Some((class, length)) = class(text, end)
        && class.is_space()
    {
        last = end;
        end += length;
        if class == Class::Newline {
            newline = Some(end);
        }
    }
    let at_end = end == text.len();
    match newline {
        Some(newline) if CASED || !at_end => newline,
        _ if at_end || last == at => end,
        _ => last,
    }
}

/// Returns where a run of characters ends.
fn run(text: &[u8], start: usize, is_in: impl Fn(Class) -> bool) -> usize {
    let mut end = start;
    while let Some((class, length)) = class(text, end)
        && is_in(class)
    {
        end += length;
    }
    end
}
