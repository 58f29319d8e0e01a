//! All tests of this crate are one program, because linking a program for each file would take longer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod bridge;
mod conformance_packet;
mod conformance_packet_words;
mod conformance_packet_workflows;
mod derived;
mod fallback;
mod properties;
mod support;
