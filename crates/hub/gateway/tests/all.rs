//! Tests of the gateway. Each has a gateway in front of a provider that reads, refuses and bills as the real ones do.

#![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

mod bad_input;
mod bills;
mod changes;
mod client;
mod conversation;
mod edges;
mod faults;
mod later_turns;
mod packed;
mod passes;
mod reading;
mod receipts;
mod sockets;
mod thoughts;
mod times;
mod unusual;
mod upstream;
