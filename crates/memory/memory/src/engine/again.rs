//! Replaces lines of a result by a reference, if an earlier result of the list has the same lines.

use std::collections::HashMap;

use accp_frame::TokenCounter;

use super::mark::{self, Lines};

/// The tokens that a reference has to save, not counting its own tokens.
const WORTH: usize = 40;
/// A reference to a single line is hard to follow, so such a reference has to save this many tokens.
const WORTH_OF_ONE: usize = 150;
/// How many places of a line are tried as the beginning of repeated lines, the newest first.
const PLACES: usize = 40;
/// A line of fewer bytes begins no reference. Neither does a line without letters and digits.
const SHORT: usize = 4;

/// The lines of results, as they stand in the list.
#[derive(Debug, Clone, Default)]
pub(super) struct Standing {
    results: Vec<Result>,
    /// For each line, the results that have it, and its index in each result.
    places: HashMap<String, Vec<(usize, usize)>>,
}

#[derive(Debug, Clone)]
struct Result {
    name: String,
    lines: Vec<String>,
}

/// A run of lines that an earlier result has.
struct Run {
    result: usize,
    from: usize,
    lines: usize,
}

impl Standing {
    /// Adds an uncut result, with its lines as the list has them.
    pub(super) fn add(&mut self, name: &str, text: &str) {
        let result = self.results.len();
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        for (at, line) in lines.iter().enumerate() {
            if says_where(line) && mark::read(line).is_none() {
                let places = self.places.entry(line.clone()).or_default();
                places.push((result, at));
            }
        }
        self.results.push(Result {
            name: name.to_owned(),
            lines,
        });
    }

    /// Returns a result in which references replace the lines that earlier results have.
    pub(super) fn without(&self, text: &str, counter: &dyn TokenCounter) -> String {
        let lines: Vec<&str> = text.split('\n').collect();
        let mut out: Vec<String> = Vec::with_capacity(lines.len());
        let mut rest = &lines[..];
        while let Some((line, behind)) = rest.split_first() {
            if let Some(run) = self.longest(rest) {
                let (same, after) = rest.split_at(run.lines);
                let mark = Lines {
                    result: &self.results[run.result].name,
                    from: run.from + 1,
                    to: run.from + run.lines,
                };
                let mark = mark.again(same);
                let worth = if same.len() == 1 { WORTH_OF_ONE } else { WORTH };
                if counter.count(&same.join("\n")) >= counter.count(&mark) + worth {
                    out.push(mark);
                    rest = after;
                    continue;
                }
            }
            out.push((*line).to_owned());
            rest = behind;
        }
        out.join("\n")
    }

    /// Returns the longest run of lines that an earlier result has, beginning with the first of these lines.
    fn longest(&self, lines: &[&str]) -> Option<Run> {
        let places = self.places.get(*lines.first()?)?.iter().rev().take(PLACES);
        let runs = places.map(|&(result, from)| {
            let known = self.results[result].lines[from..].iter().zip(lines);
            let same = known.take_while(|(old, new)| old == *new && mark::read(new).is_none());
            let count = same.count();
            let blank = lines[..count].iter().rev();
            let blank = blank.take_while(|line| line.trim().is_empty()).count();
            Run {
                result,
                from,
                lines: count - blank,
            }
        });
        runs.filter(|run| run.lines > 0)
            .max_by_key(|run| (run.lines, run.result))
    }
}

/// Returns whether a line may begin a reference: it has enough text to be recognized.
fn says_where(line: &str) -> bool {
    line.trim().len() >= SHORT && line.contains(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::WORDS;

    #[test]
    fn lines_that_stand_above_are_referred_to_and_others_stay() {
        let mut standing = Standing::default();
        let page = |from: usize, to: usize| {
            let lines = (from..to).map(|n| format!("line {n} of the long page says so"));
            lines.collect::<Vec<_>>().join("\n")
        };
        standing.add("c1", &page(0, 30));
        let other = format!("new\n{}\nend", page(5, 25));
        let expected = "new\n[lines 6-25 of result c1 again, from \"line 5 of the long\" to \"line 24 of the long\"]\nend";
        assert_eq!(standing.without(&other, &WORDS), expected);
        // The first text is too short for a reference to pay. The second has no line that may begin a reference.
        assert_eq!(standing.without(&page(5, 7), &WORDS), page(5, 7));
        assert_eq!(standing.without("---\n---", &WORDS), "---\n---");
    }
}
