//! What prompts cost.

use super::policy::Kind;
use super::tokens::ByKind;

/// What a token costs, as a share of a provider's list price for input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// A token that the prompt shares with the beginning of the agent's previous one.
    pub cached: f64,
    /// Any other token.
    pub fresh: f64,
}

/// The tokens of many prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub tokens: ByKind,
    /// Of these, the ones at the beginning of a prompt that the previous prompt of the same
    /// agent began with too.
    pub cached: ByKind,
}

/// Shares of a cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Split {
    pub system: f64,
    pub tools: f64,
    pub primer: f64,
    /// Of the rest, tokens that were not in the cache.
    pub new: f64,
    /// Of the rest, tokens that were.
    pub again: f64,
}

impl Spent {
    pub fn add(&mut self, other: &Self) {
        for kind in 0..Kind::ALL.len() {
            self.tokens[kind] += other.tokens[kind];
            self.cached[kind] += other.cached[kind];
        }
    }

    /// All tokens.
    pub fn total(&self) -> u64 {
        self.tokens.iter().sum()
    }

    /// All tokens but those of system prompts.
    pub fn without_system(&self) -> u64 {
        self.total() - self.tokens[Kind::System as usize]
    }

    pub fn cost(&self, prices: Prices) -> f64 {
        let (fresh, cached) = self.costs(prices, &Kind::ALL);
        fresh + cached
    }

    /// How the cost is made up.
    pub fn split(&self, prices: Prices) -> Split {
        let whole = self.cost(prices);
        if whole == 0.0 {
            return Split::default();
        }
        let of = |kind: Kind| {
            let (fresh, cached) = self.costs(prices, &[kind]);
            (fresh + cached) / whole
        };
        let apart = [Kind::System, Kind::Tools, Kind::Primer];
        let rest: Vec<Kind> = Kind::ALL
            .into_iter()
            .filter(|kind| !apart.contains(kind))
            .collect();
        let (fresh, cached) = self.costs(prices, &rest);
        Split {
            system: of(Kind::System),
            tools: of(Kind::Tools),
            primer: of(Kind::Primer),
            new: fresh / whole,
            again: cached / whole,
        }
    }

    /// What the fresh and the cached tokens of these kinds cost.
    fn costs(&self, prices: Prices, kinds: &[Kind]) -> (f64, f64) {
        let sum = |tokens: &ByKind| kinds.iter().map(|&kind| tokens[kind as usize]).sum::<u64>();
        let cached = sum(&self.cached);
        let fresh = sum(&self.tokens) - cached;
        (fresh as f64 * prices.fresh, cached as f64 * prices.cached)
    }
}
