//! The public parts of a session, each by itself.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod order;
mod parts;
mod reference;
mod router;
mod shared;
