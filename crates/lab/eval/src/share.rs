//! Counts of what was wanted and of what was found.

/// Counts of wanted values and of found values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recall {
    /// The number of wanted values.
    pub wanted: u64,
    /// The number of wanted values that were found.
    pub found: u64,
}

impl Recall {
    /// Returns the found share, from 0 to 1, or `None` when no value was wanted.
    pub fn share(self) -> Option<f64> {
        (self.wanted > 0).then(|| self.found as f64 / self.wanted as f64)
    }

    pub(crate) fn count(&mut self, found: bool) {
        self.wanted += 1;
        self.found += u64::from(found);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.wanted += other.wanted;
        self.found += other.found;
    }
}
