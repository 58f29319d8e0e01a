//! Places of a text that no piece crosses, whatever stands before and behind.

use super::class::Class;
use super::unicode::class;

/// Returns the last cut of a text, if it stands at a byte or behind, or one character before.
///
/// The pieces before it are the same with what follows and without, and those behind it with what was before and without: each
/// alternative of the patterns ends at the character behind the cut, and none looks further.
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

/// Whether there is always a cut between the characters at two bytes, which stand side by side.
fn is_cut(text: &[u8], before: usize, behind: usize) -> bool {
    let (Some((left, _)), Some((right, _))) = (class(text, before), class(text, behind)) else {
        return false;
    };
    match (left, right) {
        // Pieces with numbers have nothing else.
        (Class::Number, Class::Number) => false,
        (Class::Number, _) => true,
        // Of white space before a character that is none, the last is a piece of its own; at the end of a text it is not.
        (_, Class::Number) => left != Class::Space,
        // Only a run of white space has such a space behind its first character.
        (_, Class::Space) => !left.is_space(),
        // No word has a newline.
        (_, Class::Newline) => left.is_letter(),
        // Of what is not a letter, a word has marks and contractions alone. Behind newlines symbols have only the
        // slash.
        (Class::Newline, Class::Other) => text.get(behind) != Some(&b'/'),
        (_, Class::Other) => left.is_letter() && text.get(behind) != Some(&b'\''),
        // A newline is not the prefix of a word.
        (_, Class::Lower | Class::Upper | Class::Letter | Class::Mark) => left == Class::Newline,
    }
}
