//! The class of a character, by a table.

use super::class::Class;

/// The classes of all characters: first the number of the block for every 128 characters, then the blocks. The
/// example `token_tables` makes this file.
static CLASSES: &[u8] = include_bytes!("../../tables/classes.bin");
const BLOCKS: usize = 0x11_0000 >> 7;

/// Returns the class and the length of the character at a byte; `None` at the end of the text.
#[inline]
pub(crate) fn class(text: &[u8], at: usize) -> Option<(Class, usize)> {
    let first = *text.get(at)?;
    if first < 0x80 {
        return Some((ascii(first), 1));
    }
    Some(beyond_ascii(text, at, first))
}

/// Returns the class of a byte that is a character of ASCII.
#[inline]
pub(crate) fn ascii(byte: u8) -> Class {
    ASCII[usize::from(byte & 0x7f)]
}

static ASCII: [Class; 128] = {
    let mut classes = [Class::Other; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = Class::numbered(CLASSES[BLOCKS + byte]);
        byte += 1;
    }
    classes
};

fn beyond_ascii(text: &[u8], at: usize, first: u8) -> (Class, usize) {
    let next = |offset: usize| u32::from(text.get(at + offset).copied().unwrap_or(0) & 0x3f);
    let first = u32::from(first);
    let (scalar, length) = match first {
        ..0xe0 => ((first & 0x1f) << 6 | next(1), 2),
        0xe0..0xf0 => ((first & 0x0f) << 12 | next(1) << 6 | next(2), 3),
        _ => (
            (first & 0x07) << 18 | next(1) << 12 | next(2) << 6 | next(3),
            4,
        ),
    };
    (of(scalar), length)
}

fn of(scalar: u32) -> Class {
    let scalar = scalar as usize;
    let number = CLASSES.get(scalar >> 7).copied().unwrap_or(0);
    let class = CLASSES.get(BLOCKS + (usize::from(number) << 7 | scalar & 127));
    Class::numbered(class.copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_automata::meta::Regex;

    /// The engine of the reference has the same Unicode tables.
    #[test]
    fn all_characters_have_the_class_that_the_regex_engine_gives_them() {
        let patterns = [
            (Class::Lower, r"\p{Ll}"),
            (Class::Upper, r"[\p{Lu}\p{Lt}]"),
            (Class::Letter, r"[\p{Lm}\p{Lo}]"),
            (Class::Mark, r"\p{M}"),
            (Class::Number, r"\p{N}"),
            (Class::Newline, r"[\r\n]"),
            (Class::Space, r"[\s&&[^\r\n]]"),
            (Class::Other, r"[^\s\p{L}\p{N}\p{M}]"),
        ];
        let all: String = ('\0'..=char::MAX).collect();
        let mut seen = 0;
        for (class, pattern) in patterns {
            let regex = Regex::new(pattern).expect("a pattern");
            for found in regex.find_iter(&all) {
                let expected = Some((class, found.len()));
                assert_eq!(super::class(all.as_bytes(), found.start()), expected);
                seen += 1;
            }
        }
        assert_eq!(seen, 0x11_0000 - 0x800);
    }
}
