//! The log, as the second judge reads it: a line for each event, judged one after another.

use std::collections::HashMap;

use crate::walks::declared::{Codes, Declared};
use crate::walks::line::{Line, read_line};
use crate::walks::story::Story;

/// The log as the judge sees it.
#[derive(Default)]
pub(crate) struct Log {
    pub events: Vec<Line>,
    /// The codes of the first line that is wrong; nothing if the log is sound.
    pub wrong: Codes,
    /// Whether the last line was cut.
    pub is_torn: bool,
}

/// Lines that were read before, kept because most lines of a walk do not change.
#[derive(Default)]
pub(crate) struct Lines(HashMap<String, Result<Line, Codes>>);

impl Lines {
    fn read(&mut self, text: &str) -> Result<Line, Codes> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let read = read_line(text);
        self.0.insert(text.to_owned(), read.clone());
        read
    }

    pub(crate) fn log(&mut self, bytes: &[u8], declared: Option<&Declared>) -> Log {
        let mut log = Log::default();
        let text = String::from_utf8_lossy(bytes);
        let mut pieces = text.split('\n').peekable();
        while let Some(piece) = pieces.next() {
            if piece.trim().is_empty() {
                continue;
            }
            match self.read(piece) {
                Ok(line) => log.events.push(line),
                Err(codes) if pieces.peek().is_none() && codes.contains("unreadable") => {
                    log.is_torn = true;
                }
                Err(codes) if log.wrong.is_empty() => log.wrong = codes,
                Err(_) => {}
            }
        }
        for (at, line) in log.events.iter().enumerate() {
            if !log.wrong.is_empty() {
                break;
            }
            let (before, _) = log.events.split_at(at);
            log.wrong = line.lacks(declared, before.last());
            let story = Story::of(declared, before);
            log.wrong
                .extend(story.iter().flat_map(|one| one.against(line)));
        }
        log
    }
}
