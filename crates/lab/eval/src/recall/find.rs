//! A search for values in a text.

use std::collections::BTreeMap;
use std::collections::HashMap;

/// The number of a value to look for.
pub(crate) type Needle = u32;

/// Finds many values in a text in one pass.
///
/// A text contains a value where its characters occur and no letter, digit or `_` continues the
/// value on either side: `1250` does not contain `250`, and `HAT001` does not contain `HAT00`.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    /// Values by their first word, each with the number of bytes before that word.
    starts: HashMap<String, Vec<(usize, Needle)>>,
    values: Vec<String>,
    numbers: BTreeMap<String, Needle>,
}

impl Finder {
    /// Adds a value to look for, and returns its number. Returns `None` for a value without a
    /// letter, digit or `_`.
    pub(crate) fn add(&mut self, value: &str) -> Option<Needle> {
        if let Some(&known) = self.numbers.get(value) {
            return Some(known);
        }
        let (start, word) = words(value).next()?;
        let needle = self.values.len() as Needle;
        self.starts
            .entry(word.to_owned())
            .or_default()
            .push((start, needle));
        self.values.push(value.to_owned());
        self.numbers.insert(value.to_owned(), needle);
        Some(needle)
    }

    pub(crate) fn value(&self, needle: Needle) -> &str {
        &self.values[needle as usize]
    }

    /// Returns whether the whole text is a value to look for.
    pub(crate) fn is_value(&self, text: &str) -> bool {
        self.numbers.contains_key(text)
    }

    /// Passes each value in the text to `tell`, with the byte at which it begins.
    pub(crate) fn each(&self, text: &str, mut tell: impl FnMut(Needle, usize)) {
        for (at, word) in words(text) {
            for &(before, needle) in self.starts.get(word).into_iter().flatten() {
                let Some(start) = at.checked_sub(before) else {
                    continue;
                };
                let value = self.value(needle);
                let stands = text
                    .get(start..)
                    .is_some_and(|text| text.starts_with(value))
                    && !(value.ends_with(is_word)
                        && text[start + value.len()..].starts_with(is_word));
                if stands {
                    tell(needle, start);
                }
            }
        }
    }
}

/// Returns whether a character continues a word.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the longest words of a text, each with the byte at which it begins.
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

    /// Checks the definition of "contains" directly, without a `Finder`.
    fn stands(value: &str, text: &str) -> bool {
        text.match_indices(value).any(|(at, _)| {
            let before = text[..at].chars().next_back().is_some_and(is_word);
            let after = text[at + value.len()..].chars().next().is_some_and(is_word);
            let continued = before && value.starts_with(is_word);
            let goes_on = after && value.ends_with(is_word);
            !(continued || goes_on)
        })
    }

    proptest! {
        #[test]
        fn one_pass_finds_what_a_search_for_each_finds(
            values in proptest::collection::vec("[ab_1é/. -]{1,5}", 1..8),
            text in "[ab_1é/. -]{0,60}",
        ) {
            let mut finder = Finder::default();
            let numbers: Vec<_> = values.iter().map(|value| finder.add(value)).collect();
            let mut found = Vec::new();
            finder.each(&text, |needle, at| {
                assert!(text[at..].starts_with(finder.value(needle)));
                found.push(needle);
            });
            for (value, number) in values.iter().zip(numbers) {
                let Some(number) = number else {
                    prop_assert!(!value.contains(char::is_alphanumeric) && !value.contains('_'));
                    continue;
                };
                // `match_indices` skips overlaps, which only a repetitive value has.
                let expected = stands(value, &text);
                prop_assert!(!expected || found.contains(&number), "{:?} in {:?}", value, text);
            }
            for number in found {
                let value = finder.value(number);
                let anywhere = (0..text.len()).filter(|&at| text.is_char_boundary(at));
                let expected = anywhere.into_iter().any(|at| {
                    text[at..].starts_with(value)
                        && !(value.starts_with(is_word) && text[..at].ends_with(is_word))
                        && !(value.ends_with(is_word) && text[at + value.len()..].starts_with(is_word))
                });
                prop_assert!(expected, "{:?} in {:?}", value, text);
            }
        }
    }
}
