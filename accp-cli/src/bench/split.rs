//! Two halves of a file, told apart by the conversations' ids alone.

use clap::ValueEnum;
use sha2::{Digest as _, Sha256};

/// A half of the conversations of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Half {
    /// Where the last bit of the first byte of SHA-256 over the id is 0
    Learn,
    /// Where it is 1
    Measure,
}

impl Half {
    /// The half that a conversation belongs to, whatever file it stands in.
    pub(crate) fn of(id: &str) -> Self {
        if Sha256::digest(id.as_bytes())[0] & 1 == 0 {
            Self::Learn
        } else {
            Self::Measure
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_never_change() {
        let halves: String = (0..16)
            .map(|id| match Half::of(&id.to_string()) {
                Half::Learn => 'l',
                Half::Measure => 'm',
            })
            .collect();
        insta::assert_snapshot!(halves, @"mmllmmmmlmlmmmml");
    }
}
