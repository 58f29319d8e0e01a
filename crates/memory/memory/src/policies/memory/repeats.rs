//! Replaces lines that the prompt already has by references to them.

use std::collections::HashMap;

use accp_frame::TokenCounter;

use super::wrappers::defines;
use crate::policy::{Kind, Message};

/// The tokens that a reference has to save, in a result and in the words of an agent. In an agent's words, a
/// reference splits a text that the reader needs in one piece, so it has to save more.
const RESULT: usize = 40;
const WORDS: usize = 150;

/// How many places of a line are tried as the beginning of repeated lines, the newest first.
const PLACES: usize = 40;
/// A line with fewer bytes begins no reference. Neither does a line without letters and digits: a line of dashes, for
/// example, does not show where it stands.
const SHORT: usize = 4;
/// The most words and characters of a line that a mark quotes.
const FIRST: usize = 6;
const FIRST_CHARACTERS: usize = 60;

/// The lines of messages that agents have seen.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    messages: HashMap<usize, Forms>,
    /// For each line, the messages that have it, and its number in each message.
    places: HashMap<String, Vec<(usize, usize)>>,
}

/// The two forms of a message that prompts may show: an agent that has not seen the message yet gets its first form.
/// A reference has to name the same lines in both forms.
#[derive(Debug)]
struct Forms {
    last: Numbered,
    /// The form at first sight; `None` if it is the same as the last form.
    first: Option<Numbered>,
}

/// Lines as a prompt shows them, with their numbers in the message.
#[derive(Debug, PartialEq)]
struct Numbered {
    lines: Vec<String>,
    numbers: Vec<usize>,
}

/// A run of lines that another message has.
struct Run {
    lines: usize,
    message: usize,
    /// The number of the first line.
    from: usize,
}

/// Returns the number of each of these lines in its message, and the number of the line behind them. Lines are
/// numbered from 1. A mark counts as the lines that it replaces.
pub(super) fn numbers(lines: &[String]) -> Vec<usize> {
    let mut next = 1_usize;
    let mut numbers = Vec::with_capacity(lines.len() + 1);
    for line in lines {
        numbers.push(next);
        next = match Mark::read(line) {
            Some(mark) if mark.is_gap => mark.to.saturating_add(1),
            Some(mark) => next.saturating_add(mark.lines()),
            None => next + 1,
        };
    }
    numbers.push(next);
    numbers
}

impl Numbered {
    fn new(lines: Vec<String>) -> Self {
        let numbers = numbers(&lines);
        Self { lines, numbers }
    }

    /// Returns how many lines are the same, beginning with the line that has this number.
    fn same(&self, number: usize, lines: &[String]) -> usize {
        let from = self.numbers.partition_point(|other| *other < number);
        if self.numbers.get(from) != Some(&number) {
            return 0;
        }
        let same = self.lines[from..].iter().zip(lines);
        let same = same.take_while(|(old, new)| old == new && !is_mark(new));
        same.count()
    }
}

impl Repeats {
    /// Adds a message: its lines in its last form, and those at first sight.
    pub(super) fn add(&mut self, message: usize, last: Vec<String>, first: Vec<String>) {
        let (last, first) = (Numbered::new(last), Numbered::new(first));
        for (line, number) in last.lines.iter().zip(&last.numbers) {
            if says_where(line) && !is_mark(line) {
                let places = self.places.entry(line.clone()).or_default();
                places.push((message, *number));
            }
        }
        let forms = Forms {
            first: (last != first).then_some(first),
            last,
        };
        self.messages.insert(message, forms);
    }

    /// Returns the lines of a message with `[as in p7:12-30: def union]` for runs of lines that stand
    /// in another message.
    pub(super) fn without(
        &self,
        message: &Message,
        lines: &[String],
        counter: &dyn TokenCounter,
    ) -> Vec<String> {
        let worth = match message.kind {
            Kind::System | Kind::User => return lines.to_vec(),
            Kind::Result => RESULT,
            _ => WORDS,
        };
        let mut out = Vec::with_capacity(lines.len());
        let mut rest = lines;
        while let Some(line) = rest.first() {
            if let Some(run) = self.longest(rest) {
                let (same, after) = rest.split_at(run.lines);
                let mark = Mark {
                    message: run.message,
                    from: run.from,
                    to: run.from + run.lines - 1,
                    is_gap: false,
                };
                let mark = mark.with(line);
                let tokens = counter.count(&same.join("\n"));
                // A reference to a single line is hard to follow, so it has to save more.
                let worth = if same.len() == 1 { WORDS } else { worth };
                if tokens > counter.count(&mark) + worth {
                    out.push(mark);
                    rest = after;
                    continue;
                }
            }
            out.push(line.clone());
            rest = &rest[1..];
        }
        out
    }

