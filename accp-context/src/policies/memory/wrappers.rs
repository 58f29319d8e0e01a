//! Lines that a tool writes around each of its results.

use std::collections::HashMap;

use accp_frame::TokenCounter;

/// The most lines before and after a text that count as its wrapper.
const LINES: usize = 4;
/// The fewest tokens of a wrapper: what it saves in each result must soon be more than what its
/// definition costs.
const TOKENS: usize = 8;
/// The newest results of a tool that a result is compared with.
const RESULTS: usize = 8;
/// The most wrappers of one tool.
const MOST: usize = 4;

/// The wrappers of each tool.
#[derive(Debug, Default)]
pub(super) struct Wrappers(HashMap<String, Tool>);

#[derive(Debug, Default)]
struct Tool {
    wrappers: Vec<Wrapper>,
    /// The first and last lines of results that stand whole.
    results: Vec<[Vec<String>; 2]>,
}

/// Lines before and after a text.
#[derive(Debug)]
struct Wrapper {
    before: Vec<String>,
    after: Vec<String>,
}

/// A result without its wrapper.
#[derive(Debug, PartialEq)]
pub(super) struct Bare {
    /// The tool with a `'` for each wrapper before its own: `bash'`.
    pub(super) speaker: String,
    /// What the speaker means, where this is its first text.
    pub(super) definition: Option<String>,
    pub(super) lines: Vec<String>,
}

impl Wrappers {
    /// Takes the wrapper of a result away, if an earlier result of the same tool had it too.
    pub(super) fn bare(
        &mut self,
        speaker: &str,
        lines: &[String],
        counter: &dyn TokenCounter,
    ) -> Option<Bare> {
        let tool = self.0.entry(speaker.to_owned()).or_default();
        let known = tool.wrappers.iter().enumerate();
        let known = known.filter(|(_, wrapper)| wrapper.fits(lines));
        let known = known.max_by_key(|(_, wrapper)| wrapper.len()).map(|(at, _)| at);
        let is_new = known.is_none();
        let at = match known {
            Some(at) => at,
            None => tool.find(lines, counter)?,
        };
        let wrapper = &tool.wrappers[at];
        let speaker = format!("{speaker}{}", "'".repeat(at + 1));
        let inside = &lines[wrapper.before.len()..lines.len() - wrapper.after.len()];
        Some(Bare {
            definition: is_new.then(|| wrapper.definition(&speaker)),
            lines: inside.to_vec(),
            speaker,
        })
    }
}

impl Tool {
    /// Looks for a wrapper that this result and an earlier one have. If there is none, later results
    /// are compared with this one.
    fn find(&mut self, lines: &[String], counter: &dyn TokenCounter) -> Option<usize> {
        let first: Vec<String> = lines.iter().take(LINES).cloned().collect();
        let last: Vec<String> = lines.iter().rev().take(LINES).cloned().collect();
        let shared = self.results.iter().map(|[others, ends]| {
            let before = first.iter().zip(others).take_while(|(a, b)| a == b).count();
            let after = last.iter().zip(ends).take_while(|(a, b)| a == b).count();
            Wrapper {
                before: first[..before].to_vec(),
                after: last[..after].iter().rev().cloned().collect(),
            }
        });
        let shared = shared.filter(|wrapper| wrapper.fits(lines));
        let longest = shared.max_by_key(Wrapper::len);
        let longest = longest.filter(|wrapper| {
            self.wrappers.len() < MOST && counter.count(&wrapper.text("\n")) >= TOKENS
        });
        if longest.is_none() {
            self.results.push([first, last]);
            let old = self.results.len().saturating_sub(RESULTS);
            self.results.drain(..old);
        }
        self.wrappers.push(longest?);
        Some(self.wrappers.len() - 1)
    }
}

impl Wrapper {
    fn len(&self) -> usize {
        self.before.iter().chain(&self.after).map(String::len).sum()
    }

    fn fits(&self, lines: &[String]) -> bool {
        lines.len() >= self.before.len() + self.after.len()
            && lines.starts_with(&self.before)
            && lines.ends_with(&self.after)
    }

    fn text(&self, between: &str) -> String {
        let (before, after) = (self.before.join("\n"), self.after.join("\n"));
        format!("{before}{between}{after}")
    }

    fn definition(&self, speaker: &str) -> String {
        format!("[{speaker} stands for a text with these lines around it:\n{}]\n", self.text("\n..\n"))
    }
}
