//! The chat history of aider as documents: one document for each chat, with blocks of what each speaker said.

use serde_json::{Value as Json, json};

use super::Document;
use crate::exact::LoneSurrogates;
use crate::formats::{AIDER, STARTED};

/// The program ends its lines, and those of the person, with two spaces. A message of the program over several
/// lines has them at its end alone.
const END: &str = "  ";

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    User,
    /// The program.
    Aider,
    Assistant,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Aider => "aider",
            Self::Assistant => "assistant",
        }
    }
}

/// Reads a chat history. `line` is the number of its first line. `None` if it does not begin with a
/// chat.
pub(super) fn documents(text: &str, line: u64) -> Option<Vec<Document>> {
    text.starts_with(STARTED).then_some(())?;
    let mut documents = Vec::new();
    let is_mark = |line: &str| line.starts_with("####") || line.starts_with('>');
    let has_ends = text
        .lines()
        .any(|line| is_mark(line) && line.ends_with(END));
    let mut chat = Chat {
        has_ends,
        ..Chat::default()
    };
    for (number, text) in (line..).zip(text.lines()) {
        match text.strip_prefix(STARTED) {
            Some(time) => {
                let next = Chat {
                    has_ends,
                    ..Chat::default()
                };
                documents.extend(std::mem::replace(&mut chat, next).document());
                chat.line = number;
                chat.blocks.push(json!({ "started": time.trim_end() }));
            }
            None => chat.add(text),
        }
    }
    documents.extend(chat.document());
    Some(documents)
}

/// A chat while its lines are read.
#[derive(Default)]
struct Chat {
    line: u64,
    blocks: Vec<Json>,
    open: Option<(By, Vec<String>)>,
    /// Whether the lines of the file end as the program writes them. An editor may have cut the spaces away.
    has_ends: bool,
    /// Whether the line before ended with the two spaces.
    has_ended: bool,
    /// Whether the model has begun a block of code and not ended it.
    in_code: bool,
}

impl Chat {
    fn add(&mut self, line: &str) {
        let begins = |mark: &str| {
            let rest = line.strip_prefix(mark)?;
            rest.strip_prefix(' ').or(rest.is_empty().then_some(""))
        };
        let ends = line.ends_with(END);
        let is_whole = ends || !self.has_ends;
        let open = self.open.as_ref().map(|(by, _)| *by);
        // The model may also write lines that begin with `####` or `>`, after an empty line. If the
        // file has kept the two spaces at the ends of lines, such lines lack them. Then the reader
        // does not take them for lines of the person or the program.
        let follows = matches!(open, Some(By::User | By::Aider));
        let user = begins("####").filter(|_| is_whole);
        // Code of the model may have lines that begin like those of the program.
        let aider = begins(">").filter(|_| !self.in_code && (is_whole || follows));
        let goes_on = self.has_ends && open == Some(By::Aider) && !self.has_ended;
        let (by, text) = match (user, aider) {
            (Some(text), _) => (By::User, text),
            (None, Some(text)) => (By::Aider, text),
            (None, None) if goes_on => (By::Aider, line),
            (None, None) => (By::Assistant, line),
        };
        self.has_ended = ends;
        let text = match by {
            By::Assistant => text,
            _ => text.strip_suffix(END).unwrap_or(text),
        };
        match by {
            By::Assistant => self.in_code ^= text.trim_start().starts_with("```"),
            _ => self.in_code = false,
        }
        match &mut self.open {
            Some((open, lines)) if *open == by => lines.push(text.to_owned()),
            // An empty line ends what the person or the program wrote.
            Some((By::User | By::Aider, _)) if by == By::Assistant && text.is_empty() => self.end(),
            None if by == By::Assistant && text.is_empty() => {}
            _ => {
                self.end();
                self.open = Some((by, vec![text.to_owned()]));
            }
        }
    }

    fn end(&mut self) {
        let Some((by, lines)) = self.open.take() else {
            return;
        };
        let text = lines.join("\n");
        let text = if by == By::Assistant {
            text.trim_end_matches('\n')
        } else {
            &text
        };
        self.blocks.push(json!({ by.name(): text }));
    }

    fn document(mut self) -> Option<Document> {
        self.end();
        (!self.blocks.is_empty()).then(|| Document {
            line: self.line,
            json: json!({ AIDER: self.blocks }),
            lone: LoneSurrogates::default(),
            lines: Vec::new(),
        })
    }
}