    /// Returns the longest run of lines that another message has, beginning with the first of these lines.
    fn longest(&self, lines: &[String]) -> Option<Run> {
        let places = self.places.get(lines.first()?)?.iter().rev().take(PLACES);
        let runs = places.filter_map(|&(message, from)| {
            let Forms { last, first } = self.messages.get(&message)?;
            let count = last.same(from, lines);
            let count = match first {
                Some(first) => count.min(first.same(from, lines)),
                None => count,
            };
            let lines = without_end(&lines[..count]);
            (lines > 0).then_some(Run {
                lines,
                message,
                from,
            })
        });
        runs.max_by_key(|run| (run.lines, run.message))
    }
}

/// Returns whether a line may begin a reference: it has enough text to be recognized.
fn says_where(line: &str) -> bool {
    line.trim().len() >= SHORT && line.contains(char::is_alphanumeric)
}

/// Returns how many of these lines a reference may replace. Blank lines at the end stay. So does the end of a code
/// block that begins before these lines: otherwise the text behind the reference would look like code.
fn without_end(lines: &[String]) -> usize {
    let without_blank = |lines: &[String]| {
        let blank = lines.iter().rev();
        let blank = blank.take_while(|line| line.trim().is_empty()).count();
        lines.len() - blank
    };
    let count = without_blank(lines);
    let fences = lines[..count].iter().filter(|line| line.starts_with("```"));
    let is_open = fences.count() % 2 == 1;
    match lines[..count].split_last() {
        Some((last, rest)) if is_open && last.trim() == "```" => without_blank(rest),
        _ => count,
    }
}

/// Returns the first words of a line, for a mark.
fn first(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().take(FIRST).collect();
    let words: String = words.join(" ").chars().take(FIRST_CHARACTERS).collect();
    words.trim_end().to_owned()
}

/// A mark that replaces lines of a message. It names the lines, and says whether they are left out or stand in
/// another message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) message: usize,
    /// The numbers of the first and the last line, from 1.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) is_gap: bool,
}

impl Mark {
    /// Returns the mark with the first words of the first line.
    pub(super) fn with(self, line: &str) -> String {
        let Self {
            message, from, to, ..
        } = self;
        let what = if self.is_gap { "..." } else { "as in" };
        let to = if from == to {
            String::new()
        } else {
            format!("-{to}")
        };
        format!("[{what} p{message}:{from}{to}: {}]", first(line))
    }

    /// Reads the beginning of a line as a mark: `[... p7:12-30: `, `[as in p7:12: `.
    fn read(line: &str) -> Option<Self> {
        let inner = line.strip_prefix('[')?;
        let (is_gap, inner) = match inner.strip_prefix("as in ") {
            Some(inner) => (false, inner),
            None => (true, inner.strip_prefix("... ")?),
        };
        let (message, inner) = inner.strip_prefix('p')?.split_once(':')?;
        let (lines, _) = inner.split_once(": ")?;
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        Some(Self {
            message: message.parse().ok()?,
            from: from.parse().ok()?,
            to: to.parse().ok()?,
            is_gap,
        })
    }

    /// Returns the number of lines that the mark replaces.
    fn lines(self) -> usize {
        self.to.saturating_add(1).saturating_sub(self.from)
    }
}

/// Returns a line of a message, with a `\` before it if the line looks like one of our marks or like a definition.
pub(super) fn guarded(line: &str) -> String {
    let bare = line.trim_start_matches('\\');
    let guard = if is_mark(bare) || defines(bare) || bare.starts_with("@=") {
        "\\"
    } else {
        ""
    };
    format!("{guard}{line}")
}

