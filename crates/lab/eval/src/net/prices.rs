//! Prices of tokens, and the costs of turns at these prices.

/// The prices of tokens, how a provider's cache finds a beginning, and the size of what an agent fetches.
///
/// ```
/// use accp_eval::Prices;
///
/// let prices = Prices::default();
/// assert_eq!((prices.input, prices.cached, prices.output), (1.25, 0.1, 5.0));
/// assert_eq!(prices.prompt(3000, 2000), 2000.0 * 0.1 + 1000.0 * 1.25);
/// // A provider keeps no beginning of fewer than 1,024 tokens.
/// assert_eq!(prices.prompt(3000, 1000), 3000.0 * 1.25);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// A token of a prompt that is not in the cache, and is stored there: 1.25.
    pub input: f64,
    /// A token of a prompt that is too short for the cache: 1.25, too.
    pub uncached: f64,
    /// A token in the cache: 0.1.
    pub cached: f64,
    /// A token that the model writes: 5.0.
    pub output: f64,
    /// The fewest tokens of a beginning that a provider keeps: 1,024.
    pub minimum: u64,
    /// How the cache finds a beginning: token by token.
    pub matching: Matching,
    /// How many seconds the cache keeps a beginning that nobody reads; `None` if it keeps beginnings for ever.
    pub seconds: Option<u32>,
    /// The higher prices of long prompts.
    pub tier: Option<Tier>,
    /// The most tokens that an agent fetches around a place: 800.
    pub window: usize,
}

/// How a provider's cache finds the beginning of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    /// The cache compares tokens, in steps of this many.
    Prefix(u64),
    /// The cache compares at marks: after the definitions of tools, after the system prompts and at the end of a
    /// prompt. It looks for the beginning that ends at each mark, and for those that end up to this many
    /// messages before the mark.
    Marks(usize),
}

/// The higher prices of long prompts, for all tokens of the prompt and for all tokens that the model writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tier {
    /// A prompt with more tokens than this is dearer.
    pub above: u64,
    /// The factor of all prices of a prompt's tokens.
    pub input: f64,
    /// The factor of the price of a token that the model writes.
    pub output: f64,
}

/// The tokens that an agent writes to fetch a source, or to search for one.
const ASKING: u64 = 40;
/// The tokens of a search's answer.
const ANSWER: u64 = 300;

impl Default for Prices {
    fn default() -> Self {
        Self {
            input: 1.25,
            uncached: 1.25,
            cached: 0.1,
            output: 5.0,
            minimum: 1024,
            matching: Matching::Prefix(1),
            seconds: None,
            tier: None,
            window: 800,
        }
    }
}

impl Prices {
    /// Returns the same prices without a cache.
    pub fn without_cache(self) -> Self {
        Self {
            input: self.uncached,
            cached: self.uncached,
            ..self
        }
    }

    /// Returns the same prices for a provider that keeps beginnings of any length.
    pub fn without_minimum(self) -> Self {
        Self { minimum: 0, ..self }
    }

    /// Returns the size of windows, and the other sizes that a report looks at.
    pub(crate) fn windows(self) -> [usize; 3] {
        let [small, large] = WINDOWS;
        [self.window, small, large]
    }

    /// Returns the cost of a prompt whose first `found` tokens the cache has.
    ///
    /// ```
    /// use accp_eval::{Prices, Tier};
    ///
    /// let tier = Tier { above: 2_000, input: 2.0, output: 1.5 };
    /// let prices = Prices { uncached: 1.0, tier: Some(tier), ..Prices::default() };
    /// assert_eq!(prices.prompt(1_000, 0), 1_000.0);
    /// assert_eq!(prices.prompt(3_000, 2_000), 2.0 * (2_000.0 * 0.1 + 1_000.0 * 1.25));
    /// ```
    pub fn prompt(self, tokens: u64, found: u64) -> f64 {
        let kept = if found >= self.minimum { found } else { 0 };
        let kept = kept.min(tokens);
        let fresh = if tokens >= self.minimum {
            self.input
        } else {
            self.uncached
        };
        let (factor, _) = self.factors(tokens);
        (kept as f64 * self.cached + (tokens - kept) as f64 * fresh) * factor
    }

    /// Returns the factors of the prices for a prompt of this many tokens: for its tokens, and for those that the
    /// model writes.
    fn factors(self, tokens: u64) -> (f64, f64) {
        let tier = self.tier.filter(|tier| tokens > tier.above);
        tier.map_or((1.0, 1.0), |tier| (tier.input, tier.output))
    }

    /// Returns the cost of recovering what a prompt lacks.
    pub(crate) fn recovery(self, recovery: &Recovery) -> f64 {
        let Recovery {
            context,
            carried,
            readings,
            sources,
            windows,
            lost,
        } = *recovery;
        let read = if context >= self.minimum {
            self.cached
        } else {
            self.uncached
        };
        let asked = (sources + lost) * ASKING;
        let (input, output) = self.factors(context);
        let prompts = readings as f64 * context as f64 * read
            + carried as f64 * self.cached
            + (windows + lost * ANSWER) as f64 * self.input;
        prompts * input + asked as f64 * self.output * output
    }
}

