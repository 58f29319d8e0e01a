//! A registry that was learnt, and what it saves.

use accp_registry::{Problems, Registry};
use serde_json::{Value as Json, json};

use crate::cost::{Earned, Totals};

/// The learnt schemas are not a registry, which is a fault of this library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The schemas do not make a sound registry.
    #[error("the learnt schemas are not a sound registry; please report this with the traces\n{0}")]
    Unsound(Problems),
    /// The schemas cannot become Rust types.
    #[error("{0}")]
    Types(String),
}

/// A registry, and its savings on the traces that it was learnt from.
#[derive(Debug, Clone)]
pub struct Learnt {
    /// The registry.
    pub registry: Registry,
    /// The savings of each schema, the largest first.
    pub earned: Vec<Earned>,
    /// The cost of all arguments and results together.
    pub totals: Totals,
}

impl Learnt {
    /// Returns an object for each schema, then one for all of them.
    pub fn to_json(&self) -> Vec<Json> {
        let one = |earned: &Earned| {
            json!({
                "code": earned.code,
                "name": earned.name,
                "seen": earned.seen,
                "conversations": earned.conversations,
                "json": earned.json,
                "position": earned.position,
                "definitions": earned.definitions,
                "net": earned.net(),
            })
        };
        let mut list: Vec<Json> = self.earned.iter().map(one).collect();
        list.push(json!({
            "schemas": self.earned.len(),
            "conversations": self.totals.conversations,
            "json": self.totals.json,
            "position": self.totals.position,
            "definitions": self.totals.definitions,
            "tokenizer": self.registry.tokenizer,
        }));
        list
    }
}
