//! References: what each names, and where that is.

pub(crate) mod locate;
pub(crate) mod reference;
pub(crate) mod resolve;
