//! Net cost: what the prompts of a policy cost, and what it costs to fetch back each needed text
//! that a prompt lacks.

mod account;
mod automaton;
mod escape;
mod fetch;
mod finder;
mod memory;
mod misquoted;
mod needs;
mod phrases;
mod prices;
mod reading;
mod rules;
mod said;
mod sight;
mod study;
mod text;

pub use account::Net;
pub(crate) use account::{Account, Readings, Told};
pub use memory::Remembered;
pub use prices::{Cost, Costs, Prices};
pub(crate) use prices::{Recovery, SETTINGS};
pub use rules::rules;
pub(crate) use study::Study;
pub(crate) use text::{collapse, floor};

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "nothing is added where nothing lacks")]
mod tests;
