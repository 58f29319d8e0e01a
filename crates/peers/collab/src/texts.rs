//! The Markdown files of a collaboration: what each file must have, and the checks of it.

pub(crate) mod conclusion;
pub(crate) mod decisions;
pub(crate) mod deliverable;
pub(crate) mod readiness;
pub(crate) mod reviews;

/// The proposal.
pub const PROPOSAL_FILE: &str = "proposal.md";
/// The reviews.
pub const REVIEW_FILE: &str = "review.md";
/// The accepted decisions.
pub const DECISIONS_FILE: &str = "decisions.md";
/// The questions and the gates.
pub const READINESS_FILE: &str = "readiness.md";
/// The receipt at the end.
pub const CONCLUSION_FILE: &str = "conclusion.md";
