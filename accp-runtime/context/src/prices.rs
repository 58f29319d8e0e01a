//! Prices of tokens in a provider's prompt cache.

/// The prices of a provider with a prompt cache. A token costs less if it belongs to the beginning that a prompt
/// shares with the prompt before it.
///
/// Shortening a context changes it from some place on, and all tokens after this place are paid for as new. Waiting
/// costs too, because each prompt reads the old tokens again. If you shorten the context once waiting has cost as
/// much as the change, you never pay more than twice the lowest possible cost.
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
    /// Any other token: 1.25 by default, including 0.25 for storing the token.
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
    /// Returns whether it is time for a checkpoint. An earlier checkpoint would have saved reading `reread` tokens
    /// again; `staying` is the number of tokens after the tokens that leave. The cost of the new facts is left out,
    /// because it has to be paid sooner or later.
    #[expect(clippy::cast_precision_loss, reason = "no context has 2^53 tokens")]
    pub fn pays(&self, reread: usize, staying: usize) -> bool {
        self.cached * reread as f64 > (self.fresh - self.cached) * staying as f64
    }
}
