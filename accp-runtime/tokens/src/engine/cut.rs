//! Finds cuts: places of a text that no piece crosses, whatever text comes before and after.

use super::class::Class;
use super::unicode::class;

/// Returns the last cut of a text that is at or after the byte `from`, or directly before the last character.
///
/// The text before the cut has the same pieces whatever follows the cut, and the text after the cut has the same pieces
/// whatever comes before the cut. The reason is that each alternative of the patterns ends at the character after the
/// cut, and that no alternative looks further ahead.
pub(crate) fn last_cut(text: &str, from: usize) -> Option<usize> {
    let mut starts = text.char_indices().rev().map(|(at, _)| at);
    let mut behind = starts.next()?;
    for before in starts {
        if is_cut(text.as_bytes(), before, behind) {
            return Some(behind);
        }
        if before < from {
            break;
        }
        behind = before;
    }
    None
}

/// Returns whether there is always a cut between two neighbouring characters, which begin at these bytes.
fn is_cut(text: &[u8], before: usize, behind: usize) -> bool {
    let (Some((left, _)), Some((right, _))) = (class(text, before), class(text, behind)) else {
        return false;
    };
    match (left, right) {
        // A piece with numbers contains nothing else.
        (Class::Number, Class::Number) => false,
        (Class::Number, _) => true,
        // If a number follows a run of white space, the last space of the run is a piece of its own. At the end of a
        // text, the last space belongs to the run. So the cut before a number is certain only if no space comes before
        // the number.
        (_, Class::Number) => left != Class::Space,
        // Such a space can be after the first character of a piece only if the piece is a run of white space.
        (_, Class::Space) => !left.is_space(),
        // No word contains a newline, but runs of symbols and of white space can.
        (_, Class::Newline) => left.is_letter(),
        // Apart from letters, a word can contain only marks and contractions. After its newlines, a run of symbols
        // can contain only slashes.
        (Class::Newline, Class::Other) => text.get(behind) != Some(&b'/'),
        (_, Class::Other) => left.is_letter() && text.get(behind) != Some(&b'\''),
        // A newline is not the prefix of a word.
        (_, Class::Lower | Class::Upper | Class::Letter | Class::Mark) => left == Class::Newline,
    }
}
