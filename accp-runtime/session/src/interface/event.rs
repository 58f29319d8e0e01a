//! Events of a session, for its caller.

use std::ops::RangeInclusive;

use crate::log::mid::{MemberId, Mid};
use crate::wire::link::PeerError;
use accp_frame::{ErrorCode, TokenLimit};

/// An event in a session, for the caller. Nothing depends on the caller reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The host has let this side into the session, as the member with this number.
    Joined(MemberId),
    /// The host has taken this side out of the session, as [`Input::Bye`](crate::Input::Bye) asked. With its next
    /// hello this side joins again, if the host lets it in.
    Left,
    /// The host has accepted the frame: it is in the log under this id. The id of a frame in parts is that of its
    /// first part. If the host knows only the draft, this event says only that the host has consumed the frame.
    Acknowledged(Mid),
    /// The host will never take the frame, for this reason. The later frames still go out.
    Refused(Mid, PeerError),
    /// The host could not take the frame now. The frame goes out again.
    Retried {
        /// The id that was refused.
        old: Mid,
        /// The id from now on. It equals `old` if the host may still take the frame under that id, for example when
        /// the clock of this side was ahead.
        new: Mid,
        /// The code of the refusal.
        code: ErrorCode,
    },
    /// The frame was not sent, or the host dropped it, because its chain was cancelled.
    Cancelled(Mid),
    /// The host dropped the frame, because its `ttl` was over (draft section 3.7, item 5). No peer reports this to
    /// the sender: this side concludes it, because the log does not have the frame.
    Expired(Mid),
    /// A peer reported an error about a frame that is not in the outbox.
    PeerError(MemberId, PeerError),
    /// The host refused a frame of this member.
    Rejected(MemberId, Option<Mid>, ErrorCode),
    /// The host dropped a frame silently (draft section 3.7, items 4 and 5).
    Dropped(Mid),
    /// The `ttl` of a frame was over before a handler of this side got the frame. The frame counts as handled. It is
    /// in the log, and so in the state of every side.
    Lapsed(Mid),
    /// A part of a frame is over its soft limit (draft section 3.4).
    OverSoftLimit {
        /// The id of the frame.
        mid: Mid,
        /// `header`, `body`, `metadata` or `total`.
        part: &'static str,
        /// The tokens of the part.
        tokens: usize,
        /// The limit.
        limit: TokenLimit,
    },
    /// The host took a checkpoint, or this member copied it.
    Checkpoint(u64),
    /// Host with [`Rules::late_summaries`](crate::Rules::late_summaries): the host wants a summary of the frames that
    /// left hot state with this checkpoint. Answer with [`Session::supply_summary`](crate::Session::supply_summary)
    /// before the next checkpoint, or not at all. A host that is restored emits this event again.
    SummaryWanted {
        /// The number of the checkpoint.
        checkpoint: u64,
        /// The positions of the frames, ascending.
        left: Vec<u64>,
    },
    /// A hook deferred a checkpoint, for this reason.
    CheckpointDeferred(String),
    /// The host no longer has the entries at these positions, and this member never got them. The state of this
    /// member equals that of the host, but its handlers do not get the frames among these entries. If the host
    /// knows only the draft, these are the numbers (`seq`) of frames that the host does not send again, and the
    /// shared state of this side may differ from the host's.
    Missed(RangeInclusive<u64>),
    /// Host: a member holds the log up to this position, and this host has vouched for it. So the
    /// store of this host is an old copy. The host does nothing until the caller decides
    /// ([`Input::Recover`](crate::Input::Recover) or [`Input::Fork`](crate::Input::Fork)).
    RolledBack {
        /// The member.
        member: MemberId,
        /// The position up to which the member holds the log.
        position: u64,
    },
    /// Host: the entries at these positions are back. Their frames are delivered again.
    Recovered(RangeInclusive<u64>),
    /// Host: the host cannot take over the entries that this member sent, for example because the host has accepted
    /// other frames since it lost these entries. Only a fork ([`Input::Fork`](crate::Input::Fork)) helps.
    NotRecovered(MemberId),
    /// Host: this member holds another log than the host. The host has removed the member from the session.
    Removed(MemberId),
    /// Host: this member has sent a hello of the draft alone (draft section 6.4), so it gets each frame at least
    /// once; see [`DraftPeers`](crate::DraftPeers). The event comes again when the member is back after a
    /// disconnect or a restart of the host. Member: the host knows only the draft, so this side gets each frame at
    /// least once. The number is then [`MemberId::HOST`]. A member gets the event once, when it joins.
    AtLeastOnce(MemberId),
    /// The bytes under this cold key have arrived.
    Supplied(String),
    /// Nobody answers the requests for the bytes under this cold key. A member gives up the fetch. A host goes on
    /// asking, and asks at once when the member that put the value is back.
    Unavailable(String),
    /// The peer's bytes for this key are not the bytes that were announced.
    Tampered(String),
    /// The schemas in force are now those with this hash.
    Schemas(accp_registry::Hash),
    /// This side could not take over the schemas of the peer, or those that an earlier run registered, for this
    /// reason. This side goes on without them.
    SchemasUnavailable(String),
    /// The registry of this peer differs from that of this side, and these changes break a reader. They lead from
    /// the registry of the peer (the old reader) to the registry of this side (the new one). A schema or an
    /// optional field that only one of the two has breaks nothing. A peer says which registry it has when it joins
    /// and when it comes back. It does not send its aliases, so a rename that its aliases cover still counts as
    /// breaking.
    SchemasDiffer(MemberId, Vec<accp_registry::Change>),
    /// The session could not write a frame, a log entry or a snapshot of its own, for this reason, and goes on
    /// without it. Please report this as a defect.
    NotWritten(String),
}
