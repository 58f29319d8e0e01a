//! Frames in the log.

use accp_session::Mid;

/// A frame that the host has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// The id of the frame in the log.
    pub mid: Mid,
    /// The position of the frame in the log; the first position is 1. `None` when this side does not know the
    /// position: its host knows the draft alone, or this side has skipped that part of the log.
    pub position: Option<u64>,
}
