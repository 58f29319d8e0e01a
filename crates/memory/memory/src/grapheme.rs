//! Where a text may be cut: between the characters that a reader sees. An emoji may be several code points.

use unicode_segmentation::GraphemeCursor;

/// Returns the last place at or before `at` where a code point begins.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the last place at or before `at` that does not split a character as a reader sees it. `at` may lie within
/// a code point.
pub(crate) fn before(text: &str, at: usize) -> usize {
    let at = floor(text, at);
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) => at,
        // The cursor has the whole text, so it asks for no other piece and does not fail.
        _ => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
    }
}

/// Returns the first place at or behind `at` that does not split a character as a reader sees it.
pub(crate) fn behind(text: &str, at: usize) -> usize {
    let place = before(text, at);
    if place == at {
        return at;
    }
    let mut cursor = GraphemeCursor::new(place, text.len(), true);
    let next = cursor.next_boundary(text, 0).ok().flatten();
    next.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation as _;

    use super::*;

    proptest! {
        #[test]
        fn a_cut_falls_between_characters_that_a_reader_sees(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["a", " ", "é", "e\u{301}", "👨‍👩‍👧", "👍🏽", "🇩🇪", "❤️", "📦", "\r\n", "1️⃣"]),
                0..12,
            ),
            at: prop::sample::Index,
        ) {
            let text = pieces.concat();
            let at = at.index(text.len() + 1);
            let all: Vec<_> = text.grapheme_indices(true).map(|(start, _)| start).chain([text.len()]).collect();
            prop_assert_eq!(Some(before(&text, at)), all.iter().rfind(|place| **place <= at).copied());
            prop_assert_eq!(Some(behind(&text, at)), all.iter().find(|place| **place >= at).copied());
        }
    }
}
