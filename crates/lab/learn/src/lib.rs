//! A registry learnt from recorded conversations: the shapes of tool arguments and results.
//!
//! [`Traces`] are the calls and results of conversations. [`learn`] finds the shapes of their
//! values and makes a schema of each shape that saves tokens. [`tune`] chooses the names of a
//! registry again for another tokenizer.
//!
//! ```
//! use accp_learn::{LearnOptions, Traces, learn};
//! use accp_recordings::conversations;
//! use serde_json::json;
//!
//! let mut traces = Traces::default();
//! for number in 0..30 {
//!     let flight = |at: usize| json!({ "flight_number": format!("WF{number}{at}"), "seats": at });
//!     let flights = json!([flight(1), flight(2), flight(3)]).to_string();
//!     let recorded = json!({ "id": number, "messages": [
//!         { "role": "assistant", "tool_calls": [
//!             { "id": "c", "name": "search", "arguments": { "to": "OSL" } }] },
//!         { "role": "tool", "tool_call_id": "c", "content": flights },
//!     ] });
//!     for conversation in conversations(recorded.to_string().as_bytes()) {
//!         traces.add(&conversation?);
//!     }
//! }
//! let learnt = learn(&traces, LearnOptions::default())?;
//! let schema = learnt.registry.schemas().next().unwrap();
//! assert_eq!(schema.fields[0].name, "flight_number");
//! assert!(learnt.earned[0].net() > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod corpus;
mod cost;
mod declared;
mod index;
mod names;
mod needs;
mod places;
mod schemas;
mod shapes;
#[cfg(test)]
mod tests;
mod titles;
mod traces;
mod tune;
mod values;

use accp_registry::{Problems, Registry};
use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

use corpus::Corpus;
use needs::Needs;

pub use cost::{Earned, Totals};
pub use declared::{Tools, ToolsError};
pub use traces::Traces;
pub use tune::{TuneError, Tuned, tune};

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

/// Options of [`learn`].
#[derive(Debug, Clone, Copy)]
pub struct LearnOptions {
    /// The fewest tokens that a schema must save, after its definitions: 20 by default.
    pub min_saving: u32,
    /// The tokenizer that counts the tokens.
    pub counter: Bpe,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self {
            min_saving: 20,
            counter: Bpe::default(),
        }
    }
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

/// Learns a registry from traces.
///
/// # Errors
/// When the learnt schemas are not a registry, which is a fault of this library.
pub fn learn(traces: &Traces, options: LearnOptions) -> Result<Learnt, LearnError> {
    let LearnOptions {
        min_saving,
        counter,
    } = options;
    let corpus = Corpus::of(traces, &counter);
    let needs = Needs::of(&corpus);
    schemas::chosen(&corpus, &needs, i64::from(min_saving), counter)
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
