//! The way of a message to the frames that are sent.

pub(crate) mod compose;
pub(crate) mod encode;
