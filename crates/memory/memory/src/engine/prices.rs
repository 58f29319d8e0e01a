//! What a provider bills for tokens that its cache has, and for tokens that its cache does not have.

/// The prices of a provider, relative to the price of an input token without any cache, and the limits of its cache.
///
/// ```
/// use accp_memory::Prices;
///
/// let prices = Prices::new(0.025, 2.0)?.with_seconds(Some(3_600));
/// assert_eq!((prices.read(), prices.write(), prices.seconds()), (0.025, 2.0, Some(3_600)));
///
/// let refused = Prices::new(f64::NAN, 1.25).unwrap_err();
/// assert_eq!(refused.to_string(), "expected the price of a read as a number from 0 on, found NaN");
/// # Ok::<(), accp_memory::PricesError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    read: f64,
    write: f64,
    seconds: Option<u32>,
    tier: Option<u64>,
    minimum: u64,
    step: u64,
}

/// How many more requests a conversation may have. For each of these numbers, a shorter list has to pay for the cache
/// steps that it loses.
const TURNS: [f64; 5] = [5.0, 10.0, 20.0, 40.0, 80.0];
/// The saving has to cover this many times the spread (standard deviation) of the loss.
const SPREADS: f64 = 1.6;

/// A price is not a number from 0 on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("expected the price of a {of} as a number from 0 on, found {found}")]
pub struct PricesError {
    of: &'static str,
    found: f64,
}

impl Prices {
    /// Returns prices: `read` for a token that is read from the cache, and `write` for a token that is stored there.
    /// The limits of the cache are those of [`default`](Self::default).
    ///
    /// # Errors
    /// When a price is negative, infinite or not a number.
    pub fn new(read: f64, write: f64) -> Result<Self, PricesError> {
        for (of, found) in [("read", read), ("write", write)] {
            if !found.is_finite() || found < 0.0 {
                return Err(PricesError { of, found });
            }
        }
        Ok(Self {
            read,
            write,
            ..Self::default()
        })
    }

    /// Returns these prices for a cache that keeps the beginning of a list for this many seconds if nobody reads it.
    /// `None` means that it keeps the beginning forever.
    #[must_use]
    pub fn with_seconds(self, seconds: Option<u32>) -> Self {
        Self { seconds, ..self }
    }

    /// Returns these prices with a limit of tokens above which a list costs more as a whole. `None` means no such
    /// limit.
    #[must_use]
    pub fn with_tier(self, tier: Option<u64>) -> Self {
        Self { tier, ..self }
    }

    /// Returns these prices for a cache that keeps no list with fewer tokens than this.
    #[must_use]
    pub fn with_minimum(self, minimum: u64) -> Self {
        Self { minimum, ..self }
    }

    /// Returns these prices for a cache that keeps the beginning of a list in whole steps of this many tokens; 0
    /// counts as 1.
    #[must_use]
    pub fn with_step(self, step: u64) -> Self {
        let step = step.max(1);
        Self { step, ..self }
    }

    /// Returns the price of a token that is read from the cache.
    pub fn read(&self) -> f64 {
        self.read
    }

    /// Returns the price of a token that is not in the cache and is stored there.
    pub fn write(&self) -> f64 {
        self.write
    }

    /// Returns how many seconds the cache keeps the beginning of a list that nobody reads; `None` if it keeps it
    /// forever.
    pub fn seconds(&self) -> Option<u32> {
        self.seconds
    }

    /// Returns the tokens above which a list costs more as a whole; `None` if there is no such limit.
    pub fn tier(&self) -> Option<u64> {
        self.tier
    }

    /// Returns the fewest tokens of a list that the cache keeps.
    pub fn minimum(&self) -> u64 {
        self.minimum
    }

    /// Returns the size of a step in tokens: the cache keeps the beginning of a list in whole steps.
    pub fn step(&self) -> u64 {
        self.step
    }
}

impl Prices {
    /// Returns whether a list that is shorter by this many tokens pays for the cache steps that it may lose. In each
    /// request, the cache may keep up to one step less of the shorter list than of the longer list, or up to one step
    /// more. The sum of these differences spreads like a random walk.
    pub(super) fn covers_steps(&self, saved: u64) -> bool {
        if self.step <= 1 {
            return true;
        }
        TURNS.iter().all(|turns| {
            let gain = saved as f64 * (self.write + turns * self.read);
            let spread = self.step as f64 * (turns / 6.0).sqrt();
            gain >= SPREADS * spread * (self.write - self.read)
        })
    }
}

impl Default for Prices {
    /// Returns the prices of most caches: a tenth for a read, 1.25 for a write, and 5 minutes. The minimum and the
    /// step are the largest that such a cache has: 1,024 tokens, in steps of 128.
    ///
    /// ```
    /// let prices = accp_memory::Prices::default();
    /// assert_eq!((prices.read(), prices.write(), prices.seconds()), (0.1, 1.25, Some(300)));
    /// assert_eq!((prices.minimum(), prices.step(), prices.tier()), (1_024, 128, None));
    /// ```
    fn default() -> Self {
        Self {
            read: 0.1,
            write: 1.25,
            seconds: Some(300),
            tier: None,
            minimum: 1_024,
            step: 128,
        }
    }
}
