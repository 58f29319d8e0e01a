//! Frames of ACCP, the Agent Context Compression Protocol: types, codec, no IO.
//!
//! A frame is one line of printable ASCII: a header, params under short keys, and an envelope.
//! There are three views of a frame:
//!
//! - [`Typed`]: a Rust type that derives [`AccpFrame`](macro@AccpFrame), checked against the
//!   registry at compile time and borrowed from the text. [`profiles`] holds the standard ones.
//! - [`DynamicFrame`]: full names and values, by a [`Registry`] that is known at run time.
//! - [`Frame`]: the grammar and nothing else, for tools.
//!
//! ```
//! use accp_runtime::profiles::ScheduleReq;
//! use accp_runtime::{DynamicFrame, Registry, Typed};
//!
//! let text = "@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}[mid:100001000001,seq:1]";
//!
//! let typed = Typed::<ScheduleReq>::decode(text)?;
//! assert_eq!(typed.frame.priority, "medium"); // the registry's default
//!
//! let message = DynamicFrame::decode(text, &Registry::standard())?;
//! assert_eq!(message.to_json()["payload"]["assignee"], "dev");
//! # Ok::<(), accp_runtime::DecodeError>(())
//! ```
//!
//! # Features
//!
//! - `std` (default): [`Registry::shared`], registries from files. Without it the crate needs
//!   `alloc` only.
//! - `derive` (default): the derive macro and [`profiles`].
//! - `context` (default): [`context`] and [`view`]: the text that a model reads, and the facts that remain of old
//!   messages.
//! - `session` (default): [`session`]: sessions in which two or more agents exchange frames, and no frame is lost.
//! - `memory`: [`memory`], what an agent remembers of a conversation, without the files and the index of a list session:
//!   for `memory::disk`, add the crate `accp-memory` itself.
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
    AgentId, Decimal, DecodeError, DecodeFrame, DecodeOptions, DecodeValue, DynamicFrame,
    EncodeError, EncodeFrame, EncodeOptions, EncodeValue, Envelope, ErrorCode, Exact, External,
    Externals, Frame, FrameFamily, FrameTokenLimits, FrameTokens, Intent, IntoOwned, Limits, Map,
    Param, RawValue, Reason, Registry, Repair, Shorthand, TokenCounter, TokenLimit, ToolCallError,
    Typed, Value, Within, exact_numbers, formats, kind, parsed,
};

/// The context that a model reads, and the facts that remain of older messages (draft section 5).
///
/// A program that builds a context without a session also needs hot state, warm state and the checkpointer. These are
/// in the crate `accp-context`.
#[cfg(feature = "context")]
pub mod context {
    #[doc(inline)]
    pub use accp_context::{
        CachePrices, Checkpoint, CheckpointHooks, ContextLimits, Digest, Fact, Frozen, Headers,
        Paying, Summarizer, TokenBudget, Trigger, Verdict,
    };
}

/// Sessions in which agents exchange frames, and no frame is lost (draft sections 3.5 to 3.7, 5 and 6.4).
///
/// A program that keeps its session in SQLite or PostgreSQL uses the driver in the crate `accp-store`, and needs only
/// the names of this module. A program with its own store or link also needs [`driver`](session::driver).
#[cfg(feature = "session")]
pub mod session {
    #[doc(inline)]
    pub use accp_session::{
        Answer, CancelToken, Chunk, Codec, DraftPeers, EncodedFrames, Ended, Event, Hooks, Inbound,
        Input, InputError, JoinError, LogKey, MemberId, Mid, Options, Outbound, PeerError,
        PiecesInOrder, Posted, ReadError, Reference, RestoreError, Router, Rules, SchemaClashes,
        Scope, SendError, Session, SharedState, State, StateError, StateUpdate, StreamLimits,
        Streams, SummaryError, Time, ToolFault, Tools, Transmit,
    };

    /// For a program that writes its own driver: the outputs of a session, and the types of a store's answers.
    ///
    /// The driver hands in inputs, polls the session until it has no output left, and carries out each
    /// output. The documentation of the crate `accp-session` has the whole contract.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use accp_runtime::session::driver::Output;
    /// use accp_runtime::session::{Options, Outbound, Rules, Session, Time};
    /// use accp_runtime::{AgentId, DynamicFrame, Registry};
    ///
    /// let now = Time::from_secs(1_714_000_000);
    /// let planner = AgentId::new("planner")?;
    /// let options = Options::new("lunch", planner, Arc::new(Registry::standard()));
    /// let mut host = Session::host(options, Rules::default(), now);
    /// let message = DynamicFrame::new("planner", "req", "plan")?.with("goal", "lunch");
    /// host.send(&Outbound::message(&message), now)?;
    ///
    /// let (mut store, mut link) = (Vec::new(), Vec::new());
    /// while let Some(output) = host.poll() {
    ///     match output {
    ///         Output::Batch(batch) => {
    ///             store.extend(batch.entries); // a store commits the whole batch
    ///             link.extend(batch.sends); // only then its frames may leave
    ///         }
    ///         // A store answers by an `Input`; this one has nothing to read yet.
    ///         Output::Read(read) => return Err(format!("nothing is kept of {read:?}").into()),
    ///         _ => {}
    ///     }
    /// }
    /// assert!(store.iter().any(|entry| entry.text.contains("goal:lunch")));
    /// assert!(link.is_empty()); // no member has joined
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub mod driver {
        #[doc(inline)]
        pub use accp_session::{
            Batch, Cold, Due, Entry, EntryKind, OutboxChange, Outgoing, Output, Read, Seen,
            Snapshot, Stored, Supplied, Voucher,
        };
    }
}

/// What an agent remembers of a conversation: lists inside the window of a model, and prompts without repetition (the
/// crate `accp-memory`, without its feature `disk`).
#[cfg(feature = "memory")]
#[doc(inline)]
pub use accp_memory as memory;

/// Only for the code that `#[derive(AccpFrame)]` generates.
#[doc(hidden)]
pub use accp_frame::__private;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
