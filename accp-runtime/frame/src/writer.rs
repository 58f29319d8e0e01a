//! The writer: it appends one whole frame, or nothing.

mod params;

use alloc::format;
use alloc::string::String;

use accp_registry::{ErrorCode, Intent, Limits};

use crate::agent::AgentId;
use crate::envelope::Envelope;
use crate::error::EncodeError;
use crate::external::{Externals, Reason, put_external};
use crate::kind::OfItem;
use crate::value::Value;
use params::no_value;

/// The options for writing a frame.
///
/// ```
/// use accp_runtime::{EncodeOptions, DynamicFrame, Registry};
///
/// let registry = Registry::standard();
/// let long = "x".repeat(51);
/// let message = DynamicFrame::new("a", "req", "plan")?.with("note", long.as_str());
/// // The default holds to the 50-character rule and has nowhere to put the value.
/// assert!(message.encode(&registry).is_err());
/// let options = EncodeOptions { inline: true, ..EncodeOptions::default() };
/// assert!(message.encode_with(&registry, options).is_ok());
/// # Ok::<(), accp_runtime::EncodeError>(())
/// ```
#[derive(Debug, Default)]
pub struct EncodeOptions<'e> {
    /// The limits of the frame: the limits that its reader will apply.
    pub limits: Limits,
    /// Switches the 50-character rule off (draft section 3.3, item 4).
    pub inline: bool,
    /// Applies the 50-character rule also to the fields that the registry lists as inline.
    pub strict: bool,
    /// Takes the values that go by reference; without externals such values are an error.
    pub externals: Option<&'e mut dyn Externals>,
}

/// Characters above which a scalar goes by reference (draft section 3.3, item 4).
pub const LONG_VALUE: usize = 50;

/// The facts that are the same for every frame of one type: its head, its schema, and the envelope fields that it
/// requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameType<'f> {
    /// The name of the Rust type, for error paths; empty when there is none.
    pub name: &'f str,
    /// The intent.
    pub intent: Intent,
    /// The operation.
    pub operation: &'f str,
    /// The code of the payload's schema.
    pub schema: Option<&'f str>,
    /// Envelope fields that the registry requires, by short name.
    pub envelope: &'f [&'f str],
}

/// The meaning of an absent field for a reader. It decides which values a writer may leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent<'t> {
    /// Absence means nothing. A writer leaves out an absent value.
    Nothing,
    /// Absence means the default with this wire text. A writer leaves out a value with this text, and writes an
    /// absent value as null.
    Default(&'t str),
    /// Absence is a fault of the payload. A writer refuses an absent value and a null.
    Fault,
}

impl Absent<'_> {
    /// Returns the rule for an absent item of a list or a map: absent is the same as null, or a fault.
    pub(crate) const fn of_item(holds_null: bool) -> Self {
        if holds_null {
            Self::Nothing
        } else {
            Self::Fault
        }
    }
}

/// A value inside a frame, written as the registry type `K`.
///
/// Your own type can implement this trait by calling the writer, or by delegating to the field that
/// it wraps.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to a field of type `{K}`",
    label = "the registry declares this field as `{K}`",
    note = "the documentation of `accp_runtime::kind` lists the Rust types that fit"
)]
pub trait EncodeValue<K> {
    /// Appends the wire text.
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Result<()>;

    /// Returns whether there is nothing to write, as with [`None`].
    #[inline]
    fn is_absent(&self) -> bool {
        false
    }
}

/// Appends the text of a frame in the order of the grammar (draft section 3.1).
///
/// `#[derive(AccpFrame)]` generates calls of [`field`](Self::field). Values append themselves with
/// the other methods.
#[derive(Debug)]
pub struct Writer<'w, 'e> {
    out: &'w mut String,
    start: usize,
    options: EncodeOptions<'e>,
    depth: u32,
    params: u32,
    elements: u32,
    inline_field: bool,
}

type Result<T> = core::result::Result<T, EncodeError>;

impl<'w, 'e> Writer<'w, 'e> {
    /// Returns a writer that appends to `out`.
    pub fn new(out: &'w mut String, options: EncodeOptions<'e>) -> Self {
        let start = out.len();
        Self {
            out,
            start,
            options,
            depth: 0,
            params: 0,
            elements: 0,
            inline_field: false,
        }
    }

