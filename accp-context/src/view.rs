//! What a model reads and writes: frames in as few tokens as they take.
//!
//! A view is not for peers. It leaves out what only peers need, the envelope, writes records
//! whose shape the registry knows by position, and long texts as they are. What it writes
//! reads back as it was ([`View::read`]).
//!
//! # The form
//!
//! A prompt is a sequence of blocks; each begins with `@` at the start of a line, and nothing
//! else does.
//!
//! ```text
//! @=FL(flight,from,to,seats)              a schema: FL is a record of these fields
//! @desk? Is there a seat to Oslo?         a question: req:chat, its role the sender
//! @clerk: Two flights have one.           an answer: done:chat
//! @clerk>req:search{from:BGO,to:OSL}      a frame without a schema
//! @clerk>done:schedule TA(dev,impl_auth)  and one with
//! @tool>done:search{result:FL[from:BGO,to:OSL
//! WF31,,,4
//! WF35,,,2]}
//! ```
//!
//! - A **record** is its schema's code and, in parentheses, its values in the order of the
//!   fields. Nothing between two commas is the field's default, or that it is absent; `-` is
//!   that a field with a default is absent. What is missing at the end is so too.
//! - A **table** is a list of records of one schema: the code, in brackets the columns that
//!   are the same in all rows, and each row on a line of its own without them.
//! - A **value** is as in a frame: `42`, `1.5`, `true`, `~`, `$cold.p57`; a text stands as it
//!   is where it begins with a letter or a digit, reads as nothing else and holds no
//!   delimiter, and as a JSON string elsewhere. Maps are `{key:value,key:value}`, lists
//!   `[1,2]`.
//! - A **long text** is `|` in its place and follows below the line, to the next block. What
//!   would begin a block in it is `\@`. Texts with control or bidirectional characters are
//!   JSON strings, in which these are escaped.
//!
//! Values from others are data: none can begin a block or end the text it stands in.
//!
//! A prompt ([`Prompt`]) and a session's context hold three things more, which are not read back:
//! `@facts p1-6`, a block of what was kept of these messages; of a record that is shown in an
//! earlier state what is another, and under `was` the place of the rest; and in the middle of
//! a long text `[477 bytes: $cold.p7; names]` for what is left out there.

pub(crate) mod facts;
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
mod write;
use std::fmt::Write as _;
use std::sync::Arc;

use accp_registry::Registry;

use accp_frame::{DecodeError, Message, Value};

pub use primer::{Lesson, PRIMER, Primer};
pub use prompt::{Part, PartKind, Prompt, PromptLimits};
pub use shape::of as schema_of;

/// How facts begin: a block of them is no message.
pub(crate) const FACTS: &str = "@facts ";

/// `7` or `1-9`
pub(crate) fn write_range(out: &mut String, first: u64, last: u64) {
    let _ = write!(out, "{first}");
    if last > first {
        let _ = write!(out, "-{last}");
    }
}

/// Writes and reads the view of a registry's frames.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::view::View;
/// use accp_runtime::{Message, Registry};
///
/// let registry = Arc::new(Registry::standard());
/// let view = View::new(Arc::clone(&registry));
/// let message = Message::decode(
///     "@dev>done:schedule{task:impl_auth|stat:complete|prog:100|schema:TA}", &registry)?;
/// let block = view.block(&message);
/// assert_eq!(block.text, "@dev>done:schedule TA(,impl_auth,,,,complete,100)\n");
/// assert_eq!(block.codes, ["TA"]);
/// assert_eq!(view.read(&block.text)?, [message]);
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct View {
    registry: Arc<Registry>,
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    /// Whole lines.
    pub text: String,
    /// The schemas that must be known to read it, in the order in which they are needed.
    pub codes: Vec<String>,
}

impl View {
    /// The view of these schemas.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self { registry }
    }

    /// The schemas.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// A frame, without its envelope.
    pub fn block(&self, message: &Message<'_>) -> Block {
        write::block(&self.registry, message)
    }

    /// A value by itself, on one line or as a table.
    pub fn value(&self, value: &Value<'_>) -> Block {
        write::value(&self.registry, value)
    }

    /// What tells the shape of a schema's records; `None` for a code that is not known.
    pub fn definition(&self, code: &str) -> Option<String> {
        let schema = self.registry.schema(code)?;
        Some(write::definition(&self.registry, schema))
    }

    /// Reads blocks back: the messages. The primer and facts are left out, definitions are
    /// compared with the schemas.
    ///
    /// # Errors
    /// E1001 with the byte where the form is broken, E1003 for a schema that is not known,
    /// E1004 for a definition that is not the one of the schema.
    pub fn read(&self, text: &str) -> Result<Vec<Message<'static>>, DecodeError> {
        read::blocks(&self.registry, text)
    }

    /// Reads a value back.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_value(&self, text: &str) -> Result<Value<'static>, DecodeError> {
        read::value(&self.registry, text)
    }
}

/// What stands in one prompt: each block, after the definitions that it is the first to need.
///
/// ```
/// # use std::sync::Arc;
/// use accp_runtime::view::{Transcript, View};
/// # use accp_runtime::{Message, Registry};
/// # let registry = Arc::new(Registry::standard());
/// # let text = "@dev>done:schedule{task:impl_auth|schema:TA}";
/// # let message = Message::decode(text, &registry)?;
/// # let view = View::new(registry);
/// let mut transcript = Transcript::default();
/// let first = transcript.push(&view, &view.block(&message));
/// assert!(first.starts_with("@=TA(assignee,task,"));
/// let second = transcript.push(&view, &view.block(&message));
/// assert_eq!(second, "@dev>done:schedule TA(,impl_auth)\n");
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    defined: Vec<String>,
}

impl Transcript {
    /// The schemas that a block needs and that are not there yet.
    fn missing(&self, block: &Block) -> Vec<String> {
        let mut missing = block.codes.clone();
        missing.retain(|code| !self.defined.contains(code));
        missing
    }

    /// The text of a block and of the definitions that are not there yet.
    pub fn push(&mut self, view: &View, block: &Block) -> String {
        let mut out = String::new();
        for code in self.missing(block) {
            out.extend(view.definition(&code));
            self.defined.push(code);
        }
        out.push_str(&block.text);
        out
    }
}
