//! What the caller of a session should know.

use crate::wire::link::PeerError;
use crate::{MemberId, Mid};
use accp_frame::{ErrorCode, TokenLimit};

/// Something that happened to a session, for the one who drives it. Nothing depends on its
/// being read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The host has answered: this side is the member of this number.
    Joined(MemberId),
    /// The host has consumed the frame.
    Acknowledged(Mid),
    /// The host will never take the frame, and why. The frames behind it go on.
    Refused(Mid, PeerError),
    /// The host could not take the frame now; it goes out again under a new id.
    Retried {
        /// The id that was refused.
        old: Mid,
        /// The new one.
        new: Mid,
        /// Why.
        code: ErrorCode,
    },
    /// The frame was not sent, because its chain was cancelled.
    Cancelled(Mid),
    /// A peer refused something that is not in the outbox.
    PeerError(MemberId, PeerError),
    /// The host refused a frame of this member.
    Rejected(MemberId, Option<Mid>, ErrorCode),
    /// A frame was dropped silently (draft section 3.7, items 4 and 5).
    Dropped(Mid),
    /// A part of a frame is over its soft limit (draft section 3.4).
    OverSoftLimit {
        /// The frame.
        mid: Mid,
        /// `header`, `body`, `metadata` or `total`.
        part: &'static str,
        /// Its tokens.
        tokens: usize,
        /// The limit.
        limit: TokenLimit,
    },
    /// A checkpoint was taken, or copied.
    Checkpoint(u64),
    /// A hook put a checkpoint off.
    CheckpointDeferred(String),
    /// The bytes under this cold key are here now.
    Supplied(String),
    /// The peer's bytes for this key were not the ones that were announced.
    Tampered(String),
    /// The schemas in force are these now.
    Schemas(accp_registry::Hash),
    /// The peer's schemas could not be had; this side goes on with what it knows.
    SchemasUnavailable(String),
    /// The session could not write a text of its own, and why. It goes on without; please
    /// report this as a defect.
    NotWritten(String),
}
