//! All tests of this crate are one program, because the build links each test program by itself, which takes time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod bridge;
mod conformance_mcp;
mod context;
mod hot;
mod http;
mod initialize;
mod methods;
mod pieces;
mod sent;
mod support;
mod tools;
