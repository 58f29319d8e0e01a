//! What a memory promises of lists that it has given before.

/// When a memory may change what it has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Promise {
    /// Only if the list would otherwise not fit the window, or would reach the size above which a list costs more.
    /// Until then, each list is the list before it with new messages at its end.
    #[default]
    Append,
    /// Also if a change is free, because the cache has lost the list or the program has changed it. And also if a
    /// change pays: at the prices of the cache, within the expected turns, and out of what this conversation has
    /// saved so far.
    Save,
    /// As `Append`; but if shorter results are not enough, whole messages leave, too, the oldest first. A summary
    /// with the requests of persons takes their place. `Append` and `Save` send a list larger than the window
    /// instead.
    Window,
}