/// Returns whether a line looks like a mark.
pub(super) fn is_mark(line: &str) -> bool {
    Mark::read(line).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::counters::BYTES;
    use accp_context::Recorded;

    /// Replaces references by the lines that a model would find there.
    fn resolved(repeats: &Repeats, lines: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        for line in lines {
            match Mark::read(line) {
                Some(mark) => {
                    let there = resolved(repeats, &repeats.messages[&mark.message].last.lines);
                    assert!(line.ends_with(&format!(": {}]", first(&there[mark.from - 1]))));
                    out.extend_from_slice(&there[mark.from - 1..mark.to]);
                }
                None => out.push(line.clone()),
            }
        }
        out
    }

    proptest! {
        #[test]
        fn a_reference_leads_to_the_same_lines(
            texts in prop::collection::vec(
                prop::collection::vec("(alpha|beta|gamma) (one|two|three)? {0,40}[xyz]?", 1..12), 2..6),
        ) {
            let mut repeats = Repeats::default();
            let result = json!({ "role": "tool", "content": "" });
            let message = Message::new(0, Recorded::of(&result)).unwrap();
            for (index, lines) in texts.iter().enumerate() {
                let shown = repeats.without(&message, lines, &BYTES);
                prop_assert!(shown.join("\n").len() <= lines.join("\n").len());
                prop_assert_eq!(&resolved(&repeats, &shown), lines);
                repeats.add(index, shown.clone(), shown);
            }
        }
    }

    /// Returns the text that is shown for the message `new` after a message with the text `old`.
    fn shown(kind: &str, old: &str, new: &str) -> String {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let mut repeats = Repeats::default();
        repeats.add(3, lines(old), lines(old));
        let message = json!({ "role": kind, "content": "" });
        let message = Message::new(4, Recorded::of(&message)).unwrap();
        repeats.without(&message, &lines(new), &BYTES).join("\n")
    }

    #[test]
    fn a_reference_begins_with_words() {
        let rule = "-".repeat(90);
        let trace = format!(
            "Traceback, newest call last\n  in board\n{}",
            "x".repeat(60)
        );
        let old = format!("{rule}\n{trace}\n{rule}");
        let expected = format!("{rule}\n[as in p3:2-4: Traceback, newest call last]\n2 failed");
        assert_eq!(
            shown("tool", &old, &format!("{rule}\n{trace}\n2 failed")),
            expected
        );
        // The text quoted in a reference ends after a whole word.
        let cut = format!("{} tail", "y".repeat(FIRST_CHARACTERS - 1));
        assert_eq!(first(&cut), "y".repeat(FIRST_CHARACTERS - 1));
    }

    #[test]
    fn the_end_of_a_code_block_stays_with_its_beginning() {
        let code = format!("fn board() {{\n    {}\n}}", "departures(); ".repeat(14));
        let old = format!("Look:\n```rust\n{code}\n```\nRun it.");
        let new = format!("Again:\n```rust\n// once more\n{code}\n```");
        let expected = "Again:\n```rust\n// once more\n[as in p3:3-5: fn board() {]\n```";
        assert_eq!(shown("agent", &old, &new), expected);
        // A reference replaces a block that repeats as a whole, fences included.
        let new = format!("Again:\n```rust\n{code}\n```");
        assert_eq!(
            shown("agent", &old, &new),
            "Again:\n[as in p3:2-6: ```rust]"
        );
    }

    #[test]
    fn a_reference_leads_to_the_same_lines_in_both_forms() {
        let mut repeats = Repeats::default();
        let lines = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
        let run = "fn new\nx\ny";
        let found = |repeats: &Repeats| {
            let found = repeats.longest(&lines(run))?;
            Some((found.message, found.from, found.lines))
        };
        // The last form of this message leaves out the lines before the run.
        repeats.add(
            0,
            lines(&format!("[... p0:1-7: use]\n{run}")),
            lines(&format!("a\nb\nc\nd\ne\nf\ng\n{run}")),
        );
        assert_eq!(found(&repeats), Some((0, 8, 3)));
        // The first form of this message has fewer lines of the run, or none.
        repeats.add(1, lines(run), lines("fn new\nx\n[... p1:3: y]"));
        assert_eq!(found(&repeats), Some((0, 8, 3)));
        let mut repeats = Repeats::default();
        repeats.add(1, lines(run), lines("[... p1:1-3: fn new]"));
        assert_eq!(found(&repeats), None);
        // A reference to four lines counts as four lines.
        repeats.add(
            2,
            lines(&format!("[as in p1:2-5: z]\n{run}")),
            lines(&format!("[as in p1:2-5: z]\n{run}")),
        );
        assert_eq!(found(&repeats), Some((2, 5, 3)));
    }

    #[test]
    fn what_a_message_says_is_never_a_mark_of_ours() {
        for line in [
            "[as in p7:12-30: def union]",
            "[... p3:1: x]",
            "\\[... p3:1-2: x]",
            "[From here on, run' says",
            "@=R1(id,name)",
        ] {
            assert_eq!(guarded(line), format!("\\{line}"));
            assert!(!is_mark(&guarded(line)));
        }
        for line in ["[... p7]", "[as in p7: x]", "as in p7:1: x", "[x]", ""] {
            assert_eq!(guarded(line), line);
        }
    }
}
