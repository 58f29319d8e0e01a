//! A hub of ACCP sessions: agents reach it over HTTP and WebSocket (draft sections 11.1 and 11.2).
//!
//! The hub is the host of its sessions. It owns sockets, clocks and tasks, and decides nothing about
//! the protocol: [`accp_client::Hub`] runs each session as a task on a store that all share.
//!
//! ```
//! use accp_hub::{Config, Open, Server, Sessions};
//! use accp_client::Agent;
//! use accp_runtime::AgentId;
//! use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
//! use accp_store::{Committer, MemoryStore};
//!
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! let config = Config { listen: "127.0.0.1:0".parse()?, ..Config::default() };
//! let sessions = Sessions::new(&config, || Ok(Committer::inline(MemoryStore::new())))?;
//! let server = Server::bind(config, sessions, Open).await?;
//! let url = format!("ws://{}", server.address());
//! tokio::spawn(server.run(std::future::pending()));
//!
//! let planner = Agent::connect(&url, "lunch", "planner").await?;
//! let dev = Agent::connect(&url, "lunch", "dev").await?;
//! dev.serve(|task: ScheduleReq, cx| async move {
//!     cx.reply(ScheduleDone::new(task.task).status("done")).await
//! });
//! let done: ScheduleDone = planner.ask(ScheduleReq::new(AgentId::new("dev")?, "impl_auth")).await?;
//! assert_eq!(done.task, "impl_auth");
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! # }).map_err(|error| error.to_string())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Routes
//!
//! | Route | |
//! |---|---|
//! | `POST /accp/v1/frames` | one frame, or a stream of ST frames; answered by a frame |
//! | `GET /accp/v1/ws` | a WebSocket: one frame a text message |
//! | `GET /accp/v1/sessions` | the sessions that the caller may enter |
//! | `GET /accp/v1/sessions/{session}/frames` | the log, and then each new entry |
//! | `GET /accp/v1/sessions/{session}/context` | what a model reads |
//! | `GET /accp/v1/sessions/{session}/state` | the shared state and the budget |
//! | `GET /accp/v1/sessions/{session}/registry` | the schemas in force |
//! | `GET /accp/v1/sessions/{session}/values/{key}` | the value of a reference |
//! | `PUT /accp/v1/sessions/{session}/values/{key}` | the bytes of a value that `sync:put` has announced |
//! | `POST /accp/v1/sessions/{session}/phase` | ends a phase of the work, with a checkpoint |
//! | `POST /accp/v1/sessions/{session}/registry` | registers schemas |
//! | `DELETE /accp/v1/sessions/{session}/agents/{name}` | takes an agent out of the session |
//! | `POST /accp/v1/sessions/{session}/erase` | erases somebody's data, for administrators |
//! | `GET /`, `GET /ui` | a page for people |
//! | `GET /openapi.json`, `/healthz`, `/readyz`, `/metrics` | |

mod abort;
mod access;
mod answer;
mod app;
mod auth;
mod body;
mod certificates;
mod config;
mod entry;
mod erase;
mod files;
mod forward;
mod frame_log;
mod harness;
mod hubs;
mod jwt;
mod layers;
mod listen;
mod metrics;
mod post;
mod puts;
mod query;
mod rates;
mod reads;
mod reload;
mod routes;
mod sessions;
mod socket;
mod spans;
mod tokens;
mod ui;
mod write_timeout;

pub use access::{Access, AnyOf, Denied, Identified, Identity, Open, check_session_name};
pub use config::{Config, Limits, Numbering, Replica, Tls};
pub use erase::describe_erasure;
pub use files::make_room;
pub use jwt::Jwt;
pub use listen::{Agents, ListenError, Server};
pub use reload::AccessFileError;
pub use sessions::Sessions;
pub use tokens::Tokens;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
