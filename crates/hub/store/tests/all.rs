//! All tests of this crate are one program, because linking a program for each file would take longer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod committer;
mod common;
mod conformance;
mod damage;
mod driver;
mod erasing;
mod erasure;
mod errors;
mod format;
mod hub_file;
mod planted;
mod probe;
mod reading;
mod restoring;
mod rows;
mod search;
mod sharing;
