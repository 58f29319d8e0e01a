//! The new registry, and the program with its types.

#[path = "program.rs"]
pub(crate) mod program;
#[allow(unreachable_pub, reason = "the types are those of a module of its own")]
mod types;
