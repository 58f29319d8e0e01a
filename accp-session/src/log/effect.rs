//! What a frame does to the session, decoded once.

use accp_frame::Intent;

use crate::EntryKind;
use crate::gate::refusal::Refusal;
use crate::log::shared::{Change, SharedState, StateUpdate};
use crate::wire::control::Control;
use crate::wire::scan::Scanned;

/// The effect of a frame on the session, checked: folding it cannot fail.
#[derive(Debug)]
pub(crate) enum Effect {
    /// A frame between agents, which stands in hot state and in its chain.
    Frame,
    /// The same, and the shared state changes.
    State(Change),
    /// About the session itself.
    Control(Control),
    /// None: the frame took its number as an entry of this kind, or not even that.
    Void(EntryKind),
}

impl Effect {
    /// The effect of a frame that was accepted, or is about to be.
    ///
    /// # Errors
    /// Where a control frame cannot be read, or a change does not fit the shared state.
    pub(crate) fn of(frame: &Scanned<'_>, shared: &SharedState) -> Result<Self, Refusal> {
        if Control::is(frame) {
            return Ok(Self::Control(Control::read(frame)?));
        }
        if frame.intent == Intent::SYNC && frame.header.operation == "state" {
            let update = StateUpdate::decode(frame.text)?;
            let change = shared.check(update, SharedState::MAX_BYTES)?;
            return Ok(Self::State(change));
        }
        Ok(Self::Frame)
    }

    /// What a frame with this effect is in the log.
    pub(crate) fn kind(&self) -> EntryKind {
        match self {
            Self::Frame | Self::State(_) => EntryKind::Frame,
            Self::Control(_) => EntryKind::Control,
            Self::Void(kind) => *kind,
        }
    }
}
