//! Recorded conversations of agents: read from files, told as frames, restored from them.

mod half;
mod layout;
mod read;
mod record;
mod resolve;
mod restore;

pub use half::Half;
pub use read::{Documents, Fault, conversations};
pub use record::{Conversation, HOST, Recorder, VERBATIM};
pub use resolve::resolve;
pub use restore::Restorer;
