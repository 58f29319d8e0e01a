//! What a memory promises about the lists that it has already returned.

/// When a memory may change messages that it has already sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Promise {
    /// A message that was sent changes only if the list would otherwise not fit the window, or would reach the size
    /// above which a list costs more. Until then, each list is the previous list with new messages at its end. Bound
    /// thoughts behind such a change are dropped, and nothing changes before those of the newest turn.
    #[default]
    Append,
    /// A message that was sent also changes if the change is free, because the cache has lost the list or the program
    /// has changed the list. And it also changes if the change pays: at the prices of the cache, within the expected
    /// turns, and out of what this conversation has saved so far.
    Save,
    /// This is like `Append`, but if shorter results are not enough, whole messages leave, too, the oldest first. A
    /// summary with the requests of persons takes their place. `Append` and `Save` never remove whole messages: they
    /// send a list that is larger than the window instead.
    Window,
}
