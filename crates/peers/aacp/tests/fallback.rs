//! The three tiers from English to packets.

#![cfg(feature = "fallback")]
#![allow(clippy::disallowed_methods, reason = "the tests do the IO")]

mod claims;
mod differences;
#[cfg(feature = "sqlite")]
mod file;
mod hops;
#[cfg(all(feature = "http", feature = "sqlite"))]
mod server;
mod wording;
