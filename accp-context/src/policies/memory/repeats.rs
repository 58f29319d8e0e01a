//! References to lines that stand in the prompt already.

use std::collections::{BTreeSet, HashMap};

use accp_frame::TokenCounter;

use super::wrappers::defines;
use crate::policy::{Kind, Message};

/// The tokens that a reference has to save: in a result, and in the words of an agent. Whoever needs
/// a text again needs it as one piece, so a reference in the middle of words has to save more.
const RESULT: usize = 40;
const WORDS: usize = 150;

/// The newest messages with a line at which a repeat of it is looked for.
const PLACES: usize = 40;
/// A line of fewer bytes begins no reference. Neither does a line without letters and digits: a rule
/// between the parts of an output says nothing about its place.
const SHORT: usize = 4;
/// The most words and characters of a line that a mark says.
const FIRST: usize = 6;
const FIRST_CHARACTERS: usize = 60;

/// The lines of messages that agents have seen.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    messages: HashMap<usize, Forms>,
    /// The messages that have a line, with its number in both forms, if its first words lead there.
    places: HashMap<String, Vec<(usize, [usize; 2])>>,
}

/// The two forms of a message that a prompt may show: other agents may not have seen it yet. A
/// reference has to lead to the same lines in both.
#[derive(Debug)]
struct Forms {
    last: Vec<String>,
    /// The form at first sight, where it is another.
    first: Option<Vec<String>>,
}

/// A run of lines that another message has.
struct Run {
    lines: usize,
    message: usize,
}

impl Repeats {
    /// Adds a message: its lines in its last form, and those at first sight.
    pub(super) fn add(&mut self, message: usize, last: Vec<String>, first: Vec<String>) {
        let forms = Forms {
            first: (last != first).then_some(first),
            last,
        };
        let leading = forms.first.as_deref().map(|first| {
            let lines = first.iter().map(String::as_str);
            lines.zip(0..).zip(leads(first))
        });
        let leading = leading.map(|lines| {
            let lines = lines.filter_map(|(line, leads)| leads.then_some(line));
            lines.collect::<HashMap<&str, usize>>()
        });
        for (number, (line, leads)) in forms.last.iter().zip(leads(&forms.last)).enumerate() {
            if !leads || !says_where(line) || is_mark(line) {
                continue;
            }
            let at_first = match &leading {
                Some(leading) => leading.get(line.as_str()).copied(),
                None => Some(number),
            };
            if let Some(at_first) = at_first {
                let places = self.places.entry(line.clone()).or_default();
                places.push((message, [number, at_first]));
            }
        }
        self.messages.insert(message, forms);
    }

    /// Returns the lines of a message with `[12 lines as in p7: def union]` for runs of lines that
    /// stand in another message.
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
                let count = same.len();
                let noun = if count == 1 { "line" } else { "lines" };
                let mark = format!("[{count} {noun} as in p{}: {}]", run.message, first(line));
                let tokens = counter.count(&same.join("\n"));
                // Single lines elsewhere make no text that a reader can follow.
                let worth = if count == 1 { WORDS } else { worth };
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

    /// Returns the longest run of lines from here on that another message has, at a place to which
    /// its first words lead.
    fn longest(&self, lines: &[String]) -> Option<Run> {
        let places = self.places.get(lines.first()?)?.iter().rev().take(PLACES);
        let runs = places.map(|&(message, [last, first])| {
            let forms = &self.messages[&message];
            let same = |old: &[String]| {
                let same = old.iter().zip(lines);
                let same = same.take_while(|(old, new)| old == new && !is_mark(new));
                same.count()
            };
            let count = same(&forms.last[last..]);
            let count = match &forms.first {
                Some(lines) => count.min(same(&lines[first..])),
                None => count,
            };
            Run {
                lines: without_end(&lines[..count]),
                message,
            }
        });
        runs.max_by_key(|run| (run.lines, run.message))
    }
}

/// Returns whether the first words of a line lead a reader to its place.
fn says_where(line: &str) -> bool {
    line.trim().len() >= SHORT && line.contains(char::is_alphanumeric)
}

/// Returns the number of these lines without blank ones at their end, and without the end of a code
/// block that begins before them: what follows a reference would read as code.
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
pub(super) fn first(line: &str) -> String {
    beginning(line, FIRST)
}

/// Returns the beginning of a line, at most so many words of it.
fn beginning(line: &str, words: usize) -> String {
    let words: Vec<&str> = line.split_whitespace().take(words).collect();
    let words: String = words.join(" ").chars().take(FIRST_CHARACTERS).collect();
    words.trim_end().to_owned()
}

/// Returns for each line whether it is the first that begins with its first words.
fn leads(lines: &[String]) -> impl Iterator<Item = bool> {
    let mut earlier: BTreeSet<String> = BTreeSet::new();
    lines.iter().map(move |line| {
        let words = first(line);
        let next = earlier.range(words.clone()..).next();
        let leads = next.is_none_or(|next| !next.starts_with(&words));
        earlier.insert(beginning(line, FIRST_CHARACTERS));
        leads
    })
}

/// Returns a line of a message, with `\` before what reads as a mark of ours or as the definition
/// of a shape.
pub(super) fn guarded(line: &str) -> String {
    let bare = line.trim_start_matches('\\');
    let guard = if is_mark(bare) || defines(bare) || bare.starts_with("@=") {
        "\\"
    } else {
        ""
    };
    format!("{guard}{line}")
}

