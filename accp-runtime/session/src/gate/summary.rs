//! The summary that a checkpoint asks for. It arrives later than the checkpoint.

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
    /// Returns the summary that `checkpoint` asks for, given the state before it. `None` if no
    /// frame left hot state with the checkpoint, or if warm state has no line for a summary.
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