/// What an agent does in one turn to get what its prompt lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// The tokens of the prompt and of the windows that the agent carries.
    pub(crate) context: u64,
    /// The tokens of the windows that the agent carries from earlier turns.
    pub(crate) carried: u64,
    /// How many times the agent reads the context: once for all misses, and once more for all that is lost.
    pub(crate) readings: u64,
    /// The number of sources that are fetched.
    pub(crate) sources: u64,
    /// The tokens of the windows that are fetched.
    pub(crate) windows: u64,
    /// The number of sources that are searched for.
    pub(crate) lost: u64,
}

/// The cost of prompts and of recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// The cost of the prompts alone.
    pub prompts: f64,
    /// The cost of the prompts and of fetching each need that they lack.
    pub net: f64,
    /// The cost of the prompts and of fetching the lacking needs that an agent had to remember.
    pub net_real: f64,
}

/// Costs at the prices of a report, and at others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Costs {
    /// At the prices of the report.
    pub usual: Cost,
    /// Without a cache.
    pub uncached: Cost,
    /// With a cache that keeps beginnings of any length.
    pub no_minimum: Cost,
    /// With other sizes of windows: 400 and 1,600 tokens.
    pub windows: [Cost; 2],
    /// With other prices of a token that the model writes: 2 and 10.
    pub outputs: [Cost; 2],
    /// At the prices of [`SHOWN`](crate::SHOWN) profiles.
    pub profiles: [Cost; 4],
}

/// The tokens of a prompt, and of the beginning that each cache has of it. The beginning counts even if it is too
/// short for a provider to keep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) tokens: u64,
    /// The tokens in the cache at the prices of the report.
    pub(crate) usual: u64,
    /// The tokens in the cache at the prices of each shown profile.
    pub(crate) profiles: [u64; 4],
}

/// Other sizes of windows.
const WINDOWS: [usize; 2] = [400, 1600];
/// Other prices of a token that the model writes.
const OUTPUTS: [f64; 2] = [2.0, 10.0];

/// A setting other than the report's: its name, and the cost under it.
pub(crate) type Setting = (&'static str, fn(&Costs) -> Cost);

pub(crate) const SETTINGS: [Setting; 5] = [
    ("window 400", |costs| costs.windows[0]),
    ("window 1600", |costs| costs.windows[1]),
    ("output 2", |costs| costs.outputs[0]),
    ("output 10", |costs| costs.outputs[1]),
    ("min prefix 0", |costs| costs.no_minimum),
];

impl Cost {
    fn add(&mut self, other: &Self) {
        self.prompts += other.prompts;
        self.net += other.net;
        self.net_real += other.net_real;
    }
}

impl Costs {
    /// Returns the costs of a turn. Each [window](Prices::windows) has two recoveries: of all needs, and of the
    /// needs that an agent had to remember.
    pub(crate) fn of(
        prices: Prices,
        profiles: &[Prices; 4],
        found: Found,
        [usual, small, large]: &[[Recovery; 2]; 3],
    ) -> Self {
        let with = |prices: Prices, kept: u64, [strict, real]: &[Recovery; 2]| {
            let prompts = prices.prompt(found.tokens, kept);
            Cost {
                prompts,
                net: prompts + prices.recovery(strict),
                net_real: prompts + prices.recovery(real),
            }
        };
        let at = |prices: Prices, recovery: &[Recovery; 2]| with(prices, found.usual, recovery);
        let mut at_profiles = [Cost::default(); 4];
        let tariffs = profiles.iter().zip(found.profiles);
        for (cost, (prices, kept)) in at_profiles.iter_mut().zip(tariffs) {
            *cost = with(*prices, kept, usual);
        }
        Self {
            profiles: at_profiles,
            usual: at(prices, usual),
            uncached: at(prices.without_cache(), usual),
            no_minimum: at(prices.without_minimum(), usual),
            windows: [small, large].map(|recovery| at(prices, recovery)),
            outputs: OUTPUTS.map(|output| at(Prices { output, ..prices }, usual)),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.usual.add(&other.usual);
        self.uncached.add(&other.uncached);
        self.no_minimum.add(&other.no_minimum);
        let others = other.windows.iter().chain(&other.outputs);
        for (cost, other) in self.windows.iter_mut().chain(&mut self.outputs).zip(others) {
            cost.add(other);
        }
        for (cost, other) in self.profiles.iter_mut().zip(&other.profiles) {
            cost.add(other);
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same products in the same order")]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_is_a_reading_and_what_is_fetched() {
        let recovery = Recovery {
            context: 2000,
            carried: 500,
            readings: 2,
            sources: 3,
            windows: 900,
            lost: 1,
        };
        let expected = 2.0 * 2000.0 * 0.1 + 500.0 * 0.1 + 4.0 * 40.0 * 5.0 + 1200.0 * 1.25;
        assert_eq!(Prices::default().recovery(&recovery), expected);
        let short = Recovery {
            context: 1000,
            readings: 1,
            ..Recovery::default()
        };
        assert_eq!(Prices::default().recovery(&short), 1250.0);
        assert_eq!(Prices::default().without_minimum().recovery(&short), 100.0);
    }
}
