//! The prices of models, each with its source and date.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::route::Provider;

/// The prices of a model, each relative to a token of plain input, which is neither read from a cache nor written to
/// one.
///
/// ```
/// use accp_gateway::{Prices, Provider};
///
/// let prices = Prices::of(Provider::Anthropic, "claude-some-model");
/// assert_eq!((prices.read, prices.write), (0.1, 1.25));
/// assert!(prices.source.starts_with("https://"));
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Prices {
    provider: String,
    models: Vec<String>,
    /// The price of a token that is read from a cache.
    pub read: f64,
    /// The price of a token that is written to a cache.
    pub write: f64,
    /// The price of a token that is written to a cache for an hour, if the provider has such a cache.
    pub hour: Option<f64>,
    /// The price of a token of output.
    pub output: f64,
    /// How many seconds a cache keeps a beginning that is not read.
    pub seconds: u32,
    /// The fewest tokens that a cache keeps, and the steps in which it keeps them.
    pub minimum: u64,
    /// See [`minimum`](Self::minimum).
    pub step: u64,
    /// A request with more tokens than this pays higher prices for all of its tokens.
    pub tier: Option<u64>,
    /// The URL from which these prices were read.
    pub source: String,
    /// The date on which these prices were read.
    pub date: String,
}

static ALL: LazyLock<Vec<Prices>> =
    LazyLock::new(|| serde_json::from_str(include_str!("prices.json")).unwrap_or_default());

impl Prices {
    /// Returns the prices of a model, from the first row that lists a beginning of the model's name. A path before
    /// the name does not count.
    pub fn of(provider: Provider, model: &str) -> &'static Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let is_it = |row: &&Self| {
            row.provider == provider.name()
                && row
                    .models
                    .iter()
                    .any(|begin| name.starts_with(begin.as_str()))
        };
        // A test checks that each provider has a row that fits every name.
        ALL.iter().find(is_it).unwrap_or_else(|| other())
    }

    /// Returns the price of a token that is written to a cache for an hour.
    pub(crate) fn hourly(&self) -> f64 {
        self.hour.unwrap_or(self.write)
    }

    /// Returns these prices as a memory takes them.
    pub(crate) fn for_memory(&self) -> accp_memory::Prices {
        // A test checks that a memory takes the prices of every row.
        let prices = accp_memory::Prices::new(self.read, self.write).unwrap_or_default();
        prices
            .with_seconds(Some(self.seconds))
            .with_minimum(self.minimum)
            .with_step(self.step)
    }

    /// Returns the same prices with the dearer tier, for a memory that may make a list shorter to stay below that
    /// tier.
    pub(crate) fn with_tier(&self) -> accp_memory::Prices {
        self.for_memory().with_tier(self.tier)
    }
}

/// Returns prices under which a cache saves nothing.
fn other() -> &'static Prices {
    static OTHER: LazyLock<Prices> = LazyLock::new(|| Prices {
        provider: String::new(),
        models: Vec::new(),
        read: 1.0,
        write: 1.0,
        hour: None,
        output: 1.0,
        seconds: 0,
        minimum: 0,
        step: 1,
        tier: None,
        source: String::new(),
        date: String::new(),
    });
    &OTHER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_has_prices_with_a_source() {
        assert!(ALL.len() > 3);
        for row in ALL.iter() {
            let prices = row.for_memory();
            // If the memory refused these prices, it would have its default prices.
            assert!((prices.read() - row.read).abs() + (prices.write() - row.write).abs() < 1e-9);
        }
        for provider in [Provider::Anthropic, Provider::OpenAi] {
            let prices = Prices::of(provider, "no such model");
            assert_eq!(prices.provider, provider.name());
        }
        let write = |model| Prices::of(Provider::OpenAi, model).write.to_string();
        assert_eq!(write("openai/gpt-5.6-mini"), "1.25");
        assert_eq!(write("gpt-5"), "1");
        assert!(
            ALL.iter()
                .all(|row| row.date.starts_with("20") && row.source.starts_with("https://"))
        );
    }
}
