//! The summary that a checkpoint wants and that comes later.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::State;
use accp_context::Checkpoint;

/// The last checkpoint, which wants a summary.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Wanted {
    pub checkpoint: u64,
    /// The frames that left, without their metadata, ascending by position.
    pub frames: Vec<(u64, Box<str>)>,
    /// The summary. A host that starts again asks again, so no snapshot has it.
    #[serde(skip)]
    pub text: Option<String>,
    /// Whether the caller was asked.
    #[serde(skip)]
    pub asked: bool,
}

impl Wanted {
    /// Returns what a checkpoint wants that follows this state; `None` if no frame left with it, or
    /// warm state has no line for it.
    pub(crate) fn of(checkpoint: &Checkpoint, before: &State) -> Option<Box<Self>> {
        checkpoint.digest()?.cold()?;
        let frames = before.hot().leaving(checkpoint);
        Some(Box::new(Self {
            checkpoint: checkpoint.id(),
            frames: frames.map(|(at, text)| (at, text.into())).collect(),
            text: None,
            asked: false,
        }))
    }
}

/// The reason why a host did not take a late summary. A summary that it took before stays.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummaryError {
    /// No summary of the checkpoint with this number is wanted.
    NotWanted(u64),
    /// The summary has no text.
    Empty,
    /// These words of the summary look like values, and stand in no frame that left hot state.
    Invented(Vec<String>),
}

impl fmt::Display for SummaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWanted(id) => write!(
                f,
                "no summary of ckpt_{id} is wanted: only of the last checkpoint, if frames left \
                 with it and Rules::late_summaries is set"
            ),
            Self::Empty => {
                f.write_str("the summary has no text; to keep the first one, supply none")
            }
            Self::Invented(words) => write!(
                f,
                "these words stand in no frame that left hot state: {}; leave them out of the \
                 summary, or write them as the frames do",
                words.join(", ")
            ),
        }
    }
}

impl std::error::Error for SummaryError {}
