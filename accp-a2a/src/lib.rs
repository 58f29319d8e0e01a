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
mod router;
mod said;
mod shown;

pub use agents::Agents;
pub use config::Config;
pub use router::router;
