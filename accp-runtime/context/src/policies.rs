//! The usual policies for the prompts of agents.
//!
//! [`policy`](crate::policy) shows how to drive a policy.

mod last;
mod memory;
pub mod search;
mod whole;

pub use last::Last;
pub use memory::{Layout, Memory, Part};
pub use whole::Whole;
