//! Late summaries: the host takes a checkpoint, and asks its caller for a better summary of the frames that left hot
//! state with the checkpoint.

use serde::{Deserialize, Serialize};

use crate::state::State;
use accp_context::Checkpoint;

/// The last checkpoint, for which the host wants a late summary.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WantedSummary {
    pub checkpoint: u64,
    /// The frames that left hot state, without their metadata, ascending by position.
    pub frames: Vec<(u64, Box<str>)>,
    /// The late summary, if it has arrived. A host that is restored asks for the summary again, so no snapshot has
    /// this text.
    #[serde(skip)]
    pub text: Option<String>,
    /// Whether the caller was asked.
    #[serde(skip)]
    pub asked: bool,
}

impl WantedSummary {
    /// Returns the frames to sum up for `checkpoint`, from the state before the checkpoint. `None` if no frame left
    /// hot state with the checkpoint, or if warm state has no line for a summary.
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
