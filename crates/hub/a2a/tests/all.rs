//! All tests of this crate are one program, because the build links each test program by itself, which takes time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]
#![allow(elided_lifetimes_in_paths, reason = "as a program writes it")]

mod answers;
mod bounds;
mod pool;
mod remote;
mod streams;
mod support;
mod tasks;
