//! What a program hands to a session, and what it gets back.

pub(crate) mod cancel;
pub(crate) mod event;
pub(crate) mod inbound;
pub(crate) mod input;
pub(crate) mod outbound;
pub(crate) mod output;
