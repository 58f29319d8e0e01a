//! A packet, borrowed from its text.

use std::fmt;

use crate::error::DecodeError;
use crate::finding::Severity;
use crate::limits::Limits;
use crate::scan::{Field, Scan, not_utf8};
use crate::value::PacketValue;

/// A packet without errors (draft section 4), borrowed from its text. Only a text that
/// [`validate`](crate::validate) finds no error in becomes a packet.
///
/// Spaces around a field, a key or a value do not count. In a packet of version 1.0 a field may have
/// no key; its key is `""` here.
///
/// ```
/// use accp_aacp::Packet;
///
/// let text = "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|filter:status=active";
/// let packet = Packet::parse(text)?;
/// assert_eq!((packet.task(), packet.dom()), ("FETCH", "HR"));
/// assert_eq!(packet.get("filter"), Some("status=active"));
/// assert_eq!(packet.fields()[0], ("return", "HR-Agent"));
/// assert_eq!(packet.text(), text);
/// assert_eq!(packet.to_string(), text);
/// # Ok::<(), accp_aacp::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<'a> {
    text: &'a str,
    task: &'a str,
    dom: &'a str,
    fields: Vec<Field<'a>>,
}

impl<'a> Packet<'a> {
    /// Reads a packet under the default limits.
    ///
    /// # Errors
    /// The first error of the validator, with field, byte and cure.
    pub fn parse(text: &'a str) -> Result<Self, DecodeError> {
        Self::parse_with(text, Limits::DEFAULT)
    }

    /// Reads a packet from the bytes of a transport.
    ///
    /// # Errors
    /// As [`Packet::parse`]; a byte outside UTF-8 is refused at its place.
    pub fn parse_bytes(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text),
            Err(error) => Err(not_utf8(bytes, error.valid_up_to()).into()),
        }
    }

    /// Reads a packet under these limits.
    ///
    /// # Errors
    /// As [`Packet::parse`].
    pub fn parse_with(text: &'a str, limits: Limits) -> Result<Self, DecodeError> {
        let scan = Scan::of(text, limits);
        let mut errors = scan.findings.into_iter();
        match errors.find(|finding| finding.severity == Severity::Error) {
            Some(error) => Err(error.into()),
            None => Ok(Self {
                text,
                task: scan.task,
                dom: scan.dom,
                fields: scan.fields,
            }),
        }
    }

    /// Returns the text, byte for byte as it was read.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the action (draft section 5.1), known or not.
    pub fn task(&self) -> &'a str {
        self.task
    }

    /// Returns the business domain (draft section 5.2), known or not.
    pub fn dom(&self) -> &'a str {
        self.dom
    }

    /// Returns the keys and values after the domain, in the order of the text.
    pub fn fields(&self) -> &[(&'a str, &'a str)] {
        &self.fields
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        let mut fields = self.fields.iter();
        fields.find(|(other, _)| *other == key).map(|field| field.1)
    }

    /// Reads the value of a key as a Rust type; `None` if there is no such key.
    ///
    /// # Errors
    /// A value that the type cannot hold, with its field and byte.
    ///
    /// ```
    /// use accp_aacp::Packet;
    ///
    /// let packet = Packet::parse("FETCH|HR|return:a|aacp:1.1|p:1|fields:dept,grp")?;
    /// assert_eq!(packet.value::<u8>("p")?, Some(1));
    /// assert_eq!(packet.value::<Vec<&str>>("fields")?, Some(vec!["dept", "grp"]));
    /// assert_eq!(packet.value::<&str>("fmt")?, None);
    /// assert_eq!(
    ///     packet.value::<u8>("return").unwrap_err().to_string(),
    ///     "in `return` (field 2, byte 16): expected a whole number from 0 to 255",
    /// );
    /// # Ok::<(), accp_aacp::DecodeError>(())
    /// ```
    pub fn value<T: PacketValue<'a>>(&self, key: &str) -> Result<Option<T>, DecodeError> {
        let mut fields = self.fields.iter().zip(2..);
        let Some(((_, value), index)) = fields.find(|((other, _), _)| *other == key) else {
            return Ok(None);
        };
        let read = T::read(value).map_err(|error| {
            let at = value.as_ptr().addr() - self.text.as_ptr().addr();
            DecodeError::value(key, index, at, error)
        });
        read.map(Some)
    }

    /// Reads the value of a key that the packet must have.
    ///
    /// # Errors
    /// As [`Packet::value`], and when there is no such key.
    pub fn required<T: PacketValue<'a>>(&self, key: &str) -> Result<T, DecodeError> {
        self.value(key)?.ok_or_else(|| DecodeError::missing(key))
    }
}

/// Writes a packet from its parts, without the spaces that do not count.
pub(crate) fn write<'p>(
    f: &mut impl fmt::Write,
    [task, dom]: [&str; 2],
    fields: impl Iterator<Item = (&'p str, &'p str)>,
) -> fmt::Result {
    write!(f, "{task}|{dom}")?;
    for (key, value) in fields {
        let colon = if key.is_empty() { "" } else { ":" };
        write!(f, "|{key}{colon}{value}")?;
    }
    Ok(())
}

impl fmt::Display for Packet<'_> {
    /// Writes the text without the spaces that do not count.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, [self.task, self.dom], self.fields.iter().copied())
    }
}
