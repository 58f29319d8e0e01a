//! Makes the frames that carry a message.

pub(crate) mod compose;
pub(crate) mod encode;
