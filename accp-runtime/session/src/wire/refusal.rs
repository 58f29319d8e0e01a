//! Refusals of frames.

use std::borrow::Cow;

use accp_frame::DecodeError;
use accp_registry::ErrorCode;

use crate::log::mid::{MemberId, Mid};
use crate::wire::link::PeerError;

/// How many bytes of the text of a refusal its sender gets at most. The text may quote names of any length, and the
/// refusal has to fit into a frame.
const TEXT_BYTES: usize = 2_000;

/// A refusal, as the sender of the frame gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub code: ErrorCode,
    pub expected: Cow<'static, str>,
    pub at: Option<u64>,
    pub expected_sequence: Option<u64>,
    pub version: Option<u64>,
    /// The member that has the id.
    pub holder: Option<MemberId>,
    /// The `seq` that the frame with this id took.
    pub sequence: Option<u64>,
}

impl Refusal {
    pub(crate) fn new(code: ErrorCode, expected: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            expected: expected.into(),
            at: None,
            expected_sequence: None,
            version: None,
            holder: None,
            sequence: None,
        }
    }

    /// Returns the error that the sender of the frame with this id gets.
    pub(crate) fn about(self, mid: Option<Mid>) -> PeerError {
        PeerError {
            of: mid,
            code: self.code,
            retry: self.retry(),
            message: shortened(self.expected),
            expected_sequence: self.expected_sequence,
            version: self.version,
            holder: self.holder,
            sequence: self.sequence,
            at: self.at,
        }
    }

    /// Refuses an id that another frame has consumed before: a frame of `holder`, with this `seq`.
    pub(crate) fn duplicate(holder: MemberId, sequence: u64) -> Self {
        let expected = "a message id that was not used before";
        Self {
            holder: Some(holder),
            sequence: Some(sequence),
            ..Self::new(ErrorCode::DUPLICATE, expected)
        }
    }

    /// Refuses an id from the range of ids that belongs to another member.
    pub(crate) fn foreign(owner: MemberId) -> Self {
        let expected = format!("a message id of your own: those that begin with {owner} are taken");
        Self {
            holder: Some(owner),
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

    /// Refuses a later part, because the first part of its frame has not come. The first part may still be under
    /// way.
    pub(crate) fn first_part_before() -> Self {
        let expected = "the first part of the frame before this one";
        Self::new(ErrorCode::TIMEOUT, expected)
    }

    /// Returns whether the sender may send the frame again. The code says so (draft section 3.6).
    pub(crate) fn retry(&self) -> bool {
        self.code.is_retryable().unwrap_or(false)
    }

    /// Returns whether the frame can never be accepted. Its sender gives the frame up, so the host
    /// must not accept a copy that is still under way.
    pub(crate) fn is_for_good(&self) -> bool {
        self.code != ErrorCode::DUPLICATE && !self.retry()
    }
}

/// Leaves out the end of a text that is too long.
fn shortened(text: Cow<'static, str>) -> String {
    if text.len() <= TEXT_BYTES {
        return text.into_owned();
    }
    let mut ends = (0..=TEXT_BYTES).rev();
    let end = ends.find(|at| text.is_char_boundary(*at));
    format!("{}..", &text[..end.unwrap_or_default()])
}

impl From<DecodeError> for Refusal {
    fn from(error: DecodeError) -> Self {
        Self {
            at: Some(error.at() as u64),
            ..Self::new(error.code(), String::from(error.expected()))
        }
    }
}
