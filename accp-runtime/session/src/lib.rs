//! Sessions that lose nothing (draft sections 3.5 to 3.7, 5 and 6.4): delivery, context
//! state, checkpoints and budgets, without IO.
//!
//! # Host and members
//!
//! Each session has one *host*; all others are *members*. Only the host judges frames. It checks
//! each frame, gives each accepted frame a position in the log, and relays the log. A member's
//! frames are proposals: they wait in its outbox until the host acknowledges them. A member copies
//! the entries that the host relays. The [`State`] of a side is a fold of the log and of nothing
//! else, so replicas cannot disagree.
//!
//! A *guest* is a member whose agent lives in the process of the host. It has no side: it reads the log of
//! the host, and sends through the session of the host ([`Session::join_guest`]).
//!
//! # The contract
//!
//! A [`Session`] has no clock, no socket, no disk and no random source. The program that drives it
//!
//! - hands in each input with the time: [`Session::handle`] takes an [`Input`]. An input is a frame
//!   that arrived, a frame to send, a frame that was handled, or data read from the store. Time may
//!   stand still but must not run backwards by more than the host's skew;
//! - calls [`Session::poll`] after that until it returns `None`. An [`Output`] is a [`Batch`], to
//!   be carried out as its docs say (commit, then send and deliver), or a [`Read`], to be answered
//!   by an input. The program may hand in several inputs before it takes the batch, and so commit
//!   them together;
//! - hands in [`Input::Timeout`] at the time that [`Session::next_timeout`] gives.
//!
//! A crash at any instant loses nothing that was acknowledged. The program restores the session
//! from the committed batches ([`Session::restore_host`], [`Session::restore_member`]). The session
//! then delivers again each frame that was not marked handled, and sends again each frame whose
//! outcome is unknown. Such a frame keeps its message id, so that the host accepts it only once.
//!
//! ```
//! use std::sync::Arc;
//!
//! use accp_runtime::profiles::ScheduleReq;
//! use accp_runtime::session::{MemberId, Options, Outbound, Rules, Session, Time};
//! use accp_runtime::session::driver::Output;
//! use accp_runtime::{AgentId, Registry};
//!
//! let now = Time::from_secs(1_714_000_000);
//! let registry = Arc::new(Registry::standard());
//! let options = |agent| Ok::<_, accp_runtime::EncodeError>(Options::new(
//!     "lunch", AgentId::new(agent)?, Arc::clone(&registry)));
//! let mut host = Session::host(options("planner")?, Rules::default(), now);
//! let mut member = Session::member(options("dev")?, now);
//! let dev = host.join(&AgentId::new("dev")?, now)?;
//!
//! let task = ScheduleReq {
//!     assignee: AgentId::new("dev")?,
//!     task: "impl_auth".into(),
//!     priority: "high".into(),
//!     deadline: None,
//!     deps: vec![],
//!     status: None,
//!     progress: None,
//! };
//!
//! // A link that loses nothing, and a store that keeps nothing.
//! let mut tasks = Vec::new();
//! for round in 0..8 {
//!     if round == 4 {
//!         host.send(&Outbound::frame(&task), now)?; // the member has joined by now
//!     }
//!     while let Some(Output::Batch(batch)) = host.poll() {
//!         for send in batch.sends {
//!             assert_eq!(send.to, dev);
//!             member.receive(MemberId::HOST, send.text.as_bytes(), now);
//!         }
//!     }
//!     while let Some(Output::Batch(batch)) = member.poll() {
//!         for send in batch.sends {
//!             host.receive(dev, send.text.as_bytes(), now);
//!         }
//!         for inbound in batch.inbound {
//!             let request = inbound.decode::<ScheduleReq>()?;
//!             tasks.push(request.frame.task.to_string());
//!             member.handled(inbound.position(), &[], now)?;
//!         }
//!     }
//! }
//! assert_eq!(tasks, ["impl_auth"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg_attr(doctest, doc = include_str!("../README.md"))]
mod delivery;
mod erase;
mod gate;
mod handler;
mod host;
mod interface;
mod log;
mod member;
mod options;
mod reference;
mod send;
mod session;
mod side;
mod state;
mod wire;

pub use accp_context::Time;
pub use delivery::groups::{Groups, Progress};
pub use delivery::parts::{Part, Split, join, split};
pub use erase::{Erased, Erasing, Selection};
pub use handler::order::PiecesInOrder;
pub use handler::router::Router;
pub use handler::stream::{Chunk, Ended, StreamLimits, Streams};
pub use handler::tools::{ToolFault, Tools};
pub use interface::cancel::{CancelToken, Cancelled};
pub use interface::event::Event;
pub use interface::inbound::Inbound;
pub use interface::input::{
    Answer, Hooks, Input, InputError, JoinError, Posted, SummaryError, Supplied,
};
pub use interface::outbound::{Outbound, SendError};
pub use interface::output::{
    Batch, Cold, OutboxChange, Outgoing, Output, Read, Seen, Snapshot, Stored, Transmit,
};
pub use log::entry::{Due, Entry, EntryKind};
pub use log::mid::{MemberId, Mid};
pub use log::vouch::{LogId, LogKey, Voucher};
pub use options::{DraftPeers, GroupLimits, Options, Rules, SchemaClashes, Scope, ValueLimits};
pub use reference::{ColdKey, Reference, Target, Walk, read_value, references};
pub use send::compose::{EncodedFrames, asking, compose};
pub use session::Session;
pub use session::codec::Codec;
pub use session::resolve::{Found, Item, Need, Resolved, Resolver};
pub use side::fold::RestoreError;
pub use state::locate::{Located, ReadError};
pub use state::shared::{SharedState, StateError, StateUpdate};
pub use state::{Party, State};
pub use wire::link::PeerError;
