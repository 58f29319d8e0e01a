//! The blocks of a prompt.

use std::fmt::Write as _;

/// The text that a model needs to read a [`Prompt`](super::Prompt). The rest of a prompt explains
/// itself.
pub const PRIMER: &str = "\
    @=X(a,b) defines X(1,2) and X[rows]; $cold.p7 is message 7\n";

/// The beginning of a block of facts. Such a block is not a message.
pub(crate) const FACTS: &str = "@facts ";

/// Writes `7` or `1-9`.
pub(crate) fn write_range(out: &mut String, first: u64, last: u64) {
    let _ = write!(out, "{first}");
    if last > first {
        let _ = write!(out, "-{last}");
    }
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    /// Whole lines.
    pub text: String,
    /// The schemas that a reader of the block needs, in the order of use.
    pub codes: Vec<String>,
}
