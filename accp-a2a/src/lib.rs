//! ACCP over A2A.
mod agents;
mod board;
mod call;
mod card;
mod config;
mod course;
mod desk;
mod fault;
mod follow;
mod incoming;
mod remote;
mod router;
mod said;
mod shown;

pub use agents::Agents;
pub use config::Config;
pub use remote::{Remote, RemoteConnect, RemoteError};
pub use router::router;
