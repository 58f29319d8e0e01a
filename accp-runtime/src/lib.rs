//! Frames of ACCP, the Agent Context Compression Protocol: types, codec, no IO.
//!
//! A frame is one line of printable ASCII: a header, params under short keys, and an envelope.
//! There are three views of a frame:
//!
//! - [`Typed`]: a Rust type that derives [`AccpFrame`](macro@AccpFrame), checked against the
//!   registry at compile time and borrowed from the text. [`profiles`] holds the standard ones.
//! - [`Message`]: full names and values, by a [`Registry`] that is known at run time.
//! - [`Frame`]: the grammar and nothing else, for tools.
//!
//! ```
//! use accp_runtime::profiles::ScheduleReq;
//! use accp_runtime::{Message, Registry, Typed};
//!
//! let text = "@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}[mid:100001000001,seq:1]";
//!
//! let typed = Typed::<ScheduleReq>::decode(text)?;
//! assert_eq!(typed.frame.priority, "medium"); // the registry's default
//!
//! let message = Message::decode(text, &Registry::standard())?;
//! assert_eq!(message.to_json()["payload"]["assignee"], "dev");
//! # Ok::<(), accp_runtime::DecodeError>(())
//! ```
//!
//! # Features
//!
//! - `std` (default): [`Registry::shared`], registries from files. Without it the crate needs
//!   `alloc` only.
//! - `derive` (default): the derive macro and [`profiles`].
//! - `context` (default): [`context`] and [`view`], what a model reads and is reminded of.
//! - `session` (default): [`session`], with which two or more agents talk and lose nothing.
//! - `memory`: [`memory`], what an agent remembers of a conversation.
//! - `serde`: `Serialize` and `Deserialize` for [`AgentId`], [`Decimal`], [`Value`] and [`Map`], in
//!   the form of [`Value::to_json`].
//! - `rust_decimal`, `chrono`, `time`, `uuid`, `url`: types of these crates in fields; [`kind`] lists them.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]

#[cfg(feature = "context")]
pub use accp_context::view;
#[doc(inline)]
#[cfg(feature = "derive")]
pub use accp_frame::{AccpFrame, profiles};
#[doc(inline)]
pub use accp_frame::{
    AgentId, Decimal, DecodeError, DecodeFrame, DecodeOptions, DecodeValue, EncodeError,
    EncodeFrame, EncodeOptions, EncodeValue, Envelope, ErrorCode, Exact, External, Externals,
    Frame, FrameFamily, FrameTokenLimits, FrameTokens, Intent, IntoOwned, Limits, Map, Message,
    Param, RawValue, Reason, Registry, Repair, Shorthand, TokenCounter, TokenLimit, ToolCallError,
    Typed, Value, Within, exact_numbers, kind,
};

/// The context that a model reads, and the facts of which it is reminded (draft section 5).
///
/// The crate `accp-context` has the rest, for programs that build a context without a session: hot
/// and warm state, the checkpointer, the trait `Policy` and the policies.
#[cfg(feature = "context")]
pub mod context {
    #[doc(inline)]
    pub use accp_context::{
        CachePrices, Checkpoint, CheckpointHooks, ContextLimits, Digest, Fact, Frozen, Headers,
        Paying, Summarizer, Time, TokenBudget, Trigger, Used, Verdict,
    };
}

/// Sessions that lose nothing (draft sections 3.5 to 3.7, 5 and 6.4).
///
/// A driver of the crate `accp-store` polls a session and carries out what it says. The crate
/// `accp-session` has the rest, for other drivers and other stores: the outputs of a session, its
/// batches and what is in them.
#[cfg(feature = "session")]
pub mod session {
    #[doc(inline)]
    pub use accp_session::{
        Answer, CancelToken, Cancelled, Chunk, DraftPeers, Ended, Event, Hooks, Inbound, Input,
        InputError, JoinError, LogKey, MemberId, Mid, Options, Outbound, Party, PeerError,
        PiecesInOrder, Posted, ReadError, Reference, RestoreError, Router, Rules, Scope, SendError,
        Session, SharedState, State, StateError, StateUpdate, StreamLimits, Streams, SummaryError,
        Time, ToolFault, Tools, Transmit,
    };
}

/// What an agent remembers of a conversation: lists inside the window of a model, and prompts that say
/// things once (the crate `accp-memory`).
#[cfg(feature = "memory")]
#[doc(inline)]
pub use accp_memory as memory;

/// Only for the code of `#[derive(AccpFrame)]`.
#[doc(hidden)]
pub use accp_frame::__private;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
