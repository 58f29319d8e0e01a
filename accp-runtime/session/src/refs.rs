//! References: their targets, and the places of these targets.

pub(crate) mod locate;
pub(crate) mod reference;
pub(crate) mod resolve;
