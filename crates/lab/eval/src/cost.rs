//! The cost of prompts.

use crate::net::Prices;
use crate::tokens::ByKind;
use accp_memory::policy::Kind;

/// The tokens of many prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// All tokens.
    pub tokens: ByKind,
    /// The tokens that a provider's cache has: those at the beginning of each prompt. A prompt counts only if this
    /// beginning is long enough for the provider to keep it.
    pub cached: ByKind,
}

/// Shares of a cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Split {
    /// System prompts.
    pub system: f64,
    /// Tool schemas.
    pub tools: f64,
    /// The primer, which teaches the model to read the rest.
    pub primer: f64,
    /// Tokens of other kinds that were not in the cache.
    pub new: f64,
    /// Tokens of other kinds that were in the cache.
    pub again: f64,
}

impl Spent {
    pub(crate) fn add(&mut self, other: &Self) {
        for kind in 0..Kind::ALL.len() {
            self.tokens[kind] += other.tokens[kind];
            self.cached[kind] += other.cached[kind];
        }
    }

    /// Returns the number of all tokens.
    pub fn total(&self) -> u64 {
        self.tokens.iter().sum()
    }

    /// Returns the number of all tokens except those of system prompts.
    pub fn without_system(&self) -> u64 {
        self.total() - self.tokens[Kind::System as usize]
    }

    /// Returns the cost of the tokens at these prices.
    pub fn cost(&self, prices: Prices) -> f64 {
        let (fresh, cached) = self.costs(prices, &Kind::ALL);
        fresh + cached
    }

    /// Returns the shares of the cost.
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

    /// Returns the costs of the fresh and of the cached tokens of these kinds.
    fn costs(&self, prices: Prices, kinds: &[Kind]) -> (f64, f64) {
        let sum = |tokens: &ByKind| kinds.iter().map(|&kind| tokens[kind as usize]).sum::<u64>();
        let cached = sum(&self.cached);
        let fresh = sum(&self.tokens) - cached;
        (fresh as f64 * prices.input, cached as f64 * prices.cached)
    }
}
