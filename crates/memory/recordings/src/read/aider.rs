//! The chat history of aider as documents: one for each chat, with a block for the words of each.

use serde_json::{Value as Json, json};

use super::Document;
use crate::exact::LoneSurrogates;
use crate::formats::{AIDER, STARTED};

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
    let mut chat = Chat::default();
    for (number, text) in (line..).zip(text.lines()) {
        match text.strip_prefix(STARTED) {
            Some(time) => {
                documents.extend(std::mem::take(&mut chat).document());
                chat.line = number;
                chat.blocks.push(json!({ "started": time.trim_end() }));
            }
            None => chat.add(text),
        }
    }
    documents.extend(chat.document());
    Some(documents)
}

/// A chat in the making.
#[derive(Default)]
struct Chat {
    line: u64,
    blocks: Vec<Json>,
    open: Option<(By, Vec<String>)>,
    /// Whether the model has begun a block of code and not ended it.
    in_code: bool,
}

impl Chat {
    fn add(&mut self, line: &str) {
        let begins = |mark: &str| {
            let rest = line.strip_prefix(mark)?;
            rest.strip_prefix(' ').or(rest.is_empty().then_some(""))
        };
        // Code of the model may have lines that begin like those of the program.
        let aider = begins(">").filter(|_| !self.in_code);
        let (by, text) = match (begins("####"), aider) {
            (Some(text), _) => (By::User, text),
            (None, Some(text)) => (By::Aider, text),
            (None, None) => (By::Assistant, line),
        };
        // The program ends its lines, and those of the person, with two spaces.
        let text = match by {
            By::Assistant => text,
            _ => text.strip_suffix("  ").unwrap_or(text),
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
