//! CTX-001 on lists of messages: keeps a conversation inside the window of its model, forgets nothing, and breaks
//! no list.

mod archive;
mod brief;
mod check;
pub mod disk;
mod drift;
mod edit;
mod event;
mod finding;
mod form;
mod grapheme;
mod hooks;
mod list;
mod media;
mod memo;
mod message;
mod names;
mod offload;
mod plan;
pub mod policy;
mod prose;
mod raw;
mod repair;
mod said;
mod session;
mod status;
mod summary;
mod truncate;
mod unit;
mod views;
mod window;
mod writes;

pub use archive::{Archive, ArchiveError, Archived, Section, Sections};
pub use check::check;
pub use check::rule::Rule;
pub use drift::{Case, DriftEvent, Indicator, Judge, LEXICAL, Lexical, Severity, Sign};
pub use event::{Event, Intent, Tier};
pub use finding::{Code, Finding};
pub use form::Form;
pub use hooks::{Hooks, Verdict};
pub use list::MessageList;
pub use message::Message;
pub use names::{SessionId, SessionIdError};
pub use plan::{Apart, NewFile, Options, Plan, PlanError, World};
pub use repair::{Repair, RepairKind, repair};
pub use session::{Session, Stranger, Use};
pub use status::Status;
pub use summary::{Summarizer, SummaryError, Wanted};
pub use views::Views;
pub use window::{Limits, State, Window, WindowError};
pub use writes::{Writes, WritesError};

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
