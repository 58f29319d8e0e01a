//! Views: frames as a model reads and writes them, in few tokens.
//!
//! A view is not for peers. It leaves out the envelope, which only peers need. It writes records of
//! known schemas by position, and long texts without escapes. [`View::read`] reads a view back
//! unchanged.
//!
//! # The form
//!
//! A prompt is a sequence of blocks. Each block begins with `@` at the start of a line, and no
//! other line begins with `@`.
//!
//! ```text
//! @=FL(flight,from,to,seats)              a schema: FL is a record of these fields
//! @desk? Is there a seat to Oslo?         a question: req:chat, its role the sender
//! @clerk: Two flights have one.           an answer: done:chat
//! @clerk>req:search{from:BGO,to:OSL}      a frame without a schema
//! @clerk>done:schedule TA(dev,impl_auth)  a frame with a schema
//! @tool>done:search{result:FL[from:BGO,to:OSL
//! WF31,,,4
//! WF35,,,2]}
//! ```
//!
//! - A **record** is its schema's code and, in parentheses, its values in the order of the fields.
//!   An empty cell stands for the field's default; without a default the field is absent. `-` means
//!   that a field with a default is absent. Cells missing at the end are empty.
//! - A **table** is a list of records of one schema: the code, in brackets the columns that are the
//!   same in all rows, and each row on its own line without these columns.
//! - A **value** is as in a frame: `42`, `1.5`, `true`, `~`, `$cold.p57`. A text has no quotes if it begins with a
//!   letter or a digit, does not look like a value of another type, and has no delimiter; otherwise it is a JSON
//!   string. Maps are `{key:value,key:value}`, lists `[1,2]`. If the schema of the frame declares a text, a reader
//!   reads even `42` as a text.
//! - A **long text** has `|` in its place. The text itself follows below the line, up to the next block. If a line of
//!   the text would begin a block, `\` comes before its `@`. Texts with control or bidirectional characters are JSON
//!   strings that escape these characters.
//!
//! Values from other agents are data: they cannot begin a block or end the text around them.
//!
//! A prompt ([`Prompt`]) and a session's context hold three more forms, which are not read back. `@facts p1-6` is a
//! block of facts about the messages 1 to 6. A record that was shown before is shown with its changed fields only,
//! and `was` refers to its earlier state. A mark such as `[477 bytes: $cold.p7; names]` replaces the middle of a long
//! text.

pub(crate) mod block;
mod codec;
pub(crate) mod facts;
mod fault;
mod primer;
mod prompt;
mod read;
mod repeat;
mod shape;
mod shorten;
mod spoken;
#[cfg(test)]
mod tests;
mod text;
mod transcript;
mod write;

pub use block::{Block, PRIMER};
pub use codec::View;
pub use fault::{Fault, ViewError};
pub use primer::{Primer, SchemaPrimer};
pub use prompt::{Part, PartKind, Prompt, PromptLimits, Role};
pub use read::Mistake;
pub use shape::of as schema_of;
pub use transcript::Transcript;
