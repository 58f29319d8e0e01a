//! Texts in columns. A store must keep any text, and PostgreSQL cannot keep U+0000. So U+0000 is escaped.

use std::borrow::Cow;

/// Marks an escape: `ESCAPE 0` stands for U+0000, and `ESCAPE 1` for `ESCAPE` itself. Neither frames nor
/// JSON hold such a character, so nearly every text is kept as it is.
const ESCAPE: char = '\u{1}';

/// Returns the text as a column keeps it.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len() + 2);
    for letter in text.chars() {
        match letter {
            '\0' => kept.extend([ESCAPE, '0']),
            ESCAPE => kept.extend([ESCAPE, '1']),
            letter => kept.push(letter),
        }
    }
    Cow::Owned(kept)
}

/// Returns the text of a column. `None` if the column has an escape that [`escaped`] never writes.
pub(super) fn unescaped(kept: &str) -> Option<Cow<'_, str>> {
    if !kept.contains(ESCAPE) {
        return Some(Cow::Borrowed(kept));
    }
    let mut text = String::with_capacity(kept.len());
    let mut letters = kept.chars();
    while let Some(letter) = letters.next() {
        text.push(match (letter, letter == ESCAPE) {
            (_, true) => match letters.next()? {
                '0' => '\0',
                '1' => ESCAPE,
                _ => return None,
            },
            (letter, false) => letter,
        });
    }
    Some(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_comes_back(text in "[\0\u{1}\u{2}01aü]{0,12}") {
            let kept = escaped(&text).into_owned();
            prop_assert!(!kept.contains('\0'));
            prop_assert_eq!(unescaped(&kept).unwrap(), text);
        }
    }

    #[test]
    fn usual_texts_are_kept_as_they_are() {
        assert!(matches!(escaped("@a>req:x{}\n\t\\0"), Cow::Borrowed(_)));
        assert_eq!(unescaped("a\u{1}"), None);
        assert_eq!(unescaped("a\u{1}2"), None);
    }
}
