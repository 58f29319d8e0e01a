//! The types of the old registry, and the program that is built with them.

#[path = "program.rs"]
pub(crate) mod program;
#[allow(unreachable_pub, reason = "the types are those of a module of its own")]
mod types;

use accp_frame::{AccpFrame, Map};

/// A level, in a program that keeps values which only newer peers know.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(crate = accp_frame)]
pub(super) enum Level {
    Low,
    High,
    #[accp(other)]
    Other(String),
}

/// A payment, in a program that keeps variants which only newer peers know.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(crate = accp_frame)]
#[accp(registry = "tests/doors/evolution/old/registry.json", schema = "PM")]
pub(super) enum AnyPayment {
    Card {
        no: String,
    },
    #[accp(other)]
    Other(Map<'static>),
}
