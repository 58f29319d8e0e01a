//! Sessions that lose nothing (draft sections 3.5 to 3.7, 5 and 6.4): delivery, context
//! state, checkpoints and budgets, without IO.
//!
//! # Host and members
//!
//! Each session has one *host*, and the others are *members*. Only the host judges: it
//! checks each frame, gives the accepted ones their position in the log, and relays the log.
//! A member's frames are proposals that wait in its outbox until the host acknowledges them;
//! what the host relays it copies. What a side knows of the session, its [`State`], is a
//! fold of the log and of nothing else, so that replicas cannot disagree.
//!
//! # The contract
//!
//! A [`Session`] has no clock, no socket, no disk and no random source. Whoever drives it
//!
//! - hands in what happens: [`Session::handle`] takes an [`Input`] and the time. The inputs
//!   are frames that arrive, what the application wants sent, what was handled, what was read.
//!   Time may stand still but must not run backwards by more than the host's skew;
//! - takes out, after any of these, [`Session::poll`] until there is nothing left. An
//!   [`Output`] is a [`Batch`], to be carried out as that says (commit, then send and
//!   deliver), or a [`Read`], whose answer is an input again. Inputs may be collected before
//!   the batch is taken, so that they are committed together;
//! - hands in [`Input::Timeout`] once [`Session::next_timeout`] has come.
//!
//! A crash at any instant loses nothing that was acknowledged: the session is restored from
//! what was committed ([`Session::restore_host`], [`Session::restore_member`]), frames that
//! were not marked handled are delivered again, and frames whose fate is unknown go out
//! again under their own message id, so that they can be accepted once only.
//!
//! ```
//! use std::sync::Arc;
//!
//! use accp_runtime::profiles::ScheduleReq;
//! use accp_runtime::session::{MemberId, Options, Outbound, Rules, Session, Time};
//! use accp_session::Output;
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

mod delivery;
mod event;
mod gate;
mod handler;
mod host;
mod input;
mod log;
mod member;
mod options;
mod output;
mod refs;
mod send;
mod session;
mod side;
mod wire;

pub use accp_context::Time;
pub use delivery::groups::{GroupLimits, Groups, Progress};
pub use delivery::parts::{Part, Split, join, split};
pub use event::Event;
pub use handler::cancel::{CancelToken, Cancelled};
pub use handler::inbound::Inbound;
pub use handler::router::Router;
pub use handler::stream::{Chunk, Ended, StreamLimits, Streams};
pub use input::{Answer, Hooks, Input, InputError, JoinError};
pub use log::mid::{MemberId, Mid};
pub use log::shared::{SharedState, StateError, StateUpdate};
pub use log::state::{Party, State};
pub use options::{Options, Rules, Scope};
pub use output::{
    Batch, Cold, Entry, EntryKind, OutboxChange, Outgoing, Output, Read, Seen, Snapshot, Stored,
    Transmit,
};
pub use refs::locate::{Located, ReadError};
pub use refs::reference::{ColdKey, Reference, Target, Walk, read_value, references};
pub use refs::resolve::{Found, Item, Need, Resolved, Resolver};
pub use send::codec::{Codec, EncodedFrames};
pub use send::outbound::{Outbound, SendError};
pub use session::Session;
pub use side::fold::RestoreError;
pub use wire::link::PeerError;
