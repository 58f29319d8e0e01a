//! The inputs of a session, and its outputs.

pub(crate) mod cancel;
pub(crate) mod event;
pub(crate) mod inbound;
pub(crate) mod input;
pub(crate) mod outbound;
pub(crate) mod output;
