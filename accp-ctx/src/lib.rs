//! CTX-001 on lists of messages: keeps a conversation inside the window of its model, forgets nothing, and breaks
//! no list.

mod archive;
mod check;
pub mod disk;
mod finding;
mod form;
mod list;
mod message;
mod raw;
mod said;

pub use archive::{Archive, ArchiveError, Archived, Section, Sections};
pub use check::check;
pub use finding::{Code, Finding};
pub use form::Form;
pub use list::MessageList;
pub use message::Message;
