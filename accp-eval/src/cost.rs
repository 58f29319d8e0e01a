//! What prompts cost.

use accp_context::policy::Kind;
use accp_runtime::context::CachePrices;

use crate::tokens::ByKind;

/// The tokens of many prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// All tokens.
    pub tokens: ByKind,
    /// Of these, the ones at the beginning of a prompt that the previous prompt of the same
    /// agent began with too.
    pub cached: ByKind,
}

/// Shares of a cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Split {
    /// System prompts.
    pub system: f64,
    /// Tool schemas.
    pub tools: f64,
    /// What teaches the model to read the rest.
    pub primer: f64,
    /// Of the rest, tokens that were not in the cache.
    pub new: f64,
    /// Of the rest, tokens that were.
    pub again: f64,
}

impl Spent {
    pub(crate) fn add(&mut self, other: &Self) {
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

    /// What the tokens cost at these prices.
    pub fn cost(&self, prices: CachePrices) -> f64 {
        let (fresh, cached) = self.costs(prices, &Kind::ALL);
        fresh + cached
    }

    /// How the cost is made up.
    pub fn split(&self, prices: CachePrices) -> Split {
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
    fn costs(&self, prices: CachePrices, kinds: &[Kind]) -> (f64, f64) {
        let sum = |tokens: &ByKind| kinds.iter().map(|&kind| tokens[kind as usize]).sum::<u64>();
        let cached = sum(&self.cached);
        let fresh = sum(&self.tokens) - cached;
        (fresh as f64 * prices.fresh, cached as f64 * prices.cached)
    }
}
