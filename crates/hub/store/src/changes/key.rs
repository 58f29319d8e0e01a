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
    /// The bytes are there only if another key brought them.
    Known = 0,
    /// The bytes must be there.
    Held = 1,
    /// The bytes may be deleted.
    Expired = 2,
}
