//! The log of a session, and the state that it folds to.

pub(crate) mod by_member;
pub(crate) mod chain;
pub(crate) mod effect;
pub(crate) mod mid;
pub(crate) mod names;
pub(crate) mod puts;
pub(crate) mod relayed;
pub(crate) mod shared;
pub(crate) mod state;
pub(crate) mod vouch;
