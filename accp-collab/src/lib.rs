//! The collaboration protocol for agents that share a folder and nothing else: a log of events, turns,
//! and gates, from the draft of a deliverable to its conclusion.
//!
//! The crate has no IO. It takes what was read from a folder, and says what holds:
//!
//! - [`Event`]: one line of the log.
//! - [`table`]: the state machine, as one table.
//! - [`State`]: the phase, and who is asked. It is folded from the events by the table.
//! - [`Kind`]: the types of deliverables with their sections.

mod event;
mod finding;
mod kind;
mod names;
mod protocol;
mod state;
pub mod table;

pub use event::{Event, EventName, Role};
pub use finding::{Code, Finding};
pub use kind::Kind;
pub use protocol::{
    FORBIDDEN, Gate, GateSource, Mode, PROTOCOL_FILE, Primary, Protocol, Supporting, is_participant,
};
pub use state::State;
