//! The three tiers from English to packets.

#![cfg(feature = "fallback")]

mod claims;
#[cfg(feature = "sqlite")]
mod file;
#[cfg(all(feature = "http", feature = "sqlite"))]
mod server;
mod wording;
