//! What a provider bills for tokens that its cache has, and for those that it does not have.

/// The prices of a provider, relative to a token of input that no cache has anything to do with, and what its cache keeps.
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

/// The requests in which a shorter list has to pay for steps that it loses, for a conversation may end after any number of them.
const TURNS: [f64; 5] = [5.0, 10.0, 20.0, 40.0, 80.0];
/// How often the spread of what it loses it has to pay for.
const SPREADS: f64 = 1.6;

/// A price is not a number from 0 on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("expected the price of a {of} as a number from 0 on, found {found}")]
pub struct PricesError {
    of: &'static str,
    found: f64,
}

impl Prices {
    /// Returns prices of a token that is read from the cache, and of one that is not there and is stored. What the cache keeps is
    /// that of [`default`](Self::default).
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

    /// Returns the same with a cache that keeps a beginning for so many seconds if nobody reads it; without end for `None`.
    #[must_use]
    pub fn with_seconds(self, seconds: Option<u32>) -> Self {
        Self { seconds, ..self }
    }

    /// Returns the same where a list with more tokens than these is dearer as a whole; `None` if there is no such number.
    #[must_use]
    pub fn with_tier(self, tier: Option<u64>) -> Self {
        Self { tier, ..self }
    }

    /// Returns the same with a cache that keeps no list of fewer tokens.
    #[must_use]
    pub fn with_minimum(self, minimum: u64) -> Self {
        Self { minimum, ..self }
    }

    /// Returns the same with a cache that keeps a beginning in whole steps of so many tokens; 0 counts as 1.
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

    /// Returns how many seconds the cache keeps a beginning that nobody reads.
    pub fn seconds(&self) -> Option<u32> {
        self.seconds
    }

    /// Returns the tokens above which a list is dearer as a whole.
    pub fn tier(&self) -> Option<u64> {
        self.tier
    }

    /// Returns the fewest tokens of a list that the cache keeps.
    pub fn minimum(&self) -> u64 {
        self.minimum
    }

    /// Returns the tokens in whole steps of which the cache keeps a beginning.
    pub fn step(&self) -> u64 {
        self.step
    }
}

impl Prices {
    /// Returns whether a list that is shorter by so many tokens pays for the steps of the cache that it may lose. With each request
    /// it may keep up to a step less than the longer list, or more: what it loses in all is spread as the ends of two random walks.
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
    /// Returns the prices of most caches, a tenth for a read, 1.25 for a write, and 5 minutes; and the most that one of them asks
    /// for: 1,024 tokens, in steps of 128.
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
