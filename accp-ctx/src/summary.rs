//! The summary that takes the place of messages that leave (CTX-22 to CTX-33).

use accp_frame::TokenCounter;
use time::OffsetDateTime;

use crate::event::Intent;
use crate::said::Said;

/// What a summary is asked for.
#[derive(Debug)]
pub struct Wanted<'w> {
    /// The whole conversation.
    pub(crate) all: &'w [Said],
    /// Whether each message of the conversation leaves the list.
    pub(crate) leaves: &'w [bool],
    pub(crate) session: &'w str,
    /// The time, with its zone.
    pub(crate) at: OffsetDateTime,
    /// The tokens that the list loses.
    pub(crate) saved: u64,
    /// The most tokens of the summary.
    pub(crate) room: u64,
    /// The most tokens of an intent that is shown whole.
    pub(crate) intent: u64,
    /// The path of the archive.
    pub(crate) archive: &'w str,
}

/// A summary, and whether it has the intent verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub(crate) text: String,
    pub(crate) intent: Intent,
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SummaryError(pub(crate) String);

/// Sums up messages that leave a list.
pub trait Summarizer {
    /// Writes a summary.
    ///
    /// # Errors
    /// When what is marked as critical does not fit. A summary by a model may fail for other reasons; the rules
    /// write it then.
    fn summarize(
        &self,
        wanted: &Wanted<'_>,
        counter: &dyn TokenCounter,
    ) -> Result<Summary, SummaryError>;
}

/// Sums up by rules alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules;
