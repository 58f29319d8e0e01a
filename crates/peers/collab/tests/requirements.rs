//! The requirements of the shared-folder protocol, COL-01 to COL-68. Each has a test that accepts what it
//! asks for, and a test that refuses what it forbids. The tests work on folders on the disk.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod conclusion;
mod decisions;
mod deliverables;
mod durable;
mod events;
mod files;
mod init;
mod inputs;
mod phases;
mod readiness;
mod reviews;
mod round;
mod validate;
mod watching;
