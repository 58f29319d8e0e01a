//! Drift: signs that a model has lost its task after a summary.

mod clarification;
mod contradiction;
mod done;
mod kind;
mod missing;
mod unrelated;

pub(crate) use kind::{Case, Drift};
pub use kind::{DriftEvent, Indicator, Severity};

/// Judges a message of an assistant after a summary.
///
/// A judge warns and never stops anything. It may be wrong both ways; it has no state, and the same case has the
/// same signs.
pub(crate) trait Judge {
    /// Returns the signs of drift in a message, at most one for each indicator and each thing that it is about.
    fn judge(&self, case: &Case<'_>) -> Vec<Drift>;
}

/// The judge by words, without a model.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lexical;

impl Judge for Lexical {
    fn judge(&self, case: &Case<'_>) -> Vec<Drift> {
        let mut found = Vec::new();
        found.extend(clarification::judge(case));
        found.extend(done::judge(case));
        found.extend(unrelated::judge(case));
        found.extend(contradiction::judge(case));
        found.extend(missing::judge(case));
        found
    }
}

#[cfg(test)]
mod tests;
