//! Cuts lines out of results: chooses the lines that stay, and puts marks in place of the others.

use std::collections::BTreeSet;

use accp_frame::TokenCounter;

use super::mark::Lines;
use crate::offload::is_error;

/// How many tokens of its first lines, and of its last lines, an old result keeps.
const OLD: [usize; 2] = [200, 100];
/// How many tokens of its first lines, and of its last lines, a new result that is too large keeps.
const LARGE: [usize; 2] = [1400, 700];
/// The most lines that look like errors, and the most that have words of the call.
const ERRORS: usize = 5;
const WORDS: usize = 5;
/// A line with more tokens than this is not kept for its error or its words.
const LINE: usize = 100;

/// Returns an old result with only its first and last lines; `None` if no line would be left out.
pub(super) fn ends(name: &str, text: &str, counter: &dyn TokenCounter) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let tokens = tokens(&lines, counter);
    shown(name, &lines, &tokens, &at_ends(&tokens, OLD), counter)
}

/// Returns the mark that stands for all of a result.
pub(super) fn gone(name: &str, text: &str) -> String {
    let lines = Lines {
        result: name,
        from: 1,
        to: text.split('\n').count(),
    };
    lines.left_out()
}

/// Returns a new result that is too large with only its first and last lines, lines that look like errors, and lines
/// with words of its call. `None` if no line would be left out.
pub(super) fn preview(
    name: &str,
    text: &str,
    words: &BTreeSet<String>,
    counter: &dyn TokenCounter,
) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let tokens = tokens(&lines, counter);
    let mut keep = at_ends(&tokens, LARGE);
    // The first line that no longer fits at each end is kept, too: one long line may be most of the result.
    let edges = (0..lines.len()).filter(|at| !keep.contains(at));
    let edges = [edges.clone().next(), edges.clone().next_back()];
    keep.extend(edges.into_iter().flatten());
    let is_short = |at: &usize| tokens[*at] <= LINE;
    let errors = (0..lines.len()).filter(is_short);
    let errors: Vec<usize> = errors
        .filter(|at| is_error(lines[*at]))
        .take(ERRORS)
        .collect();
    let mut asked: Vec<(usize, usize)> = (0..lines.len())
        .filter(is_short)
        .map(|at| (hits(lines[at], words), at))
        .filter(|(hits, _)| *hits > 0)
        .collect();
    asked.sort_by_key(|(hits, at)| (std::cmp::Reverse(*hits), *at));
    keep.extend(errors);
    keep.extend(asked.iter().take(WORDS).map(|(_, at)| *at));
    shown(name, &lines, &tokens, &keep, counter)
}

/// Returns how many of the words a line has.
fn hits(line: &str, words: &BTreeSet<String>) -> usize {
    let lower = line.to_lowercase();
    words.iter().filter(|word| lower.contains(&***word)).count()
}

fn tokens(lines: &[&str], counter: &dyn TokenCounter) -> Vec<usize> {
    let tokens = lines.iter().map(|line| counter.count(line) + 1);
    tokens.collect()
}

/// Returns the indices of the first lines and of the last lines that fit into these numbers of tokens.
fn at_ends(tokens: &[usize], [head, tail]: [usize; 2]) -> BTreeSet<usize> {
    let first = fitting(tokens.iter(), head);
    let last = fitting(tokens.iter().rev(), tail);
    (0..first)
        .chain(tokens.len().saturating_sub(last)..tokens.len())
        .collect()
}

fn fitting<'t>(tokens: impl Iterator<Item = &'t usize>, mut room: usize) -> usize {
    let fitting = tokens.take_while(|tokens| {
        let fits = **tokens <= room;
        room -= if fits { **tokens } else { 0 };
        fits
    });
    fitting.count()
}

/// Returns the kept lines, with a mark for each run of other lines. A run that has no more tokens than its mark
/// stays. `None` if no line is left out.
fn shown(
    name: &str,
    lines: &[&str],
    tokens: &[usize],
    keep: &BTreeSet<usize>,
    counter: &dyn TokenCounter,
) -> Option<String> {
    let mut out: Vec<String> = Vec::new();
    let mut leaves = false;
    let mut at = 0;
    while at < lines.len() {
        if keep.contains(&at) {
            out.push(lines[at].to_owned());
            at += 1;
            continue;
        }
        let end = keep.range(at..).next().copied().unwrap_or(lines.len());
        let mark = Lines {
            result: name,
            from: at + 1,
            to: end,
        };
        let mark = mark.left_out();
        if tokens[at..end].iter().sum::<usize>() > counter.count(&mark) + 1 {
            out.push(mark);
            leaves = true;
        } else {
            out.extend(lines[at..end].iter().map(|line| (*line).to_owned()));
        }
        at = end;
    }
    leaves.then(|| out.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::WORDS as COUNTER;

    #[test]
    fn ends_errors_and_what_was_asked_for_stay() {
        let lines: Vec<String> = (1..=4_000).map(|n| format!("{n} all is well")).collect();
        let mut lines: Vec<&str> = lines.iter().map(|line| &**line).collect();
        lines[1_999] = "E: connection to db-7 refused";
        lines[2_999] = "the union of both";
        let words = BTreeSet::from(["union".to_owned()]);
        let text = lines.join("\n");
        let shown = preview("c1", &text, &words, &COUNTER).unwrap();
        let marks: Vec<&str> = shown.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(
            marks,
            [
                "[lines 282-1999 of result c1 left out; memory_read(\"c1\", 282, 1999) shows them]",
                "[lines 2001-2999 of result c1 left out; memory_read(\"c1\", 2001, 2999) shows them]",
                "[lines 3001-3859 of result c1 left out; memory_read(\"c1\", 3001, 3859) shows them]",
            ]
        );
        let old = ends("c1", &text, &COUNTER).unwrap();
        assert!(old.starts_with("1 all is well\n") && old.ends_with("\n4000 all is well"));
        assert_eq!(ends("c1", "one\ntwo", &COUNTER), None);
        // A single long line leaves as a whole, so that only its mark stays.
        assert_eq!(
            ends("c1", &"word ".repeat(900), &COUNTER).map(|text| text.lines().count()),
            Some(1)
        );
    }
}
