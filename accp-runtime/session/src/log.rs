//! The log of a session: its entries, the ids in them, and how a host vouches for them.

pub(crate) mod by_member;
pub(crate) mod entry;
pub(crate) mod mid;
pub(crate) mod vouch;
