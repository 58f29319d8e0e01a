//! Lines of results that stand in the list already.

use std::collections::HashMap;

use accp_frame::TokenCounter;

use super::mark::{self, Lines};

/// The tokens that a reference has to save beside those that it takes.
const WORTH: usize = 40;
/// A single line is hard to follow, so a reference to one has to save more.
const WORTH_OF_ONE: usize = 150;
/// The newest results with a line at which a repeat of it is looked for.
const PLACES: usize = 40;
/// A line of fewer bytes begins no reference. Neither does a line without letters and digits.
const SHORT: usize = 4;

/// The lines of results, as they stand in the list.
#[derive(Debug, Clone, Default)]
pub(super) struct Standing {
    results: Vec<Result>,
    /// Results that have a line, and where in them.
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
    /// Adds a result that stands whole in the list, with its lines as they stand there.
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

    /// Returns a result with references to lines that stand in earlier ones.
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

    /// Returns the longest run of lines from here on that an earlier result has.
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

/// Returns whether the words of a line are enough to find it.
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
        // Too short to pay, and nothing that a person would call a place.
        assert_eq!(standing.without(&page(5, 7), &WORDS), page(5, 7));
        assert_eq!(standing.without("---\n---", &WORDS), "---\n---");
    }
}
