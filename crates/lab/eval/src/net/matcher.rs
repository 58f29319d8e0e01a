//! A search for many texts in one pass.

use std::collections::HashMap;

/// The number of a text to look for.
pub(crate) type Needle = u32;

/// Finds texts where no letter, digit or `_` continues them on either side.
///
/// Each text is filed under its rarest word. So a line of code costs time only in texts that have this word, even if
/// a thousand other lines begin like this line.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    /// The filed texts by their rarest word. Each text has the number of its bytes before that word.
    by_word: HashMap<String, Vec<(usize, Needle)>>,
    texts: Vec<String>,
    numbers: HashMap<String, Needle>,
    filed: usize,
}

impl Matcher {
    /// Adds a collapsed text, and returns its number. Returns `None` for a text without a letter,
    /// digit or `_`. The text is found after the next [`file`](Self::file).
    pub(crate) fn add(&mut self, text: &str) -> Option<Needle> {
        if let Some(&known) = self.numbers.get(text) {
            return Some(known);
        }
        words(text).next()?;
        let needle = Needle::try_from(self.texts.len()).ok()?;
        self.numbers.insert(text.to_owned(), needle);
        self.texts.push(text.to_owned());
        Some(needle)
    }

    /// Files the texts that were added.
    pub(crate) fn file(&mut self) {
        let mut uses: HashMap<&str, usize> = HashMap::new();
        for (_, word) in self.texts.iter().flat_map(|text| words(text)) {
            *uses.entry(word).or_default() += 1;
        }
        for (needle, text) in self.texts.iter().enumerate().skip(self.filed) {
            let rarest = words(text).min_by_key(|(at, word)| (uses[word], *at));
            if let Some((at, word)) = rarest {
                let filed = self.by_word.entry(word.to_owned()).or_default();
                filed.push((at, needle as Needle));
            }
        }
        self.filed = self.texts.len();
    }

    pub(crate) fn text(&self, needle: Needle) -> &str {
        self.texts.get(needle as usize).map_or("", String::as_str)
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Passes each filed text that occurs in `text` to `tell`, with the byte at which it begins.
    pub(crate) fn each(&self, text: &str, mut tell: impl FnMut(Needle, usize)) {
        for (at, word) in words(text) {
            for &(before, needle) in self.by_word.get(word).into_iter().flatten() {
                let Some(start) = at.checked_sub(before) else {
                    continue;
                };
                let wanted = self.text(needle);
                if text.as_bytes()[start..].starts_with(wanted.as_bytes())
                    && is_apart(text, start, start + wanted.len())
                {
                    tell(needle, start);
                }
            }
        }
    }
}

/// Returns whether no letter, digit or `_` continues this part of a text on either side.
pub(crate) fn is_apart(text: &str, start: usize, end: usize) -> bool {
    let part = &text[start..end];
    let before = text[..start].chars().next_back().is_some_and(is_word);
    let after = text[end..].chars().next().is_some_and(is_word);
    let is_continued = before && part.starts_with(is_word) || after && part.ends_with(is_word);
    !is_continued
}

/// Returns whether a character is part of a word.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the words of a text, each with the byte at which it begins.
pub(crate) fn words(text: &str) -> impl DoubleEndedIterator<Item = (usize, &str)> {
    let parts = text
        .split(|character| !is_word(character))
        .filter(|word| !word.is_empty());
    parts.map(move |word| (word.as_ptr().addr() - text.as_ptr().addr(), word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn one_pass_finds_what_a_search_for_each_finds(
            texts in proptest::collection::vec("[ab_1é/. -]{1,6}", 1..9),
            text in "[ab_1é/. -]{0,60}",
        ) {
            let mut matcher = Matcher::default();
            let numbers: Vec<_> = texts.iter().map(|text| matcher.add(text)).collect();
            matcher.file();
            let mut found = Vec::new();
            matcher.each(&text, |needle, at| found.push((needle, at)));
            for (wanted, number) in texts.iter().zip(numbers) {
                let Some(number) = number else {
                    prop_assert!(!wanted.contains(is_word));
                    continue;
                };
                let expected: Vec<usize> = (0..text.len())
                    .filter(|&at| text.is_char_boundary(at) && text[at..].starts_with(wanted))
                    .filter(|&at| is_apart(&text, at, at + wanted.len()))
                    .collect();
                let found = found.iter().filter(|(needle, _)| *needle == number);
                let mut found: Vec<usize> = found.map(|(_, at)| *at).collect();
                found.sort_unstable();
                prop_assert_eq!(found, expected, "{:?} in {:?}", wanted, text);
            }
        }
    }
}
