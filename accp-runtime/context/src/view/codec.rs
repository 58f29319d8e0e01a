//! `View`, which writes and reads the blocks of a registry's frames.

use std::sync::Arc;

use accp_frame::{DynamicFrame, Repair, Value};
use accp_registry::Registry;

use super::block::Block;
use super::fault::ViewError;
use super::read::Mistake;
use super::{read, write};

/// Writes and reads the view of a registry's frames.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::view::View;
/// use accp_runtime::{DynamicFrame, Registry};
///
/// let registry = Arc::new(Registry::standard());
/// let view = View::new(Arc::clone(&registry));
/// let message = DynamicFrame::decode(
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
    pub fn block(&self, message: &DynamicFrame<'_>) -> Block {
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
    /// The schema of a frame says what type each value has: in a field of type `string`, `94107` is a string. In a
    /// place without a declared type, the form of the value says what type it has.
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
    pub fn read(&self, text: &str) -> Result<Vec<DynamicFrame<'static>>, ViewError> {
        read::blocks(&self.registry, text)
    }

    /// Reads the messages in a text that a model wrote. Repairs the mistakes that models make ([`Mistake`]): code
    /// fences, text around the blocks, spaces after commas, quotes that are missing, and others. Returns each repair
    /// in the order of the text. The messages are those that [`read`](Self::read) finds in the repaired text. A text
    /// that `read` accepts has no repairs.
    ///
    /// If a text is left out, a repair has the whole text. Text that follows a chat block, or a long text below its
    /// line, is not left out: it is read as a part of the chat text or the long text.
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
    ) -> Result<(Vec<DynamicFrame<'static>>, Vec<Repair<Mistake>>), ViewError> {
        read::lenient_blocks(&self.registry, text)
    }

    /// Reads a value back. The form of the value says what type it has.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_value(&self, text: &str) -> Result<Value<'static>, ViewError> {
        read::value(&self.registry, text)
    }
}
