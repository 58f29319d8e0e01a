//! Shortens a text that is too long to its head and tail, and says where the whole text is.

use std::ops::Range;

use accp_frame::TokenCounter;

use crate::event::Thousands;
use crate::grapheme;
use crate::summary::form::quoted;

/// A run without white space that has more bytes than this is not a word, and may be cut anywhere.
const WORD: usize = 40;
/// The end of a line that stands for a picture or another medium. It has a command, which is of use only as a whole.
const MEDIUM: &str = "` gives it]";

/// A text to cut.
pub(super) struct Cut<'t> {
    pub(super) text: &'t str,
    /// The text before the quotation. It names the place of the whole text.
    pub(super) before: &'t str,
}

/// Returns the head and the tail of a text, quoted, in at most this many tokens. If no words of the text fit, the
/// result has none of them, and may have more tokens.
pub(super) fn shortened(cut: &Cut<'_>, tokens: usize, counter: &dyn TokenCounter) -> String {
    let all: Vec<usize> = cut.text.char_indices().map(|(at, _)| at).collect();
    // A token seldom has more than eight characters, so the search tries at most twelve for each
    // token.
    let (mut fits, mut over) = (0, all.len().min(tokens.saturating_mul(12)) + 1);
    while fits + 1 < over {
        let middle = usize::midpoint(fits, over);
        if counter.count(&cut.to(&all, middle)) <= tokens {
            fits = middle;
        } else {
            over = middle;
        }
    }
    cut.to(&all, fits)
}

impl Cut<'_> {
    /// Returns the text with this many characters of it, two thirds from its head.
    fn to(&self, starts: &[usize], characters: usize) -> String {
        let Self { text, before } = self;
        let tail = characters / 3;
        let head = characters - tail;
        let at = |index: usize| starts.get(index).copied().unwrap_or(text.len());
        let (head, tail) = (at(head), at(starts.len().saturating_sub(tail)));
        let head = without_last_part(text, grapheme::before(text, head));
        let head = medium(text, head).map_or(head, |line| line.start);
        let tail = without_first_part(text, grapheme::behind(text, tail));
        let tail = medium(text, tail).map_or(tail, |line| line.end);
        let gone = Thousands(tail.saturating_sub(head) as u64);
        let head = quoted(text.get(..head).unwrap_or_default().trim_end());
        let tail = text.get(tail..).unwrap_or_default().trim_start();
        let tail = if tail.is_empty() {
            String::new()
        } else {
            format!("\n>\n{}", quoted(tail))
        };
        format!("{before}{head}\n>\n> [\u{2026} {gone} bytes \u{2026}]{tail}")
    }
}

/// Returns the line that a cut at this place would divide, if the line stands for a medium.
fn medium(text: &str, at: usize) -> Option<Range<usize>> {
    let (before, behind) = text.split_at_checked(at)?;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let end = behind.find('\n').map_or(text.len(), |end| at + end);
    let line = text.get(start..end)?;
    let is_medium = line.starts_with('[') && line.ends_with(MEDIUM);
    (is_medium && start < at && at < end).then_some(start..end)
}

/// Returns the end of the head, moved before a word that was cut: half a word may be read as another word.
fn without_last_part(text: &str, end: usize) -> usize {
    let (head, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let is_cut = rest.starts_with(|c: char| !c.is_whitespace());
    let space = head.rfind(char::is_whitespace).filter(|_| is_cut);
    space.filter(|at| end - at <= WORD).unwrap_or(end)
}

/// Returns the start of the tail, moved behind a word that was cut.
fn without_first_part(text: &str, start: usize) -> usize {
    let (head, tail) = text.split_at_checked(start).unwrap_or((text, ""));
    let is_cut = head.ends_with(|c: char| !c.is_whitespace());
    let space = tail.find(char::is_whitespace).filter(|_| is_cut);
    space
        .filter(|at| *at <= WORD)
        .map_or(start, |at| start + at)
}
