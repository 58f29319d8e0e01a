//! Values of options that several commands have.

use clap::ValueEnum;

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs: one JSON object a line
    Json,
}

/// A half of the conversations of a file, chosen by the ids alone. A conversation without an id is
/// chosen by its whole content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Half {
    /// The last bit of the first byte of SHA-256 over the id is 0
    Learn,
    /// That bit is 1
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
