//! What the agents needed from their prompts, and whether it is there.

mod binding;
mod escape;
mod expect;
mod find;
mod look;
mod sheet;

use accp_context::policy::{Kind, Message, Record};

use crate::transcript::Transcript;

pub(crate) use binding::Wanted;
pub(crate) use expect::{Expected, Needs};
pub(crate) use look::Look;
