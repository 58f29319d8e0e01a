//! Values of options that several commands have.

use std::fmt::Display;

use clap::ValueEnum;

use crate::outcome::Failure;
use crate::output::Output;

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs: one JSON object a line
    Json,
}

impl Format {
    /// Prints a line to stdout in this format: `text` for people, or `json` for programs.
    pub fn print(self, json: impl Display, text: impl Display) -> Result<(), Failure> {
        match self {
            Self::Text => Output::print_line(text),
            Self::Json => Output::print_record(json),
        }
    }

    /// Does the same as [`print`](Self::print), for a text that comes from a file or a store. A file or a program
    /// gets this text without escapes.
    pub fn print_content(self, json: impl Display, text: impl Display) -> Result<(), Failure> {
        match self {
            Self::Text => Output::print_content(text),
            Self::Json => Output::print_record(json),
        }
    }
}

/// A half of the conversations of a file, chosen by the ids alone. A conversation without an id is
/// chosen by its whole content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Half {
    /// The last bit of the first byte of the SHA-256 of the id is 0
    Learn,
    /// The last bit of this byte is 1
    Measure,
}

impl From<Half> for accp_recordings::Half {
    fn from(half: Half) -> Self {
        match half {
            Half::Learn => Self::Learn,
            Half::Measure => Self::Measure,
        }
    }
}
