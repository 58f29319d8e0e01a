//! Tests of public types and functions that need no session.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod order;
mod parts;
mod reference;
mod router;
mod shared;
