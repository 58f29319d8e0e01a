//! ACCP over MCP (draft section 11.3): a model that speaks MCP is an agent of a session.
//!
//! Two ways lead from one protocol to the other:
//!
//! - [`serve_stdio`] and [`Service`] are MCP servers for one agent. The model sends, asks, receives and
//!   answers frames by tools, and reads the session as resources of the type `application/accp`. Every
//!   tool result holds the frame `done:tool` of schema `TC`. The instructions of the MCP session hold
//!   the session's `sync:registry`.
//! - [`Bridge`] puts the tools of any MCP server behind the frames `req:tool` and `done:tool`.
//!
//! [`serve_context_stdio`] serves the tools of CTX-001, with which a model finds what left its list.
//!
//! ```no_run
//! use accp_client::Hub;
//! use accp_store::MemoryStore;
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let hub = Hub::open("lunch", MemoryStore::new()).await?;
//! accp_mcp::serve_stdio(hub.agent("dev")?).await?; // until the model's program closes the pipe
//! # Ok(())
//! # }
//! ```

mod answer;
mod arguments;
mod bridge;
mod calls;
mod connection;
mod context;
mod endpoints;
mod error;
mod fault;
mod http;
mod inbox;
mod initialize;
mod instructions;
mod methods;
mod render;
mod request;
mod resources;
mod server;
mod stdio;
mod subscriptions;
mod tools;

pub use accp_client::{Agents, Principal, TrustPath};
pub use bridge::Bridge;
pub use context::{serve_context_on, serve_context_stdio};
pub use error::Error;
pub use http::{Service, Settings};
pub use stdio::{serve_on, serve_stdio};

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
