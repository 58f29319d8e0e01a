//! The context that a model reads of a conversation, and the facts that remain of older messages:
//! views, facts, checkpoints, budgets (draft section 5). No IO, no clock, no async.
//!
//! Depend on `accp-runtime`, which re-exports this crate as `context` and [`view`].

#[cfg_attr(doctest, doc = include_str!("../README.md"))]
mod budget;
mod checkpoint;
mod checkpointer;
mod choose;
mod class;
mod context;
mod digest;
mod extract;
mod fact;
#[expect(
    unreachable_pub,
    reason = "generated code is public; its module decides"
)]
mod frames;
mod frozen;
mod hooks;
mod hot;
mod limits;
mod preview;
mod prices;
mod recorded;
pub mod search;
mod summary;
mod time;
pub mod view;
mod warm;

pub use budget::{TokenBudget, Used};
pub use checkpoint::{Checkpoint, Kept, Trigger};
pub use checkpointer::Checkpointer;
pub use class::Class;
pub use context::{render_context, view_context};
pub use digest::Digest;
pub use extract::facts_of;
pub use fact::Fact;
pub use frozen::{Frozen, Turn};
pub use hooks::{CheckpointHooks, Paying, Verdict};
pub use hot::{Hot, Shown, read_head};
pub use limits::ContextLimits;
pub use prices::CachePrices;
pub use recorded::{Call, Calls, Recorded};
pub use summary::{Headers, Summarizer};
pub use time::Time;
pub use warm::Warm;
