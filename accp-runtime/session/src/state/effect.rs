//! The effect of a frame on the session, decoded once.

use accp_frame::Intent;

use crate::log::entry::EntryKind;
use crate::state::shared::{Change, SharedState, StateError, StateUpdate};
use crate::wire::control::Control;
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;

/// The checked effect of a frame on the session; folding it cannot fail.
#[derive(Debug)]
pub(crate) enum Effect {
    /// An application frame, which goes into hot state and into its chain.
    Frame,
    /// An application frame that also changes the shared state.
    State(Change),
    /// A control frame.
    Control(Control),
    /// No effect. The frame gets an entry of this kind, and at most consumes its `seq`.
    Void(EntryKind),
}

impl Effect {
    /// Returns the effect of a frame that was accepted, or is about to be.
    ///
    /// # Errors
    /// When a control frame cannot be read, or a change does not fit the shared state.
    pub(crate) fn of(frame: &Scanned<'_>, shared: &SharedState) -> Result<Self, Refusal> {
        Self::with(frame, |update| shared.check(update, SharedState::MAX_BYTES))
    }

    /// As [`of`](Self::of), for a frame that a host has accepted or sends.
    pub(crate) fn of_judged(frame: &Scanned<'_>, shared: &SharedState) -> Result<Self, Refusal> {
        Self::with(frame, |update| {
            shared.check_judged(update, SharedState::MAX_BYTES)
        })
    }

    fn with(
        frame: &Scanned<'_>,
        check: impl FnOnce(StateUpdate<'_>) -> Result<Change, StateError>,
    ) -> Result<Self, Refusal> {
        if Control::is(frame) {
            return Ok(Self::Control(Control::read(frame)?));
        }
        if frame.intent == Intent::SYNC && frame.header.operation == "state" {
            return Ok(Self::State(check(StateUpdate::decode(frame.text)?)?));
        }
        Ok(Self::Frame)
    }

    /// Returns the kind of entry that a frame with this effect makes.
    pub(crate) fn kind(&self) -> EntryKind {
        match self {
            Self::Frame | Self::State(_) => EntryKind::Frame,
            Self::Control(_) => EntryKind::Control,
            Self::Void(kind) => *kind,
        }
    }
}
