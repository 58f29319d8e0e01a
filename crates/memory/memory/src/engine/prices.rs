//! What a provider bills for tokens that its cache has, and for those that it does not have.

/// The prices of a provider, relative to a token of input that no cache has anything to do with.
///
/// ```
/// use accp_memory::Prices;
///
/// let prices = Prices::default();
/// assert_eq!((prices.read, prices.write, prices.seconds), (0.1, 1.25, Some(300)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// A token that is read from the cache.
    pub read: f64,
    /// A token that is not in the cache and is stored there.
    pub write: f64,
    /// How long the cache keeps a beginning that nobody reads; without end for `None`.
    pub seconds: Option<u32>,
    /// A list with more tokens than these is dearer as a whole; `None` if there is no such number.
    pub tier: Option<u64>,
}

impl Default for Prices {
    /// Returns the prices of most caches: a tenth for a read, 1.25 for a write, and 5 minutes.
    fn default() -> Self {
        Self {
            read: 0.1,
            write: 1.25,
            seconds: Some(300),
            tier: None,
        }
    }
}
