//! What a provider asks for tokens that its cache knows.

/// The prices of a provider with a prompt cache: what a token costs that stands in the longest
/// common beginning with the last prompt, and what any other does.
///
/// Whoever shortens a context changes it from some place on, and what stands behind that place
/// is paid for as new. When to do it is the question of whoever rents and could buy, without
/// knowing for how long: once the rent comes to the price, it is never more than twice as dear
/// as the best that could have been done.
///
/// ```
/// use accp_runtime::context::CachePrices;
///
/// let prices = CachePrices::default();
/// // 800 tokens that could be 100 stand in front of 150 that stay. After two prompts, three:
/// assert!(!prices.pays(2 * 700, 150));
/// assert!(prices.pays(3 * 700, 150));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CachePrices {
    /// A token in the cache: 0.1 by default.
    pub cached: f64,
    /// Any other token: 1.25 by default, of which a quarter is for keeping it.
    pub fresh: f64,
}

impl Default for CachePrices {
    fn default() -> Self {
        Self {
            cached: 0.1,
            fresh: 1.25,
        }
    }
}

impl CachePrices {
    /// Whether it is time for a checkpoint: `reread` tokens would not have been read again if
    /// it had been taken before, and `staying` tokens stand behind what leaves. What the facts
    /// cost that come for it is to be paid sooner or later.
    #[expect(clippy::cast_precision_loss, reason = "no context has 2^53 tokens")]
    pub fn pays(&self, reread: usize, staying: usize) -> bool {
        self.cached * reread as f64 > (self.fresh - self.cached) * staying as f64
    }
}
