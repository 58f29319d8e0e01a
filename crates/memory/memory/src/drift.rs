//! Drift: signs that a model has lost its task after a summary.

mod case;
mod clarification;
mod contradiction;
mod done;
mod judge;
mod kind;
mod missing;
mod noun_phrases;
mod unrelated;
mod untouched;

pub use case::{Case, Sign};
pub(crate) use judge::judged;
pub use judge::{Judge, LEXICAL, Lexical};
pub use kind::{DriftEvent, Indicator, Severity};

#[cfg(test)]
mod tests;
