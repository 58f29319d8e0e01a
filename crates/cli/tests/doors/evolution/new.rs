//! The types of the new registry, and the program that is built with them.

#[path = "program.rs"]
pub(crate) mod program;
#[allow(unreachable_pub, reason = "the types are those of a module of its own")]
mod types;
