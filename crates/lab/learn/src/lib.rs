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
mod learnt;
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

use accp_tokens::Bpe;

use corpus::Corpus;
use needs::Needs;

pub use cost::{Earned, Totals};
pub use declared::{Tools, ToolsError};
pub use learnt::{LearnError, Learnt};
pub use traces::Traces;
pub use tune::{TuneError, Tuned, tune};

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
