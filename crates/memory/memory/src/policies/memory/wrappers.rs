//! Shows lines that a tool writes around each of its results only once.

use std::collections::HashMap;

use accp_frame::TokenCounter;

/// The most lines before and after a text that count as its wrapper.
const LINES: usize = 4;
/// The fewest tokens of a wrapper. A wrapper with fewer tokens saves too little to pay soon for its definition.
const TOKENS: usize = 8;
/// A result is compared with this many of the newest results of its tool.
const RESULTS: usize = 8;
/// The most wrappers of one tool.
const MOST: usize = 4;

/// The beginning of a definition.
const DEFINES: &str = "[From here on, ";
/// The line of a definition that stands for the text.
const TEXT: &str = "..";

/// The wrappers of each tool.
#[derive(Debug, Default)]
pub(super) struct Wrappers(HashMap<String, Tool>);

#[derive(Debug, Default)]
struct Tool {
    wrappers: Vec<Wrapper>,
    /// The first and the last lines of results that were shown with all their lines.
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
    /// The name of the tool with one `'` for the first wrapper, two for the second, and so on: `bash'`.
    pub(super) speaker: String,
    /// The definition of this speaker, if this is its first result.
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
        let known = known
            .max_by_key(|(_, wrapper)| wrapper.len())
            .map(|(at, _)| at);
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
        let first: Vec<String> = lines.iter().take(LINES + 1).cloned().collect();
        let last: Vec<String> = lines.iter().rev().take(LINES + 1).cloned().collect();
        let shared = self.results.iter().map(|[others, ends]| {
            let before = first.iter().zip(others).take_while(|(a, b)| a == b).count();
            let after = last.iter().zip(ends).take_while(|(a, b)| a == b).count();
            Wrapper {
                before: first[..before].to_vec(),
                after: last[..after].iter().rev().cloned().collect(),
            }
        });
        // Results that share more lines repeat each other, so these lines are not a wrapper.
        let is_short = |lines: &[String]| lines.len() <= LINES;
        let shared = shared.filter(|wrapper| {
            is_short(&wrapper.before) && is_short(&wrapper.after) && wrapper.fits(lines)
        });
        // In a definition, the first line `..` stands for the text. So a wrapper must not have such
        // a line before the text.
        let shared = shared.filter(|wrapper| !wrapper.before.iter().any(|line| line == TEXT));
        let longest = shared.max_by_key(Wrapper::len);
        let longest = longest.filter(|wrapper| {
            self.wrappers.len() < MOST && counter.count(&wrapper.text()) >= TOKENS
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

    fn text(&self) -> String {
        let (before, after) = (self.before.join("\n"), self.after.join("\n"));
        format!("{before}\n{after}")
    }

    /// Returns the definition. It says how many lines the wrapper has, because a line of the wrapper may end like the
    /// definition.
    fn definition(&self, speaker: &str) -> String {
        let mut lines: Vec<&str> = self.before.iter().map(String::as_str).collect();
        lines.push(TEXT);
        lines.extend(self.after.iter().map(String::as_str));
        let count = lines.len() - 1;
        let noun = if count == 1 { "line" } else { "lines" };
        let lines = lines.join("\n");
        format!("{DEFINES}{speaker} says a text with {count} {noun} around it:\n{lines}]\n")
    }
}

/// Returns whether a line looks like the beginning of a definition.
pub(super) fn defines(line: &str) -> bool {
    line.starts_with(DEFINES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::BYTES;

    fn bare(wrappers: &mut Wrappers, text: &str) -> Option<(String, String)> {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let bare = wrappers.bare("run", &lines, &BYTES)?;
        let lines = bare.lines.join("\n");
        Some((
            bare.speaker,
            format!("{}{lines}", bare.definition.unwrap_or_default()),
        ))
    }

    #[test]
    fn a_wrapper_is_said_once() {
        let mut wrappers = Wrappers::default();
        assert_eq!(
            bare(&mut wrappers, "<code>0</code>\n<out>\na\nb\n</out>"),
            None
        );
        let definition = "[From here on, run' says a text with 3 lines around it:\n\
            <code>0</code>\n<out>\n..\n</out>]\n";
        let second = bare(&mut wrappers, "<code>0</code>\n<out>\nc\n</out>").unwrap();
        assert_eq!(second, ("run'".to_owned(), format!("{definition}c")));
        let empty = bare(&mut wrappers, "<code>0</code>\n<out>\n</out>").unwrap();
        assert_eq!(empty, ("run'".to_owned(), String::new()));
        // Another wrapper gets its own name.
        assert_eq!(
            bare(&mut wrappers, "<code>1</code>\n<out>\nd\n</out>"),
            None
        );
        let other = bare(&mut wrappers, "<code>1</code>\n<out>\ne\n</out>").unwrap();
        assert_eq!(other.0, "run''");
        let first = bare(&mut wrappers, "<code>0</code>\n<out>\nf\n</out>").unwrap();
        assert_eq!(first, ("run'".to_owned(), "f".to_owned()));
    }

    #[test]
    fn a_definition_says_where_it_ends() {
        let mut wrappers = Wrappers::default();
        for (text, expected) in [
            ("a\n[python 3]\n[the code is 0]", None),
            (
                "b\n[python 3]\n[the code is 0]",
                Some("..\n[python 3]\n[the code is 0]]\nb"),
            ),
            ("..\nthe code is 1\na", None),
            ("..\nthe code is 1\nb", None),
        ] {
            let shown = bare(&mut wrappers, text);
            let says = "[From here on, run' says a text with 2 lines around it:\n";
            let expected = expected.map(|text| format!("{says}{text}"));
            assert_eq!(shown.map(|(_, text)| text), expected);
        }
    }

    #[test]
    fn texts_that_share_little_have_no_wrapper() {
        let mut wrappers = Wrappers::default();
        for text in ["ok\na", "ok\nb", "a\nok", "ok", ""] {
            assert_eq!(bare(&mut wrappers, text), None, "{text}");
        }
        assert!(wrappers.bare("other", &["ok".to_owned()], &BYTES).is_none());
    }

    #[test]
    fn a_tool_has_few_wrappers() {
        let mut wrappers = Wrappers::default();
        for n in 0..100 {
            for text in ["a", "b"] {
                let text = format!("<code>{n}</code>\n{text}{n}\n<code>{n}</code>");
                bare(&mut wrappers, &text);
            }
        }
        let tool = &wrappers.0["run"];
        assert_eq!((tool.wrappers.len(), tool.results.len()), (MOST, RESULTS));
    }
}
