//! Net cost: what the prompts of a policy cost, and what it costs to fetch back each needed text
//! that a prompt lacks.

mod account;
mod analysis;
mod automaton;
mod candidates;
mod coverage;
mod escape;
mod fetch;
mod matcher;
mod memory;
mod message_text;
mod misquoted;
mod phrases;
mod prices;
mod rules;
mod segment_index;
mod text;

pub use account::Net;
pub(crate) use account::{Account, NeedOutcome, SegmentIndexes};
pub(crate) use analysis::Analysis;
pub use memory::Remembered;
pub use prices::{Cost, Costs, Matching, Prices, Tier};
pub(crate) use prices::{Found, Recovery, SETTINGS};
pub use rules::rules;
pub(crate) use text::{collapse, floor};

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "nothing is added where nothing lacks")]
mod tests;
