//! The tests of this crate are one program, because each program is linked by itself.

mod bridge;
mod conformance_mcp;
mod context;
mod hot;
mod http;
mod initialize;
mod pieces;
mod sent;
mod support;
mod tools;
