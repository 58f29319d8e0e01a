//! The mistakes of a registry, each with its place and its cure.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// One mistake in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file, as the caller named it; `None` for text without a file name.
    pub file: Option<String>,
    /// The place in the text; `None` when there is no text, as for a schema built in memory.
    pub position: Option<Position>,
    /// The JSON pointer (RFC 6901) of the faulty member or element; empty for the document.
    pub pointer: String,
    /// The expected value and the found value.
    pub message: String,
    /// The way to correct the mistake.
    pub cure: Option<String>,
}

/// A place in a text. Line and column count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl Position {
    /// Returns the position of a byte in a text.
    pub(crate) fn of(text: &str, at: usize) -> Self {
        let mut positions = Positions::of(text);
        positions.find(at)
    }

    /// Returns the position behind a text that begins at this position.
    fn behind(self, text: &str) -> Self {
        let Some(end) = text.rfind('\n') else {
            return Self {
                line: self.line,
                column: self.column + text.chars().count(),
            };
        };
        Self {
            line: self.line + text.matches('\n').count(),
            column: text[end + 1..].chars().count() + 1,
        }
    }
}

/// The positions of bytes in a text. If the bytes come in order, each part of the text is read once.
pub(crate) struct Positions<'t> {
    text: &'t str,
    /// The last byte that was found, and its position.
    last: (usize, Position),
}

impl<'t> Positions<'t> {
    const START: (usize, Position) = (0, Position { line: 1, column: 1 });

    pub(crate) fn of(text: &'t str) -> Self {
        Self {
            text,
            last: Self::START,
        }
    }

    /// Returns the position of a byte.
    pub(crate) fn find(&mut self, at: usize) -> Position {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let (from, position) = if self.last.0 <= at {
            self.last
        } else {
            Self::START
        };
        let position = position.behind(&self.text[from..at]);
        self.last = (at, position);
        position
    }
}

impl Problem {
    /// Returns a problem at a JSON pointer, whose file and position are not known yet.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: None,
            position: None,
            pointer: pointer.into(),
            message: message.into(),
            cure: None,
        }
    }

    /// Adds the way to correct the mistake.
    #[must_use]
    pub fn cure(mut self, cure: impl Into<String>) -> Self {
        self.cure = Some(cure.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file.as_deref().unwrap_or("registry"))?;
        if let Some(Position { line, column }) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        if !self.pointer.is_empty() {
            f.write_str(" at ")?;
            on_one_line(f, &self.pointer)?;
        }
        f.write_str(": ")?;
        on_one_line(f, &self.message)?;
        if let Some(cure) = &self.cure {
            f.write_str("\n    ")?;
            on_one_line(f, cure)?;
        }
        Ok(())
    }
}

/// Writes a text with its line breaks escaped. Keys of a registry may have line breaks, and a line that they begin would
/// look like another problem.
fn on_one_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for (at, line) in text.split('\n').enumerate() {
        f.write_str(if at == 0 { "" } else { "\\n" })?;
        f.write_str(line)?;
    }
    Ok(())
}

impl core::error::Error for Problem {}

/// All mistakes of one run, in the order of the files and of the text. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
}

impl Problems {
    pub(crate) fn new(list: Vec<Problem>) -> Self {
        Self { list }
    }

    /// Returns the problems, in order.
    pub fn iter(&self) -> core::slice::Iter<'_, Problem> {
        self.list.iter()
    }

    /// Returns the number of problems; never 0.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.list.len()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self::new(alloc::vec![problem])
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = alloc::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = core::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            let line = if index == 0 { "" } else { "\n" };
            write!(f, "{line}{problem}")?;
        }
        Ok(())
    }
}

impl core::error::Error for Problems {}
