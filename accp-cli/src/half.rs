//! The option `--split`.

use clap::ValueEnum;

/// A half of the conversations of a file, told apart by their ids alone; one without an id goes
/// by all that it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Half {
    /// Where the last bit of the first byte of SHA-256 over the id is 0
    Learn,
    /// Where it is 1
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
