//! The usual policies for the prompts of agents.
//!
//! [`policy`](crate::policy) shows how to drive a policy.

mod chat;
pub mod ctx;
mod last;
mod memory;
mod sent;
mod views;
mod whole;

pub use last::Last;
pub use memory::{Layout, Memory, Part};
pub use sent::Sent;
pub use views::Views;
pub use whole::Whole;
