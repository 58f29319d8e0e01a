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
//! - A **value** is as in a frame: `42`, `1.5`, `true`, `~`, `$cold.p57`. A text stands without
//!   quotes if it begins with a letter or a digit, reads as nothing else and holds no delimiter;
//!   otherwise it is a JSON string. Maps are `{key:value,key:value}`, lists `[1,2]`. A reader takes
//!   what reads as something else for a text where the schema of the frame declares a text.
//! - A **long text** is `|` in its place and follows below the line, up to the next block. A line
//!   of it that would begin a block begins with `\@`. Texts with control or bidirectional
//!   characters are JSON strings that escape these characters.
//!
//! Values from others are data: they cannot begin a block or end the text around them. Where a model
//! writes plain text, such as a summary, [`invented`] finds the values that it has made up.
//!
//! A prompt ([`Prompt`]) and a session's context hold three more forms, which are not read back.
//! `@facts p1-6` is a block of facts of these messages. A record that was shown before is shown
//! with its changed fields only, and `was` refers to its earlier state. A mark such as
//! `[477 bytes: $cold.p7; names]` replaces the middle of a long text.

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
mod verbatim;
mod write;
use std::fmt::Write as _;
use std::sync::Arc;

use accp_registry::Registry;

use accp_frame::{Message, Repair, Value};

pub use fault::{Fault, ViewError};
pub use primer::{Lesson, PRIMER, Primer};
pub use prompt::{Part, PartKind, Prompt, PromptLimits, Role};
pub use read::Mistake;
pub use shape::of as schema_of;
pub use verbatim::invented;

/// The beginning of a block of facts, which is not a message.
pub(crate) const FACTS: &str = "@facts ";

/// Writes `7` or `1-9`.
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
/// # Ok::<(), Box<dyn std::error::Error>>(())
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
    /// The schemas that a reader of the block needs, in the order of use.
    pub codes: Vec<String>,
}

impl View {
    /// Makes the view of these schemas.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self { registry }
    }

    /// Returns the schemas.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Writes a frame without its envelope.
    pub fn block(&self, message: &Message<'_>) -> Block {
        write::block(&self.registry, message)
    }

    /// Writes a value by itself, on one line or as a table.
    pub fn value(&self, value: &Value<'_>) -> Block {
        write::value(&self.registry, value)
    }

    /// Writes the definition of a schema, its code and fields; `None` if the code is not known.
    pub fn definition(&self, code: &str) -> Option<String> {
        let schema = self.registry.schema(code)?;
        Some(write::definition(&self.registry, schema))
    }

    /// Reads the messages in blocks. Leaves out the primer and facts, and compares definitions with
    /// the schemas.
    ///
    /// The schema of a frame says what type each value has: in a field of type `string`, `94107` is a
    /// string. A value in a place without a declared type tells its own type.
    ///
    /// # Errors
    /// All reasons at once: E1001 where the form is broken, E1003 for a schema that is not known,
    /// E1004 for a value that does not fit its field, for a field that is missing, and for a
    /// definition that differs from the schema. [`ViewError`] can be sent back to the model.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use accp_runtime::view::View;
    /// # use accp_runtime::{Registry, Value};
    /// let registry = Registry::from_json(r#"{ "schemas": { "parcel": {
    ///     "code": "PA", "fields": ["zip", "kilos"],
    ///     "types": { "zip": "string", "kilos": "integer" },
    ///     "frames": [{ "intent": "req", "operation": "send" }]
    /// } } }"#)?;
    /// let view = View::new(Arc::new(registry));
    /// let messages = view.read("@me>req:send PA(94107,12)\n")?;
    /// assert_eq!(messages[0].payload.get("zip"), Some(&Value::from("94107")));
    /// assert_eq!(messages[0].payload.get("kilos"), Some(&Value::from(12)));
    /// assert_eq!(
    ///     view.read("@me>req:send PA(94107,heavy)\n").unwrap_err().to_string(),
    ///     "E1004 in block 1, line 1, PA.kilos: expected an integer of 64 bits, found `heavy`"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, text: &str) -> Result<Vec<Message<'static>>, ViewError> {
        read::blocks(&self.registry, text)
    }

    /// Reads the messages in a text that a model wrote. Repairs the mistakes that models make
    /// ([`Mistake`]): code fences, text around the blocks, spaces after commas, quotes that are
    /// missing, and others. Returns each repair in the order of the text. What was repaired reads as
    /// its repaired text does under [`read`](Self::read), and a text that `read` takes has no
    /// repairs.
    ///
    /// Nothing is dropped unseen: a text that is left out is in a repair, whole. A text that
    /// follows a chat block, or a text below its line, is part of it.
    ///
    /// # Errors
    /// As [`read`](Self::read) for every other fault, with the bytes and lines of the original text.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use accp_runtime::Registry;
    /// use accp_runtime::view::{Mistake, View};
    ///
    /// let view = View::new(Arc::new(Registry::standard()));
    /// let text = "Sure!\n```\n@me>req:schedule TA(@dev, impl_auth, high)\n```\n";
    /// let (messages, repairs) = view.read_lenient(text)?;
    /// assert_eq!(messages, view.read("@me>req:schedule TA(dev,impl_auth,high)\n")?);
    /// assert_eq!(repairs[0].what, Mistake::Prose);
    /// assert_eq!(repairs[2].to_string(),
    ///     r#"byte 30: a value is spelt as its type demands: `@dev` is `dev`"#);
    /// # Ok::<(), accp_runtime::view::ViewError>(())
    /// ```
    pub fn read_lenient(
        &self,
        text: &str,
    ) -> Result<(Vec<Message<'static>>, Vec<Repair<Mistake>>), ViewError> {
        read::lenient_blocks(&self.registry, text)
    }

    /// Reads a value back, which tells its own type.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_value(&self, text: &str) -> Result<Value<'static>, ViewError> {
        read::value(&self.registry, text)
    }
}

/// The content of one prompt: each block, after the definitions that it is the first to need.
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
    /// Returns the schemas that a block needs and that are not defined yet.
    fn missing(&self, block: &Block) -> Vec<String> {
        let mut missing = block.codes.clone();
        missing.retain(|code| !self.defined.contains(code));
        missing
    }

    /// Returns the text of a block, after the definitions that it needs and that are not there yet.
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
