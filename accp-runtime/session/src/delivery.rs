//! Delivery of frames: outbox, relays, transfers, parts.

pub(crate) mod backoff;
pub(crate) mod clock;
pub(crate) mod cursor;
pub(crate) mod cursors;
pub(crate) mod draft;
pub(crate) mod groups;
pub(crate) mod outbox;
pub(crate) mod parts;
pub(crate) mod relay;
pub(crate) mod transfer;
