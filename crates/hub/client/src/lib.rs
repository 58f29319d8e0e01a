//! Agents that talk to each other, in asynchronous Rust.
//!
//! A [`Hub`] hosts a session in this process, on a store that outlives the process. Each [`Agent`]
//! of the session sends frames, asks for answers, and serves what others send. The hub is a task of
//! tokio, and its agents live in that task: they share its log. An agent that is [connected](Agent::connect)
//! to a hub elsewhere is a task of its own, with a store of its own.
//!
//! What the session promises holds here too: a frame that was sent is durable, a handler gets each
//! frame in the order of the session, and the mark of a frame and the reply to it are one commit. When
//! the process is killed, open the hub again on the same store: frames that were not handled are handed
//! out again.
//!
//! A store writes on a thread of its own. If a test has paused the clock of tokio, the clock does not wait for this thread
//! but jumps to the end of a wait, so calls return E3001 at once. Let the clock run in tests of agents.
//!
//! ```
//! use accp_client::Hub;
//! use accp_runtime::AgentId;
//! use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
//! use accp_store::MemoryStore; // or a SqliteStore, which stays
//!
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! let hub = Hub::open("lunch", MemoryStore::new()).await?;
//! let (planner, dev) = (hub.agent("planner")?, hub.agent("dev")?);
//! dev.serve(|task: ScheduleReq, cx| async move {
//!     cx.reply(ScheduleDone::new(task.task).status("done")).await // mark and reply: one commit
//! });
//! let task = ScheduleReq::new(AgentId::new("dev")?, "impl_auth").priority("high");
//! let done: ScheduleDone = planner.ask(task).await?;
//! assert_eq!(done.task, "impl_auth");
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! # }).map_err(|error| error.to_string())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent;
mod agents;
mod ask;
mod claim;
mod clock;
mod command;
mod connect;
mod context;
mod deadline;
mod error;
mod frames;
mod handle;
mod hub;
mod inbox;
mod link;
mod outside;
mod pending_answer;
mod pieces;
mod sending;
mod sent;
mod service;
mod side;
mod tls;
mod wire;

pub use accp_session::Supplied;
pub use agent::Agent;
pub use agents::{Agents, Meter, Principal, TrustPath, address_part};
pub use ask::Ask;
pub use connect::{Connect, REMOVED, REPLACED};
pub use context::{Cx, Replied};
pub use error::{Busy, Error, Failure};
pub use frames::Frames;
pub use hub::Hub;
pub use link::Link;
pub use outside::{outside, ttl_left};
pub use pieces::Pieces;
pub use sending::Sending;
pub use sent::Sent;
pub use service::Asks;
pub use tls::tls_settings;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
