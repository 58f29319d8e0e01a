//! The three tiers from English to packets.

#![cfg(feature = "fallback")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod claims;
#[cfg(feature = "sqlite")]
mod file;
mod hops;
#[cfg(all(feature = "http", feature = "sqlite"))]
mod server;
mod wording;
