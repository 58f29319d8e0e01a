//! A frame at the level of the grammar: no schema, no types, raw values.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use accp_registry::{ErrorCode, Limits};

use crate::envelope::Envelope;
use crate::error::DecodeError;
use crate::reader::{DecodeOptions, Header, Reader};
use crate::value::Value;

/// One frame, checked against the grammar (draft section 3.1) and taken apart, but not interpreted.
///
/// The registry gives keys and values their meaning: see [`DynamicFrame`](crate::DynamicFrame) and
/// [`Typed`](crate::Typed).
///
/// ```
/// use accp_runtime::Frame;
///
/// let frame = Frame::parse("@analyst>qry:lookup{src:$ctx.sales_db|fmt:summary}")?;
/// assert_eq!(frame.agent, "analyst");
/// assert_eq!(frame.get("fmt").map(|value| value.as_str()), Some("summary"));
/// assert_eq!(frame.to_string(), "@analyst>qry:lookup{src:$ctx.sales_db|fmt:summary}");
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The sender.
    pub agent: Cow<'a, str>,
    /// The intent as written.
    pub intent: Cow<'a, str>,
    /// The operation.
    pub operation: Cow<'a, str>,
    /// The params of the payload, in the order of the text.
    pub payload: Vec<Param<'a>>,
    /// The pairs of the metadata, in the order of the text; empty without metadata.
    pub metadata: Vec<Param<'a>>,
}

/// ```abnf
/// param = key ":" value
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param<'a> {
    /// The key as written.
    pub key: Cow<'a, str>,
    /// The value as written.
    pub value: RawValue<'a>,
}

/// The wire text of one value, checked against the grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawValue<'a>(Cow<'a, str>);

impl<'a> Frame<'a> {
    /// Reads one frame under the default options.
    ///
    /// # Errors
    /// E1001 with the byte and the expectation there; the frame is never partially read.
    pub fn parse(text: &'a str) -> Result<Self, DecodeError> {
        Self::parse_with(text, &DecodeOptions::default())
    }

    /// Reads one frame from the bytes of a transport.
    ///
    /// # Errors
    /// As [`Frame::parse`]; a byte that is not printable ASCII is refused at its place.
    pub fn parse_bytes(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        read_bytes(bytes, Self::parse)
    }

    /// Reads one frame under `options`.
    ///
    /// # Errors
    /// As [`Frame::parse`].
    pub fn parse_with(text: &'a str, options: &DecodeOptions) -> Result<Self, DecodeError> {
        let mut r = Reader::new(text, *options)?;
        let Header {
            agent,
            intent,
            operation,
        } = r.header()?;
        let mut payload = Vec::new();
        while let Some(key) = r.param()? {
            payload.push(Param::scanned(key, r.skip_value()?));
        }
        let mut metadata = Vec::new();
        while let Some(key) = r.metadata()? {
            metadata.push(Param::scanned(key, r.skip_value()?));
        }
        r.finish()?;
        Ok(Self {
            agent: Cow::Borrowed(agent),
            intent: Cow::Borrowed(intent),
            operation: Cow::Borrowed(operation),
            payload,
            metadata,
        })
    }

    /// Returns the value of the first param with this key, as written.
    pub fn get(&self, key: &str) -> Option<&RawValue<'a>> {
        self.payload
            .iter()
            .find(|param| param.key == key)
            .map(|param| &param.value)
    }

    /// Returns the value of the first param with this key, read without a declared type.
    pub fn value(&self, key: &str) -> Option<Value<'_>> {
        self.get(key)?.value().ok()
    }

    /// Returns the text in three parts: header, body, metadata (draft section 3.4).
    pub fn parts(&self) -> [String; 3] {
        let header = format!("@{}>{}", self.agent, self.intent);
        let mut body = format!(":{}{{", self.operation);
        write_params(&mut body, &self.payload, '|');
        body.push('}');
        let mut metadata = String::new();
        if !self.metadata.is_empty() {
            metadata.push('[');
            write_params(&mut metadata, &self.metadata, ',');
            metadata.push(']');
        }
        [header, body, metadata]
    }

    /// Returns the envelope fields of the metadata (draft section 3.5).
    ///
    /// # Errors
    /// E1001 or E1004 with the byte in the canonical text of the frame.
    pub fn envelope(&self) -> Result<Envelope<'static>, DecodeError> {
        let text = self.to_string();
        let mut r = Reader::new(
            &text,
            DecodeOptions {
                limits: Limits::NONE,
                marks: true,
            },
        )?;
        r.header()?;
        while r.param()?.is_some() {
            r.skip_value()?;
        }
        Envelope::read(&mut r).map(Envelope::into_owned)
    }

    /// Returns the same frame, owned.
    pub fn into_owned(self) -> Frame<'static> {
        let own = |params: Vec<Param<'_>>| params.into_iter().map(Param::into_owned).collect();
        Frame {
            agent: Cow::Owned(self.agent.into_owned()),
            intent: Cow::Owned(self.intent.into_owned()),
            operation: Cow::Owned(self.operation.into_owned()),
            payload: own(self.payload),
            metadata: own(self.metadata),
        }
    }
}

/// Reads the bytes of a frame as text. A byte outside UTF-8 is the fault, unless the text before it
/// already has a fault.
///
/// # Errors
/// E1001 with the first such byte, or the error of `read` for the text before it.
pub fn read_bytes<'a, T>(
    bytes: &'a [u8],
    read: impl FnOnce(&'a str) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let at = match core::str::from_utf8(bytes) {
        Ok(text) => return read(text),
        Err(error) => error.valid_up_to(),
    };
    let before = bytes
        .get(..at)
        .and_then(|bytes| core::str::from_utf8(bytes).ok());
    match read(before.unwrap_or_default()) {
        Err(error) if error.at() < at => Err(error),
        _ => {
            let expected = "printable ASCII; a text value writes other characters as %XX";
            Err(DecodeError::new(ErrorCode::PARSE_ERROR, at, expected))
        }
    }
}

fn write_params(out: &mut String, params: &[Param<'_>], separator: char) {
    for (at, param) in params.iter().enumerate() {
        if at > 0 {
            out.push(separator);
        }
        out.push_str(&param.key);
        out.push(':');
        out.push_str(&param.value.0);
    }
}

impl fmt::Display for Frame<'_> {
    /// Writes the text of the frame, byte for byte as it was read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().iter().try_for_each(|part| f.write_str(part))
    }
}

impl<'a> Param<'a> {
    fn scanned(key: &'a str, value: &'a str) -> Self {
        Self {
            key: Cow::Borrowed(key),
            value: RawValue(Cow::Borrowed(value)),
        }
    }

    fn into_owned(self) -> Param<'static> {
        Param {
            key: Cow::Owned(self.key.into_owned()),
            value: RawValue(Cow::Owned(self.value.0.into_owned())),
        }
    }
}

impl RawValue<'_> {
    /// Returns the text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the value, read without a declared type.
    ///
    /// # Errors
    /// E1001 when a key occurs twice in a map; bytes count from the start of the value.
    pub fn value(&self) -> Result<Value<'_>, DecodeError> {
        let mut r = Reader::new(
            &self.0,
            DecodeOptions {
                limits: Limits::NONE,
                marks: true,
            },
        )?;
        Value::read(&mut r)
    }
}

impl fmt::Display for RawValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