    /// Appends a whole frame; on an error `out` is unchanged.
    ///
    /// # Errors
    /// The errors of `fields`, a limit, or a missing envelope field that the frame type requires.
    pub fn frame(
        mut self,
        agent: &AgentId<'_>,
        frame: FrameType<'_>,
        envelope: &Envelope<'_>,
        fields: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let written = self.write_frame(agent, frame, envelope, fields);
        if written.is_err() {
            self.out.truncate(self.start);
        }
        written.map_err(|error| {
            if frame.name.is_empty() {
                error
            } else {
                error.within(String::from(frame.name))
            }
        })
    }

    fn write_frame(
        &mut self,
        agent: &AgentId<'_>,
        frame: FrameType<'_>,
        envelope: &Envelope<'_>,
        fields: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.header(agent.as_str(), frame.intent, frame.operation);
        fields(self)?;
        self.end(frame.schema);
        if let Some(missing) = frame.envelope.iter().find(|field| !envelope.has(field)) {
            let message = format!(
                "{}:{} needs the envelope field {missing}",
                frame.intent, frame.operation
            );
            return Err(EncodeError::new(ErrorCode::INVALID_TYPE, message));
        }
        envelope.write(self.out)?;
        self.check_limits(envelope)
    }

    #[inline]
    fn header(&mut self, agent: &str, intent: Intent, operation: &str) {
        self.out.push('@');
        self.out.push_str(agent);
        self.out.push('>');
        self.out.push_str(intent.as_str());
        self.out.push(':');
        self.out.push_str(operation);
        self.out.push('{');
    }

    #[inline]
    fn end(&mut self, schema: Option<&str>) {
        if let Some(code) = schema {
            self.constant_key("|schema:");
            self.out.push_str(code);
        }
        self.out.push('}');
    }

    #[inline]
    fn check_limits(&self, envelope: &Envelope<'_>) -> Result<()> {
        let (limits, bytes) = (&self.options.limits, self.out.len() - self.start);
        // A param takes at least two bytes, an element at least one.
        if bytes <= limits.frame_bytes
            && bytes / 2 <= limits.params as usize
            && bytes <= limits.elements as usize
        {
            return Ok(());
        }
        self.count(bytes, envelope.len() as u32)
    }

    #[cold]
    fn count(&self, bytes: usize, pairs: u32) -> Result<()> {
        let Limits {
            frame_bytes,
            params,
            elements,
            ..
        } = self.options.limits;
        let written = (self.params.max(pairs), self.elements + pairs);
        if bytes <= frame_bytes && written.0 <= params && written.1 <= elements {
            return Ok(());
        }
        let message = format!(
            "the frame has {bytes} bytes, {} params or pairs, {} elements; at most {frame_bytes}, \
             {params}, {elements}",
            written.0, written.1,
        );
        Err(EncodeError::new(ErrorCode::PARSE_ERROR, message))
    }

    /// Appends an entry of a nested struct, under the rules of [`field`](Self::field).
    ///
    /// # Errors
    /// The error of the value, under `name`.
    pub fn entry<K, T: EncodeValue<K> + ?Sized>(
        &mut self,
        map: &mut Entries,
        name: &str,
        key: &str,
        value: &T,
        absent: Absent<'_>,
    ) -> Result<()> {
        if value.is_absent() && absent == Absent::Nothing {
            return Ok(());
        }
        let before = (self.out.len(), self.elements, map.written);
        if map.written > 0 {
            self.out.push(',');
        }
        map.written += 1;
        self.elements += 1;
        self.out.push_str(key);
        self.out.push(':');
        let is_default = self
            .value(value, absent)
            .map_err(|error| error.within(String::from(name)))?;
        if is_default {
            self.out.truncate(before.0);
            (self.elements, map.written) = (before.1, before.2);
        }
        Ok(())
    }

