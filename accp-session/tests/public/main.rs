//! What the parts of a session promise by themselves.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod parts;
mod reference;
mod router;
mod shared;
