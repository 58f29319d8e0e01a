//! The checks of a frame, before it takes its place in the log.

pub(crate) mod judge;
pub(crate) mod scan;
pub(crate) mod seen;
