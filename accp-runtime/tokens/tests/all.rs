//! Tests against tiktoken-rs, the reference.

mod common;
mod generated;
mod growing;
mod long;
mod reference;
#[cfg(feature = "tiktoken")]
mod tiktoken;
mod unicode;
