//! The collaboration protocol for agents that share a folder and nothing else: a log of events, turns,
//! and gates, from the draft of a deliverable to its conclusion.
//!
//! The core has no IO; only [`disk`] reads, locks, writes and watches. The core takes what was read from a folder,
//! and decides.
//!
//! - [`Event`], [`Log`]: a line of the log, and all lines.
//! - [`table`]: the state machine, as one table; [`State`] folds the log by it.
//! - [`Protocol`], [`Kind`]: what is declared, and the types of deliverables with their sections.
//! - [`Folder`]: what was read. [`check`] says why an event is refused, [`validate`] what is wrong in a
//!   folder, [`next`] what a participant has to do.
//! - [`FolderSettings`]: the files of a new folder.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod check;
pub mod disk;
mod event;
mod finding;
mod folder;
pub mod frames;
mod kind;
mod log;
mod markdown;
mod names;
mod next;
mod path;
mod protocol;
mod settings;
mod shape;
mod space;
mod state;
pub mod table;
mod texts;
mod validate;

pub use check::check;
pub use event::{Event, EventName, Role};
pub use finding::{Code, Finding};
pub use folder::{Content, Folder, RootedPath, Scope, Source};
pub use kind::Kind;
pub use log::{LOG_FILE, Log, MOST_EVENTS};
pub use next::{Action, Next, next};
pub use protocol::{
    FORBIDDEN, Gate, GateSource, Mode, PROTOCOL_FILE, Primary, Protocol, Supporting, is_participant,
};
pub use settings::{FolderSettings, NewFile};
pub use state::State;
pub use texts::{CONCLUSION_FILE, DECISIONS_FILE, PROPOSAL_FILE, READINESS_FILE, REVIEW_FILE};
pub use validate::validate;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
