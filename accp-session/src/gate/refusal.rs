//! Rulings on a frame that a host does not accept.

use std::borrow::Cow;

use accp_frame::DecodeError;
use accp_registry::ErrorCode;

use crate::StateError;
use crate::gate::seen::Place;

/// A refusal, as the sender of the frame gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub code: ErrorCode,
    pub expected: Cow<'static, str>,
    pub at: Option<u64>,
    pub expected_sequence: Option<u64>,
    pub version: Option<u64>,
    pub held: Option<Place>,
}

/// A ruling on a frame.
#[derive(Debug)]
pub(crate) enum Ruling {
    /// The frame takes its place, silently.
    Drop,
    /// Nothing changes, and the host says nothing.
    Ignore,
    Refuse(Refusal),
}

impl Refusal {
    pub(crate) fn new(code: ErrorCode, expected: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            expected: expected.into(),
            at: None,
            expected_sequence: None,
            version: None,
            held: None,
        }
    }

    /// Refuses an id that the frame at this place has consumed.
    pub(crate) fn duplicate(place: Place) -> Self {
        let expected = "a message id that was not used before";
        Self {
            held: Some(place),
            ..Self::new(ErrorCode::DUPLICATE, expected)
        }
    }

    /// Refuses a frame because the `seq` `next` is due.
    pub(crate) fn out_of_turn(next: u64) -> Self {
        Self {
            expected_sequence: Some(next),
            ..Self::new(ErrorCode::SEQUENCE_GAP, "the next sequence number")
        }
    }

    /// Returns whether the frame can never be accepted. Its sender gives the frame up, so the host
    /// must not accept a copy that is still under way.
    pub(crate) fn is_for_good(&self) -> bool {
        self.code != ErrorCode::DUPLICATE && !self.code.is_retryable().unwrap_or(false)
    }
}

impl From<DecodeError> for Refusal {
    fn from(error: DecodeError) -> Self {
        Self {
            at: Some(error.at() as u64),
            ..Self::new(error.code(), String::from(error.expected()))
        }
    }
}

impl From<StateError> for Refusal {
    fn from(error: StateError) -> Self {
        Self {
            version: match error {
                StateError::Version { held, .. } => Some(held),
                _ => None,
            },
            ..Self::new(error.code(), error.text())
        }
    }
}

impl From<Refusal> for Ruling {
    fn from(refusal: Refusal) -> Self {
        Self::Refuse(refusal)
    }
}
