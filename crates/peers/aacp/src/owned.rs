//! A packet that owns its text.

use std::fmt;

use crate::error::WriteError;
use crate::packet::Packet;
use crate::writer::PacketWriter;

/// A packet that was made from parts, or that is kept after its text is gone. It has no errors: a packet that cannot
/// be sent cannot be made.
///
/// ```
/// use accp_aacp::{Packet, PacketBuf};
///
/// let packet = PacketBuf::new("FETCH", "HR", [("return", "HR-Agent"), ("aacp", "1.1")])?;
/// assert_eq!(packet.text(), "FETCH|HR|return:HR-Agent|aacp:1.1");
/// assert_eq!(packet.get("return"), Some("HR-Agent"));
///
/// let error = PacketBuf::new("FETCH", "HR", [("return", "a|return:b"), ("aacp", "1.1")]);
/// assert_eq!(error.unwrap_err().name(), Some("return"));
/// # Ok::<(), accp_aacp::WriteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketBuf {
    text: String,
    task: String,
    dom: String,
    fields: Vec<(String, String)>,
}

impl PacketBuf {
    /// Makes a packet from its parts. The fields keep their order.
    ///
    /// # Errors
    /// A value that cannot be written, and every error that the validator would find: with the name
    /// of the field, and the cure.
    pub fn new<K: Into<String>, V: Into<String>>(
        task: &str,
        dom: &str,
        fields: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, WriteError> {
        let fields = fields.into_iter();
        let fields: Vec<(String, String)> = fields
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        let text = PacketWriter::packet(task, dom, |writer| {
            let mut fields = fields.iter();
            fields.try_for_each(|(key, value)| writer.raw(key, value))
        })?;
        Ok(Self {
            text,
            task: task.to_owned(),
            dom: dom.to_owned(),
            fields,
        })
    }

    /// Checks that a text can be a value.
    ///
    /// # Errors
    /// A character that cannot stand in a value, or a space at an end of the value.
    ///
    /// ```
    /// use accp_aacp::PacketBuf;
    ///
    /// assert!(PacketBuf::check("status=active").is_ok());
    /// assert!(PacketBuf::check("a|b").is_err());
    /// ```
    pub fn check(value: &str) -> Result<(), WriteError> {
        crate::writer::value(value)
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the action (draft section 5.1), known or not.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// Returns the business domain (draft section 5.2), known or not.
    pub fn dom(&self) -> &str {
        &self.dom
    }

    /// Returns the keys and values after the domain, in the order of the text.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.fields.iter();
        fields.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields()
            .find(|field| field.0 == key)
            .map(|field| field.1)
    }
}

impl From<&Packet<'_>> for PacketBuf {
    /// Keeps the text byte for byte, with the spaces that do not count.
    fn from(packet: &Packet<'_>) -> Self {
        let fields = packet.fields().iter();
        Self {
            text: packet.text().to_owned(),
            task: packet.task().to_owned(),
            dom: packet.dom().to_owned(),
            fields: fields
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }
}

impl fmt::Display for PacketBuf {
    /// Writes the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
