//! The usual policies: what an agent's prompt holds of the conversation so far.
//!
//! [`policy`](crate::policy) shows how a policy is driven.

mod clear;
mod last;
mod views;
mod whole;

pub use clear::ClearToolUses;
pub use last::Last;
pub use views::Views;
pub use whole::Whole;
