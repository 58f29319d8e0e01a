//! CTX-001 on lists of messages: keeps a conversation inside the window of its model, forgets nothing, and breaks
//! no list.

mod brief;
mod check;
mod drift;
mod finding;
mod form;
mod list;
mod message;
mod prose;
mod raw;
mod said;
mod writes;

pub use check::check;
pub use finding::{Code, Finding};
pub use form::Form;
pub use list::MessageList;
pub use message::Message;
pub use writes::{Writes, WritesError};
