//! What a memory promises of lists that it has given before.

/// When a memory may change what it has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Promise {
    /// Only if the list would not fit the window otherwise, or a dearer tier is just ahead. Until then every list is the one before
    /// with more behind it.
    #[default]
    Append,
    /// Also if a change is free, because the cache has lost the list or its owner has changed it, and if a change pays back: at
    /// prices of a cache, in the turns that are to be expected, and out of what this conversation has saved so far.
    Save,
    /// As `Append`, and where shorter results are not enough, whole messages leave too, the oldest first: the list then has a
    /// summary in their place, with the requests of persons. `Append` and `Save` send a list that is larger than the window instead.
    Window,
}
