//! Frames of the session itself: about the link, and about the session.

pub(crate) mod control;
pub(crate) mod link;
pub(crate) mod relay;
pub(crate) mod scan;
