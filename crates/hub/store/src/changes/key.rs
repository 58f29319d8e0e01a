//! The row of a key: the digest and the length of its value, and whether the store has the bytes.

use accp_registry::Hash;

/// What a store keeps of a key, without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub digest: Hash,
    pub length: u64,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The key was put without bytes. The store has the bytes only if another key has brought the same bytes.
    Known = 0,
    /// The store must have the bytes.
    Held = 1,
    /// The key has expired. The store may delete the bytes.
    Expired = 2,
}
