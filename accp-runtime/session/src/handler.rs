//! Tools for the handlers of frames.

pub(crate) mod order;
pub(crate) mod router;
pub(crate) mod stream;
pub(crate) mod tools;
