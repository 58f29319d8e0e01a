//! The parts of Markdown that the protocol reads: headings with their sections, items with a mark, and the status of
//! a deliverable. All of them are read line by line; a fence or a quotation has no meaning here.

use crate::space::{is_blank, is_space, trim};

/// A section: a heading, and all up to the next heading of its level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section<'t> {
    /// The title, without white space around it.
    pub(crate) title: &'t str,
    /// The line of the heading, from 1.
    pub(crate) line: usize,
    /// The text after the line of the title.
    pub(crate) body: &'t str,
}

/// An item of a list with a mark: `- [mark] body`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item<'t> {
    /// The word in the brackets.
    pub(crate) mark: &'t str,
    /// The text after the brackets, without white space around it. If there is no such text, the next line with text.
    pub(crate) body: &'t str,
    /// Whether white space stands between the brackets and the text.
    pub(crate) has_gap: bool,
    /// The line, from 1.
    pub(crate) line: usize,
}

/// A line: its number from 1, where it begins, and its text with its line feed.
#[derive(Clone, Copy)]
struct Line<'t> {
    number: usize,
    start: usize,
    text: &'t str,
}

impl Line<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> + Clone {
    let mut end = 0;
    let lines = text.split_inclusive('\n').enumerate();
    lines.map(move |(index, text)| {
        let start = end;
        end += text.len();
        Line {
            number: index + 1,
            start,
            text,
        }
    })
}

/// Returns `rest`, or the next line with text if `rest` is blank, and where the line of the returned text ends.
fn filled<'t>(
    rest: &'t str,
    end: usize,
    mut after: impl Iterator<Item = Line<'t>>,
) -> (&'t str, usize) {
    if !is_blank(rest) {
        return (trim(rest), end);
    }
    let next = after.find(|line| !is_blank(line.text));
    next.map_or(("", end), |line| (trim(line.text), line.end()))
}

/// Returns the sections of a level. `level` is the row of `#` of the headings, such as `##`.
pub(crate) fn sections<'t>(text: &'t str, level: &'static str) -> Vec<Section<'t>> {
    let mut found: Vec<(Section<'t>, usize)> = Vec::new();
    let mut lines = lines(text);
    let mut start = 0;
    while let Some(line) = lines.next() {
        let rest = line.text.strip_prefix(level);
        if let Some(rest) = rest.filter(|rest| rest.starts_with(is_space)) {
            if let Some((before, begin)) = found.last_mut() {
                before.body = text.get(*begin..start.max(*begin)).unwrap_or_default();
            }
            let (title, end) = filled(rest, line.end(), lines.clone());
            let section = Section {
                title,
                line: line.number,
                body: text.get(end..).unwrap_or_default(),
            };
            found.push((section, end));
        }
        start = line.end();
    }
    found.into_iter().map(|(section, _)| section).collect()
}

/// Returns all items with a mark. White space between their parts may have line feeds.
pub(crate) fn items(text: &str) -> Vec<Item<'_>> {
    let mut found = Vec::new();
    for line in lines(text).filter(|line| !is_blank(line.text)) {
        let dash = line.text.trim_start_matches(is_space);
        let dash = line.end() - dash.len();
        let rest = text.get(dash..).and_then(|rest| rest.strip_prefix('-'));
        let rest = rest.and_then(|rest| rest.trim_start_matches(is_space).strip_prefix('['));
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        let Some(rest) = rest else {
            continue;
        };
        let length = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        let (mark, rest) = rest.split_at(length);
        let Some(rest) = rest.strip_prefix(']').filter(|_| !mark.is_empty()) else {
            continue;
        };
        let body = rest.trim_start_matches(is_space);
        let body = body.split('\n').next().unwrap_or_default();
        found.push(Item {
            mark,
            body: trim(body),
            has_gap: rest.starts_with(is_space),
            line: line.number,
        });
    }
    found
}

/// Returns the status that a deliverable says: the first of `Draft`, `In Review` and `Frozen`.
pub(crate) fn status(text: &str) -> Option<&str> {
    let mut lines = lines(text);
    while let Some(line) = lines.next() {
        if let Some(rest) = line.text.strip_prefix("Status:") {
            let (status, _) = filled(rest, line.end(), lines.clone());
            if matches!(status, "Draft" | "In Review" | "Frozen") {
                return Some(status);
            }
        }
    }
    None
}

/// Returns the line of the first occurrence of a word, in capital or small letters, with no letter, digit or
/// underscore beside it.
pub(crate) fn line_of_word(text: &str, word: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    lines(text).find_map(|line| {
        // The long s counts as an s, as in Python.
        let folded = line.text.replace('ſ', "s").to_ascii_lowercase();
        let word = word.to_ascii_lowercase();
        let mut all = folded.match_indices(&word);
        let is_alone = |(at, found): (usize, &str)| {
            let before = folded[..at].chars().next_back();
            let after = folded[at + found.len()..].chars().next();
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        };
        all.any(is_alone).then_some(line.number)
    })
}

#[cfg(test)]
mod tests {
    use super::{items, line_of_word, sections, status};

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let text = "# T\n\n## A\n\none\n### B\n\n##\nC\n\n##D\n## E";
        let found: Vec<_> = sections(text, "##")
            .iter()
            .map(|one| (one.title, one.line, one.body))
            .collect();
        let expected = [
            ("A", 3, "\none\n### B\n\n"),
            ("C", 8, "\n##D\n"),
            ("E", 12, ""),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_item_has_its_text_behind_it_or_on_the_next_line() {
        let text = "\n- [resolved] a\n  -[x]b\n- [ ] c\n- [deferred_nonblocking]\n\n  Reason: d\n- [y]\n-\n[z] e";
        let found: Vec<_> = items(text)
            .iter()
            .map(|one| (one.mark, one.body, one.has_gap, one.line))
            .collect();
        let expected = [
            ("resolved", "a", true, 2),
            ("x", "b", false, 3),
            ("deferred_nonblocking", "Reason: d", true, 5),
            ("y", "-", true, 8),
            ("z", "e", true, 9),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_status_is_the_first_that_is_known() {
        assert_eq!(
            status("Status: Done\nStatus:  In Review \n"),
            Some("In Review")
        );
        assert_eq!(status("Status:\n\nDraft\n"), Some("Draft"));
        assert_eq!(status("The Status: Draft"), None);
    }

    #[test]
    fn a_word_stands_alone() {
        assert_eq!(line_of_word("a\nTodo: b", "TODO"), Some(2));
        assert_eq!(line_of_word("unre\u{17f}olved", "unresolved"), Some(1));
        assert_eq!(line_of_word("todos tbd_ \u{e9}tbd", "tbd"), None);
    }
}
