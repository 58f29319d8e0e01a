//! Prices, and what turns cost at them.

/// The prices of tokens, and the size of what an agent fetches.
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
    /// A token of a prompt that is not in the cache: 1.25, including 0.25 for storing the token.
    pub input: f64,
    /// A token in the cache: 0.1.
    pub cached: f64,
    /// A token that the model writes: 5.0.
    pub output: f64,
    /// The fewest tokens of a beginning that a provider keeps: 1,024.
    pub minimum: u64,
    /// The most tokens that an agent fetches around a place: 800.
    pub window: usize,
}

/// The tokens that an agent writes to fetch a source, or to search for one.
const ASKING: u64 = 40;
/// The tokens of a search's answer.
const ANSWER: u64 = 300;

impl Default for Prices {
    fn default() -> Self {
        Self {
            input: 1.25,
            cached: 0.1,
            output: 5.0,
            minimum: 1024,
            window: 800,
        }
    }
}

impl Prices {
    /// Returns the same prices without a cache.
    pub fn without_cache(self) -> Self {
        Self {
            cached: self.input,
            ..self
        }
    }

    /// Returns the same prices of a provider that keeps beginnings of any length.
    pub fn without_minimum(self) -> Self {
        Self { minimum: 0, ..self }
    }

    /// Returns the size of windows, and the other sizes that a report looks at.
    pub(crate) fn windows(self) -> [usize; 3] {
        let [small, large] = WINDOWS;
        [self.window, small, large]
    }

    /// Returns the cost of a prompt whose first `shared` tokens another prompt began with too.
    pub fn prompt(self, tokens: u64, shared: u64) -> f64 {
        let kept = if shared >= self.minimum { shared } else { 0 };
        kept as f64 * self.cached + (tokens - kept.min(tokens)) as f64 * self.input
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
            self.input
        };
        let asked = (sources + lost) * ASKING;
        readings as f64 * context as f64 * read
            + carried as f64 * self.cached
            + asked as f64 * self.output
            + (windows + lost * ANSWER) as f64 * self.input
    }
}

/// What an agent does in one turn to get what its prompt lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// The tokens of the prompt and of the windows that the agent carries.
    pub(crate) context: u64,
    /// The tokens of the windows that the agent carries from earlier turns.
    pub(crate) carried: u64,
    /// The readings of the context: one for all misses, one more for all that is lost.
    pub(crate) readings: u64,
    /// The sources that are fetched.
    pub(crate) sources: u64,
    /// The tokens of the windows that are fetched.
    pub(crate) windows: u64,
    /// The sources that are searched for.
    pub(crate) lost: u64,
}

/// The cost of prompts and of recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// The cost of the prompts alone.
    pub prompts: f64,
    /// The cost of the prompts and of fetching each need that they lack.
    pub net: f64,
    /// The same for the needs that an agent had to remember.
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
}

/// Other sizes of windows.
const WINDOWS: [usize; 2] = [400, 1600];
/// Other prices of a token that the model writes.
const OUTPUTS: [f64; 2] = [2.0, 10.0];

/// What differs from the prices of a report, and the cost with it.
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
    /// Returns what a turn costs, with the recovery of all and of real needs for each of the
    /// [windows](Prices::windows).
    pub(crate) fn of(
        prices: Prices,
        tokens: u64,
        shared: u64,
        [usual, small, large]: &[[Recovery; 2]; 3],
    ) -> Self {
        let at = |prices: Prices, [strict, real]: &[Recovery; 2]| {
            let prompts = prices.prompt(tokens, shared);
            Cost {
                prompts,
                net: prompts + prices.recovery(strict),
                net_real: prompts + prices.recovery(real),
            }
        };
        Self {
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