/// Returns whether a line reads as a mark: `[12 lines as in p7: ..]`, `[12 lines: p7: ..]`.
pub(super) fn is_mark(line: &str) -> bool {
    let Some(inner) = line.strip_prefix('[') else {
        return false;
    };
    let words = inner.trim_start_matches(|character: char| character.is_ascii_digit());
    let words = words.strip_prefix(" line").unwrap_or_default();
    let words = words.strip_prefix('s').unwrap_or(words);
    words.starts_with(": p") || words.starts_with(" as in p")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::Recorded;

    #[derive(Debug)]
    struct Bytes;

    impl TokenCounter for Bytes {
        fn name(&self) -> &'static str {
            "bytes"
        }
        fn count(&self, text: &str) -> usize {
            text.len()
        }
    }

    /// Reads references as a model would: the message, its first line with these words, and so many
    /// lines from there.
    fn resolved(repeats: &Repeats, lines: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        for line in lines {
            let mark = line
                .strip_prefix('[')
                .and_then(|line| line.strip_suffix(']'));
            let Some((count, rest)) = mark.and_then(|mark| mark.split_once(" line")) else {
                out.push(line.clone());
                continue;
            };
            let rest = rest.trim_start_matches('s').strip_prefix(" as in p");
            let (message, words) = rest.unwrap().split_once(": ").unwrap();
            let there = &repeats.messages[&message.parse().unwrap()].last;
            let begins = |line: &String| beginning(line, FIRST_CHARACTERS).starts_with(words);
            let from = there.iter().position(begins).unwrap();
            let count: usize = count.parse().unwrap();
            out.extend_from_slice(&there[from..from + count]);
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
                let shown = repeats.without(&message, lines, &Bytes);
                prop_assert!(shown.join("\n").len() <= lines.join("\n").len());
                prop_assert_eq!(&resolved(&repeats, &shown), lines);
                repeats.add(index, shown.clone(), shown);
            }
        }
    }

    /// Returns a message as it is shown after another that is in its last form.
    fn shown(kind: &str, old: &str, new: &str) -> String {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let mut repeats = Repeats::default();
        repeats.add(3, lines(old), lines(old));
        let message = json!({ "role": kind, "content": "" });
        let message = Message::new(4, Recorded::of(&message)).unwrap();
        repeats.without(&message, &lines(new), &Bytes).join("\n")
    }

    #[test]
    fn a_reference_begins_with_words() {
        let rule = "-".repeat(90);
        let trace = format!(
            "Traceback, newest call last\n  in board\n{}",
            "x".repeat(60)
        );
        let old = format!("{rule}\n{trace}\n{rule}");
        let expected = format!("{rule}\n[3 lines as in p3: Traceback, newest call last]\n2 failed");
        assert_eq!(
            shown("tool", &old, &format!("{rule}\n{trace}\n2 failed")),
            expected
        );
        // The words of a mark end with a word, where they are cut.
        let cut = format!("{} tail", "y".repeat(FIRST_CHARACTERS - 1));
        assert_eq!(first(&cut), "y".repeat(FIRST_CHARACTERS - 1));
    }

    #[test]
    fn the_end_of_a_code_block_stays_with_its_beginning() {
        let code = format!("fn board() {{\n    {}\n}}", "departures(); ".repeat(14));
        let old = format!("Look:\n```rust\n{code}\n```\nRun it.");
        let new = format!("Again:\n```rust\n// once more\n{code}\n```");
        let expected = "Again:\n```rust\n// once more\n[3 lines as in p3: fn board() {]\n```";
        assert_eq!(shown("agent", &old, &new), expected);
        // A whole block is one piece.
        let new = format!("Again:\n```rust\n{code}\n```");
        assert_eq!(
            shown("agent", &old, &new),
            "Again:\n[5 lines as in p3: ```rust]"
        );
    }

    #[test]
    fn the_words_of_a_reference_begin_no_earlier_line() {
        let mut repeats = Repeats::default();
        let lines = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
        let long = "x".repeat(200);
        let add = |repeats: &mut Repeats, at, last: String, first: String| {
            repeats.add(at, lines(&last), lines(&first));
        };
        let run = format!("fn new\n{long}");
        add(&mut repeats, 0, format!("fn new()\n{run}"), run.clone());
        assert!(repeats.longest(&lines(&run)).is_none());
        // Whoever sees the message first finds other lines behind the same words.
        add(&mut repeats, 1, run.clone(), format!("fn new\ny\n{run}"));
        assert!(
            repeats
                .longest(&lines(&run))
                .is_none_or(|run| run.lines == 1)
        );
        add(&mut repeats, 2, format!("y\n{run}"), format!("x\ny\n{run}"));
        let found = repeats.longest(&lines(&run)).unwrap();
        assert_eq!((found.message, found.lines), (2, 2));
    }

    #[test]
    fn what_a_message_says_is_never_a_mark_of_ours() {
        for line in [
            "[12 lines as in p7: def union]",
            "[1 line: p3: x]",
            "\\[2 lines: p3: x]",
            "[From here on, run' says",
            "@=R1(id,name)",
        ] {
            assert_eq!(guarded(line), format!("\\{line}"));
            assert!(!is_mark(&guarded(line)));
        }
        for line in ["[12 lines]", "12 lines as in p7", "[x]", ""] {
            assert_eq!(guarded(line), line);
        }
    }
}
