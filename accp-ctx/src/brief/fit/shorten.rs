//! A text that is too long: its head and tail, and where the whole stands.

use accp_frame::TokenCounter;

use crate::brief::form::quoted;
use crate::brief::item::Item;
use crate::event::Thousands;

/// Returns the head and the tail of a text, quoted, in at most this many tokens if a few words fit at all.
pub(super) fn shortened(
    item: &Item,
    tokens: usize,
    archive: &str,
    counter: &dyn TokenCounter,
) -> String {
    let all: Vec<usize> = item.text.char_indices().map(|(at, _)| at).collect();
    // A token has at least one byte, and seldom more than eight characters.
    let (mut fits, mut over) = (0, all.len().min(tokens.saturating_mul(12)) + 1);
    while fits + 1 < over {
        let middle = usize::midpoint(fits, over);
        if counter.count(&cut(item, &all, middle, archive)) <= tokens {
            fits = middle;
        } else {
            over = middle;
        }
    }
    cut(item, &all, fits, archive)
}

/// Returns a text with this many characters of it, two thirds from its head.
fn cut(item: &Item, starts: &[usize], characters: usize, archive: &str) -> String {
    let Item { message, text } = item;
    let tail = characters / 3;
    let head = characters - tail;
    let at = |index: usize| starts.get(index).copied().unwrap_or(text.len());
    let (head, tail) = (at(head), at(starts.len().saturating_sub(tail)));
    let gone = Thousands(tail.saturating_sub(head) as u64);
    let head = quoted(text.get(..head).unwrap_or_default().trim_end());
    let tail = quoted(text.get(tail..).unwrap_or_default().trim_start());
    format!(
        "VERIFICATION_NEEDED: shortened; the whole is message {message} of {archive}\n\n{head}\n>\n\
         > [\u{2026} {gone} bytes \u{2026}]\n>\n{tail}"
    )
}
