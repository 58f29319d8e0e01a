//! Cuts a text into sections. A section is a run of lines. Sections overlap, so that neighbouring lines stand together
//! in one of them.

use std::ops::Range;

use crate::grapheme::floor;

/// The most lines of a section.
const LINES: usize = 30;
/// How many lines two neighbouring sections share.
const OVERLAP: usize = 5;
/// The most bytes of a section. A longer line is cut.
const BYTES: usize = 8_192;
/// How many bytes two pieces of a long line share.
const SHARED: usize = 512;

/// A part of a line with at most this many bytes is complete in one of the sections, wherever the line is cut.
#[cfg(any(test, feature = "disk"))]
pub(crate) const WHOLE: usize = SHARED - 8;

/// A section of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The first and the last line, from 0.
    pub(crate) lines: (usize, usize),
    /// The bytes, without the last line feed.
    pub(crate) bytes: Range<usize>,
}

/// Cuts a text into sections.
pub(crate) fn pieces(text: &str) -> Vec<Piece> {
    let lines = lines(text);
    let is_long = |at: usize| lines[at].len() > BYTES;
    let mut out = Vec::new();
    let mut first = 0;
    while first < lines.len() {
        if is_long(first) {
            let parts = parts(text, lines[first].clone());
            out.extend(parts.map(|bytes| Piece {
                lines: (first, first),
                bytes,
            }));
            first += 1;
            continue;
        }
        let start = lines[first].start;
        let fits = |at: usize| {
            at < lines.len() && at - first < LINES && !is_long(at) && lines[at].end - start <= BYTES
        };
        let mut end = first + 1;
        while fits(end) {
            end += 1;
        }
        out.push(Piece {
            lines: (first, end - 1),
            bytes: start..lines[end - 1].end,
        });
        let is_last = end == lines.len() || is_long(end);
        first = if is_last || end - first <= OVERLAP {
            end
        } else {
            end - OVERLAP
        };
    }
    out
}

/// Returns the bytes of each line, without line feeds. A line feed at the end of the text begins no line, unless the
/// text is only this line feed.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let all = text.split('\n').map(|line| {
        let start = at;
        at += line.len() + 1;
        start..start + line.len()
    });
    let mut all: Vec<_> = all.collect();
    if all.len() > 1 && text.ends_with('\n') {
        all.pop();
    }
    all
}

/// Cuts a long line into pieces that overlap.
fn parts(text: &str, line: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut next = Some(line.start);
    std::iter::from_fn(move || {
        let start = next?;
        let end = floor(text, (start + BYTES).min(line.end));
        next = (end < line.end).then(|| floor(text, end - SHARED));
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sections_have_thirty_lines_and_share_five() {
        let text = "rye\n".repeat(70);
        let all: Vec<_> = pieces(&text).into_iter().map(|piece| piece.lines).collect();
        assert_eq!(all, [(0, 29), (25, 54), (50, 69)]);
        assert_eq!(pieces("").len(), 1);
        assert_eq!(pieces("a\n")[0].lines, (0, 0));
    }

    proptest! {
        /// Every short part of a line stands whole in a section, and sections are cut at characters.
        #[test]
        fn every_short_part_of_a_line_stands_in_a_section(
            lines in prop::collection::vec((0usize..40_000, "[aä€😀]"), 1..12), which: prop::sample::Index, at: prop::sample::Index,
        ) {
            let lines: Vec<_> = lines.iter().map(|(n, c)| c.repeat(n / 20)).collect();
            let text = lines.join("\n");
            let all = pieces(&text);
            for piece in &all {
                prop_assert!(text.get(piece.bytes.clone()).is_some_and(|text| text.len() <= BYTES));
                prop_assert!(piece.lines.1 - piece.lines.0 < LINES);
            }
            let number = which.index(lines.len());
            // A line feed at the end of the text does not begin a line, so no piece has an empty
            // last line.
            prop_assume!(number == 0 || number + 1 < lines.len() || !lines[number].is_empty());
            let before: usize = lines[..number].iter().map(|line| line.len() + 1).sum();
            let mut from = at.index(lines[number].len() + 1);
            let mut to = (from + WHOLE).min(lines[number].len());
            while !lines[number].is_char_boundary(from) { from -= 1; }
            while !lines[number].is_char_boundary(to) { to -= 1; }
            let to = to.max(from);
            let part = before + from..before + to;
            let has = |piece: &Piece| {
                (piece.lines.0..=piece.lines.1).contains(&number)
                    && piece.bytes.start <= part.start
                    && part.end <= piece.bytes.end
            };
            prop_assert!(all.iter().any(has));
        }
    }
}