    /// Appends `[k,v]`. If `must` is true, a null is refused.
    ///
    /// # Errors
    /// The error of the value, or nesting over the limit.
    pub(crate) fn pair<K, T: EncodeValue<K> + ?Sized>(
        &mut self,
        key: &str,
        value: &T,
        must: bool,
    ) -> Result<()> {
        self.open('[')?;
        self.elements += 2;
        accp_registry::lexical::write_untyped(self.out, key);
        self.out.push(',');
        self.value(value, Absent::of_item(!must))?;
        self.close(']');
        Ok(())
    }

    /// Appends `{`, then the output of `entries`, and `}`.
    ///
    /// # Errors
    /// The errors of `entries`, or nesting over the limit.
    pub fn map(
        &mut self,
        entries: impl FnOnce(&mut Self, &mut Entries) -> Result<()>,
    ) -> Result<()> {
        self.open('{')?;
        entries(self, &mut Entries { written: 0 })?;
        self.close('}');
        Ok(())
    }

    /// Appends `[`, every item, and `]`.
    ///
    /// # Errors
    /// The error of an item, under its index; E1004 for a null, unless null is a value of `K`; or the error for nesting
    /// over the limit.
    pub fn array<K: OfItem, T: EncodeValue<K>>(&mut self, items: &[T]) -> Result<()> {
        self.open('[')?;
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.elements += 1;
            let start = self.out.len();
            item.encode_value(self)
                .and_then(|()| self.is_item::<K>(start))
                .map_err(|error| error.within_index(at))?;
        }
        self.close(']');
        Ok(())
    }

    /// Refuses the item that begins at `start` if it is a null, unless null is a value of `K`.
    #[inline]
    fn is_item<K: OfItem>(&self, start: usize) -> Result<()> {
        if !K::HOLDS_NULL && self.is_null(start) {
            return Err(no_value());
        }
        Ok(())
    }

    fn open(&mut self, bracket: char) -> Result<()> {
        let limit = self.options.limits.depth.min(Limits::MAX_DEPTH);
        if self.depth == limit {
            let message = format!("arrays and maps are nested deeper than {limit} levels");
            return Err(EncodeError::new(ErrorCode::PARSE_ERROR, message));
        }
        self.depth += 1;
        self.out.push(bracket);
        Ok(())
    }

    fn close(&mut self, bracket: char) {
        self.depth = self.depth.saturating_sub(1);
        self.out.push(bracket);
    }

    /// Appends a text with `write`, or a reference to the text if it is long (draft section 3.3,
    /// item 4).
    ///
    /// # Errors
    /// When the text is long, and the options have no externals or the externals refuse it.
    #[inline]
    pub fn text(&mut self, text: &str, write: impl FnOnce(&mut String, &str)) -> Result<()> {
        if text.len() > LONG_VALUE && self.goes_by_reference(text) {
            return self.externalise(&Value::from(text));
        }
        write(self.out, text);
        Ok(())
    }

    /// Appends a scalar, whose wire text is `wire`, or a reference to it if the text is long.
    pub(crate) fn scalar(&mut self, wire: &str, value: &Value<'_>) -> Result<()> {
        if self.goes_by_reference(wire) {
            return self.externalise(value);
        }
        self.raw(wire);
        Ok(())
    }

    #[inline]
    fn goes_by_reference(&self, text: &str) -> bool {
        let exempt = self.options.inline || (self.inline_field && !self.options.strict);
        !exempt && text.chars().count() > LONG_VALUE
    }

    #[cold]
    fn externalise(&mut self, value: &Value<'_>) -> Result<()> {
        let key = put_external(&mut self.options.externals, value, Reason::Characters)?;
        self.out.push('$');
        self.out.push_str(&key);
        Ok(())
    }

    /// Appends text that is already in its wire form.
    #[inline]
    pub fn raw(&mut self, wire: &str) {
        self.out.push_str(wire);
    }

    /// Returns the limits that the reader of the frame will apply.
    pub(crate) fn limits(&self) -> Limits {
        self.options.limits
    }

    /// Returns the text so far, for values that append themselves.
    #[inline]
    pub(crate) fn out(&mut self) -> &mut String {
        self.out
    }
}

/// Counts the entries of a map that is being written.
#[derive(Debug)]
pub struct Entries {
    written: usize,
}
