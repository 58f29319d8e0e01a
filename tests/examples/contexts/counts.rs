//! Counts the kills of a run, by the stage that the killed process had reached.

use std::fmt;

use accp_tests::program;

/// The stage that the process had reached when it was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fell {
    /// Cold state has nothing new: the process had not yet stored its step.
    Before,
    /// Cold state has the step, but a file of this step is missing or incomplete.
    Within,
    /// All files are whole, but the process had not printed the list.
    Written,
    /// The process had printed the list.
    After,
}

/// The counts of the kills.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) kills: u64,
    before: u64,
    within: u64,
    written: u64,
    after: u64,
    /// Processes that ended before the kill.
    pub(crate) ended: u64,
    /// Files that were there at the end, over all roots.
    pub(crate) files: usize,
    pub(crate) roots: u64,
}

impl Counts {
    pub(crate) fn count(&mut self, fell: Fell) {
        self.kills += 1;
        *match fell {
            Fell::Before => &mut self.before,
            Fell::Within => &mut self.within,
            Fell::Written => &mut self.written,
            Fell::After => &mut self.after,
        } += 1;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("kills of `accp context compress`", self.kills),
            ("  before the commit", self.before),
            (
                "  after the commit, with a file missing or cut",
                self.within,
            ),
            ("  with all files, and no list", self.written),
            ("  after the list", self.after),
            ("processes that ended before the kill", self.ended),
            ("conversations", self.roots),
            ("files at their ends", self.files as u64),
        ];
        program::write_counts(f, &rows)
    }
}
