//! The summary that a checkpoint wants and that comes later.

use serde::{Deserialize, Serialize};

use crate::state::State;
use accp_context::Checkpoint;

/// The last checkpoint, which wants a summary.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WantedSummary {
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

impl WantedSummary {
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
