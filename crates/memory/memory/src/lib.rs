//! What an agent remembers of a conversation, and what its model reads of it.
//!
//! - A [`ListSession`] keeps a list of messages inside the window of its model (CTX-001). It forgets nothing, and the
//!   lists that it returns are valid.
//! - A [`Memory`] makes the list to send from the program's list: cheaper, valid, and with the same bytes each time.
//! - [`policies::Memory`] is a [`policy`] for prompts that say things once. The lab measures policies.
//!
//! ```
//! use accp_memory::{MessageList, Options, ListSession, SessionId, Window};
//! # #[derive(Debug)]
//! # struct Quarters;
//! # impl accp_frame::TokenCounter for Quarters {
//! #     fn name(&self) -> &str { "quarters" }
//! #     fn count(&self, text: &str) -> usize { text.len().div_ceil(4) }
//! # }
//! # let answer = "A long answer. ".repeat(2_000);
//! # let said = |role, content| format!(r#"{{"role":"{role}","content":"{content}"}}"#);
//! # let text = format!("[{},{},{}]", said("user", "Book a table."), said("assistant", &answer), said("user", "For two."));
//! let list = MessageList::read(&text, None)?;
//! let mut session = ListSession::new(SessionId::new("desk")?, list.form());
//! let window = Window::of(2_000)?;
//! let options = Options::new(&window, &Quarters, time::OffsetDateTime::now_utc());
//! let plan = session.plan(&list, &options, &(), &mut ())?;
//! let shorter = plan.list(&list); // what the model reads
//! session.apply(&plan);
//! assert!(window.count(&shorter, &Quarters) <= 1_000);
//! assert!(shorter.to_string().contains("Book a table."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! - `disk` (default): [`disk`], the files and the index in which a session keeps what leaves its list. Without it the
//!   crate does no IO and has no store.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod words;

mod archive;
mod bill;
mod cache_mark;
mod check;
#[cfg(test)]
mod counters;
#[cfg(feature = "disk")]
pub mod disk;
mod drift;
mod edit;
mod engine;
mod event;
mod finding;
mod form;
mod grapheme;
mod hooks;
mod layout;
mod list;
mod media;
mod memo;
mod message;
mod names;
mod offload;
mod parsed;
mod plan;
pub mod policies;
pub mod policy;
mod prose;
mod ranked;
mod raw;
mod repair;
mod served;
mod session;
mod status;
mod summarizer;
mod summary;
mod thought;
mod truncate;
mod unit;
mod window;
mod writes;

pub use archive::{Archive, ArchiveError, Archived, Section, Sections};
pub use bill::{AROUND, Billed};
pub use check::rule::Rule;
pub use check::{InFlight, check, in_flight};
pub use drift::{Case, DriftEvent, Indicator, Judge, LEXICAL, Lexical, Severity, Sign};
pub use engine::{
    Formed, Found, Memory, Prices, PricesError, Promise, RecallError, Report, Step, Why,
};
pub use event::{Event, Intent, Tier};
pub use finding::{Code, Finding};
pub use form::Form;
pub use hooks::{Hooks, Verdict};
pub use list::MessageList;
pub use message::ListMessage;
pub use names::{SessionId, SessionIdError};
pub use plan::{FileLookup, ListPlan, NewFile, OnDemand, Options, PlanError};
pub use policies::Views;
pub use repair::{Repair, RepairKind, repair};
pub use session::{ListMismatch, ListSession, Usage};
pub use status::Status;
pub use summarizer::{Summarizer, SummaryError, SummaryRequest};
pub use window::{Limits, State, Window, WindowError};
pub use writes::{Writes, WritesError};

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
