//! Finds names and numbers in texts.

use super::worth::LONGEST;

/// Returns the sentences and lines of a text.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '!', '?'])
        .flat_map(|line| line.split(". "))
}

/// Returns the names and numbers of a text.
pub(in crate::view) fn names(text: &str) -> impl Iterator<Item = &str> {
    runs(text).filter(|run| is_name(run))
}

/// Returns the runs of characters that may be part of a name.
pub(super) fn runs(word: &str) -> impl Iterator<Item = &str> {
    let is_in = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '\\' | '-' | ':');
    word.split(move |c| !is_in(c))
        .map(|run| run.trim_matches(['.', '-', ':', '\\']))
        .filter(|run| (3..=LONGEST).contains(&run.len()))
}

/// Returns whether a word has a digit, a slash or backslash, or a capital after a small letter.
pub(super) fn is_name(word: &str) -> bool {
    let inner = word.as_bytes().windows(2);
    word.bytes()
        .any(|byte| byte.is_ascii_digit() || matches!(byte, b'/' | b'\\'))
        || inner
            .into_iter()
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

/// Returns whether a word begins with a capital, so that it may name a person or a place.
pub(super) fn is_capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}
