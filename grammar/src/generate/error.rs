//! The error for a mistake that the generator finds.

use std::fmt;

/// A mistake in the ABNF, in the overrides, or in a generated file, with its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {message}")]
pub struct GenerateError {
    pub(super) file: Source,
    pub(super) line: usize,
    pub(super) message: String,
}

impl GenerateError {
    /// Returns the text with the mistake.
    pub fn file(&self) -> Source {
        self.file
    }

    /// Returns the line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the mistake and its correction, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn abnf(line: usize, message: String) -> Self {
        Self {
            file: Source::Abnf,
            line,
            message,
        }
    }

    pub(super) fn overrides(line: usize, message: String) -> Self {
        Self {
            file: Source::Overrides,
            line,
            message,
        }
    }
}

/// The text that an error is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The ABNF.
    Abnf,
    /// The table of decisions.
    Overrides,
    /// The generated grammar.
    Pest,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Abnf => "ABNF",
            Source::Overrides => "overrides",
            Source::Pest => "generated grammar",
        })
    }
}
