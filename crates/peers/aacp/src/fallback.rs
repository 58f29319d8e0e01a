//! Makes packets of English instructions in three tiers (draft section 6.3). Tier 1 is the stored entry of the same
//! instruction. Tier 2 is an entry or a workflow that fits the instruction. Tier 3 is a language model, which is
//! called once for a new instruction.
//!
//! This module has no IO, no clock and no threads: [`Fallback`] reaches the registry, the model and the
//! clock through the traits [`Registry`], [`LlmEncoder`] and [`Clock`], and [`Resolution`] is the part that
//! decides. `SqliteRegistry` is a registry in a file (feature `sqlite`), `HttpEncoder` calls a server
//! (feature `http`).
//!
//! ```
//! use accp_aacp::fallback::{Clock, Fallback, MemoryRegistry, Options, Recorded, Request, Source};
//! # struct Stopped;
//! # impl Clock for Stopped {
//! #     fn now(&mut self) -> u64 { 1_750_000_000_000 }
//! #     fn wait(&mut self, _: std::time::Duration) {}
//! #     fn random(&mut self) -> u64 { 7 }
//! # }
//! # let mut clock = Stopped;
//!
//! let model = r#"{"english": "Collect the leave requests of Ada", "answer":
//!     "FETCH|HR|return:A|p:2|aacp:1.1|res:leave_requests|filter:emp=Ada"}"#.replace('\n', "");
//! let model = Recorded::from_lines("answers.jsonl", &model)?;
//! let mut fallback = Fallback::new(MemoryRegistry::default(), model);
//! let options = Options::default();
//!
//! let request = Request::new("Collect the leave requests of Ada", "HR", "HR-Agent", "2")?;
//! assert_eq!(fallback.encode(&request, options, &mut clock)?.source, Source::Llm);
//! let again = fallback.encode(&request, options, &mut clock)?;
//! assert_eq!((again.source, again.times_seen, again.llm_calls), (Source::Hash, Some(2), 0));
//!
//! // Another value goes to its place in the packet.
//! let other = Request::new("Please collect the leave requests of Bob", "HR", "Bot", "1")?;
//! let answer = fallback.encode(&other, options, &mut clock)?;
//! assert_eq!(answer.source, Source::Pattern);
//! assert_eq!(
//!     answer.packet.text(),
//!     "FETCH|HR|return:Bot|p:1|aacp:1.1|res:leave_requests|filter:emp=Bob",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod claim;
mod document;
mod entry;
#[cfg(feature = "http")]
mod http;
mod instruction;
mod lexicon;
mod memory;
mod model;
mod pattern;
mod reading;
mod registry;
mod request;
mod resolution;
mod rule;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
mod system;
mod value;

use std::time::Duration;

pub use claim::{Claim, ClaimDecision, ClaimRequest, decide};
pub use entry::{Entry, EntryKey};
#[cfg(feature = "http")]
pub use http::{HttpEncoder, HttpError, Style};
pub use instruction::{Instruction, InstructionError};
pub use memory::MemoryRegistry;
pub use model::{LlmEncoder, ModelError, ModelErrorKind, NoModel, Recorded};
pub use registry::{Claimed, Registry, RegistryError, RegistryErrorKind};
pub use request::{Answer, FallbackError, Request, Route, Source};
pub use resolution::{Options, Resolution, ResolutionStep};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteRegistry;
#[cfg(feature = "sqlite")]
pub use system::SystemClock;

/// Tells the time, waits, and makes random numbers.
pub trait Clock {
    /// Returns the time, in milliseconds since 1970. The clocks of all users of one registry agree
    /// within about a second.
    fn now(&mut self) -> u64;

    /// Waits.
    fn wait(&mut self, time: Duration);

    /// Returns a random number of 63 bits.
    fn random(&mut self) -> u64;
}

/// Encodes English in three tiers.
#[derive(Debug)]
pub struct Fallback<R, L> {
    registry: R,
    encoder: L,
}

impl<R: Registry, L: LlmEncoder> Fallback<R, L> {
    /// Puts a registry and a model together.
    pub fn new(registry: R, encoder: L) -> Self {
        Self { registry, encoder }
    }

    /// Returns the packet for a request, from the first tier that has an answer. The model is called at most once,
    /// and not at all while another caller asks it for the same instruction.
    ///
    /// # Errors
    /// No tier answers; the model or the registry fails. Nothing is stored then.
    pub fn encode(
        &mut self,
        request: &Request,
        options: Options<'_>,
        clock: &mut impl Clock,
    ) -> Result<Answer, FallbackError> {
        let (holder, deadline) = (clock.random(), self.encoder.deadline());
        let mut resolution = Resolution::new(request, options, holder, deadline);
        loop {
            let now = clock.now();
            match resolution.step(&mut self.registry, now)? {
                ResolutionStep::Done(answer) => return Ok(*answer),
                ResolutionStep::Wait(time) => clock.wait(time),
                ResolutionStep::Call => {
                    let answer = self.encoder.answer(request.instruction(), request.dom());
                    return resolution.answered(&mut self.registry, answer);
                }
            }
        }
    }

    /// Returns which tier would answer a request, and changes nothing.
    ///
    /// # Errors
    /// The registry fails.
    pub fn route(
        &mut self,
        request: &Request,
        options: Options<'_>,
    ) -> Result<Route, FallbackError> {
        let resolution = Resolution::new(request, options, 0, self.encoder.deadline());
        resolution.route(&mut self.registry)
    }

    /// Returns the registry.
    pub fn registry(&mut self) -> &mut R {
        &mut self.registry
    }
}
