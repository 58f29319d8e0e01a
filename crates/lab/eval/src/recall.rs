//! Recall: the values that agents needed from their prompts, and the check that they are there.

mod binding;
mod escape;
mod expect;
mod find;
mod look;
mod sheet;

use accp_memory::policy::{Kind, Message, Record};

use crate::transcript::Transcript;

pub(crate) use binding::Wanted;
pub(crate) use escape::json_unescaped;
pub(crate) use expect::{Expected, Needs, identifiers};
pub(crate) use find::words;
pub(crate) use look::Look;
