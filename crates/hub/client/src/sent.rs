//! Frames in the log.

use accp_session::Mid;

/// A frame that the host has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// The id of the frame in the log.
    pub mid: Mid,
    /// Its position in the log, the first being 1. `None` when this side does not know it: its host knows the
    /// draft alone, or the entry is in a part of the log that this side has skipped.
    pub position: Option<u64>,
}
