//! Writes a summary in the Markdown form that the specification prescribes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::event::Thousands;

/// Stands in a section without items. The rules find items by their words, so there may be some that they do not know.
const NONE: &str = "None found.";

/// The head and the foot of a summary: session, time and paths. The paths exist before the summary is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) session: String,
    /// The time of the summary, with its zone.
    pub(crate) generated: String,
    /// How many tokens the summary saves.
    pub(crate) saved: u64,
    /// The path of the archive of the conversation.
    pub(crate) archive: String,
    /// The options of the command that searches what left, with a space before them.
    pub(crate) commands: String,
    /// The folder with offloaded content, if there is any.
    pub(crate) offloaded: Option<String>,
    /// The folder with checkpoints, if there are any.
    pub(crate) checkpoints: Option<String>,
}

/// A part of a summary, in the order of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Intent,
    Artifacts,
    Decisions,
    Completed,
    Remaining,
    Request,
    Facts,
    Next,
}

/// The pieces of a part that have no room: their number, and their first and last message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct More {
    pub(super) count: usize,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The texts that a summary shows.
#[derive(Debug, Default, Clone)]
pub(super) struct Shown {
    pub(super) parts: BTreeMap<Part, Vec<String>>,
    pub(super) more: BTreeMap<Part, More>,
    /// Whether a part only points to the archive, and counts nothing: there is no room for more.
    pub(super) is_terse: bool,
}

impl Shown {
    fn of(&self, part: Part) -> &[String] {
        self.parts.get(&part).map_or(&[], Vec::as_slice)
    }

    fn more(&self, part: Part) -> Option<String> {
        let More { count, first, last } = self.more.get(&part)?;
        if self.is_terse {
            // Facts include constraints, so the text must not read as if there were none.
            let text = match part {
                Part::Facts => "VERIFICATION_NEEDED: see the archive.",
                _ => "See the archive.",
            };
            return Some(text.to_owned());
        }
        let messages = if first == last {
            format!("message {first}")
        } else {
            format!("messages {first} to {last}")
        };
        Some(format!("{count} more in the archive, {messages}."))
    }

    /// Returns the lines of a part, each with its mark before it.
    fn lines(&self, part: Part, mark: impl Fn(usize) -> String) -> Vec<String> {
        let lines = self.of(part).iter().cloned().chain(self.more(part));
        let lines = lines.enumerate();
        lines
            .map(|(at, line)| format!("{}{line}", mark(at + 1)))
            .collect()
    }

    fn list(&self, part: Part, mark: impl Fn(usize) -> String) -> String {
        let lines = self.lines(part, mark);
        if lines.is_empty() {
            NONE.to_owned()
        } else {
            lines.join("\n")
        }
    }
}

/// Writes a summary.
pub(super) fn render(head: &Head, phase: &str, shown: &Shown) -> String {
    let bullet = |_| "- ".to_owned();
    let numbered = |number| format!("{number}. ");
    let intent = shown.lines(Part::Intent, |_| String::new());
    let intent = if intent.is_empty() {
        "None.".to_owned()
    } else {
        intent.join("\n\n")
    };
    let folder = |folder: &Option<String>| folder.clone().unwrap_or_else(|| "None.".to_owned());
    // A terse summary leaves out the details of the phase, which the archive has.
    let phase = match phase.split_once("; ") {
        Some((first, _)) if shown.is_terse => first,
        _ => phase,
    };
    let mut out = String::new();
    // Writing to a text does not fail.
    let _ = write!(
        out,
        "## Session Summary\n**Session ID:** {}\n**Generated:** {}\n**Context Saved:** {} tokens\n\n\
         ### Session Intent\n{intent}\n\n\
         ### Artifacts Created\n{}\n\n\
         ### Key Decisions\n{}\n\n\
         ### Current Progress\n- **Phase:** {phase}\n- **Completed:**{}\n- **Remaining:**{}\n\
         - **Current request:**{}\n\n\
         ### Critical Facts\n{}\n\n\
         ### Next Steps\n{}\n\n\
         ### Recovery References\n- **Full conversation:** {}\n- **Offloaded content:** {}\n- **Checkpoints:** {}\n\
         - **Search:** `accp context recover{} WORDS`\n",
        head.session,
        head.generated,
        Thousands(head.saved),
        table(shown),
        shown.list(Part::Decisions, numbered),
        nested(shown, Part::Completed),
        nested(shown, Part::Remaining),
        request(shown),
        shown.list(Part::Facts, bullet),
        shown.list(Part::Next, numbered),
        head.archive,
        folder(&head.offloaded),
        folder(&head.checkpoints),
        head.commands,
    );
    out
}

fn table(shown: &Shown) -> String {
    let rows = shown.of(Part::Artifacts);
    let more = shown.more(Part::Artifacts);
    if rows.is_empty() {
        return more.unwrap_or_else(|| NONE.to_owned());
    }
    let mut lines = vec![
        "| Artifact | Path | Status |".to_owned(),
        "|----------|------|--------|".to_owned(),
    ];
    lines.extend(rows.iter().cloned());
    // Without a blank line, Markdown would read the note as a row of the table.
    lines.extend(more.map(|more| format!("\n{more}")));
    lines.join("\n")
}

fn nested(shown: &Shown, part: Part) -> String {
    let lines = shown.lines(part, |_| "\n  - ".to_owned());
    if lines.is_empty() {
        format!(" {NONE}")
    } else {
        lines.concat()
    }
}

fn request(shown: &Shown) -> String {
    match shown.of(Part::Request) {
        [text] => format!(" {text}"),
        _ => " None.".to_owned(),
    }
}

/// Returns a text as a quotation: each line has a `>` before it. Blank lines at the ends of the text are left out.
pub(crate) fn quoted(text: &str) -> String {
    let line = |line: &str| {
        if line.is_empty() {
            ">".to_owned()
        } else {
            format!("> {line}")
        }
    };
    text.trim_matches('\n')
        .split('\n')
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the cell of a table.
pub(super) fn cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|")
}
