//! The errors of reading and of writing.

use std::fmt;

use crate::finding::{Code, Finding};

/// The error for a text that is not the expected packet. The error never holds a part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<Decode>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Decode {
    /// The text is not a packet.
    Packet(Finding),
    /// The packet has another task or domain.
    Head([&'static str; 2]),
    /// The packet lacks a key.
    Missing(String),
    /// The type does not take the key at this field and byte.
    Unknown([usize; 2]),
    /// The value does not fit the type.
    Value {
        key: String,
        place: [usize; 2],
        expected: &'static str,
    },
}

impl DecodeError {
    /// Makes the error for a packet that has another task or domain than these.
    pub fn head(task: &'static str, dom: &'static str) -> Self {
        Self(Box::new(Decode::Head([task, dom])))
    }

    /// Makes the error for a packet that lacks a key which its type needs.
    pub fn missing(key: &str) -> Self {
        Self(Box::new(Decode::Missing(key.to_owned())))
    }

    /// Makes the error for a key that the type does not take. `field` and `at` are the place of the key.
    pub fn unknown(field: usize, at: usize) -> Self {
        Self(Box::new(Decode::Unknown([field, at])))
    }

    pub(crate) fn value(key: &str, field: usize, at: usize, error: ValueError) -> Self {
        Self(Box::new(Decode::Value {
            key: key.to_owned(),
            place: [field, at],
            expected: error.expected,
        }))
    }

    /// Returns the code of the validator; `None` if the packet has no errors, but is not of the expected type.
    pub fn code(&self) -> Option<Code> {
        match &*self.0 {
            Decode::Packet(finding) => Some(finding.code),
            _ => None,
        }
    }

    /// Returns the index of the field: 0 is the task, 1 the domain. `None` if the error is not about one field.
    pub fn field(&self) -> Option<usize> {
        match &*self.0 {
            Decode::Packet(finding) => finding.field,
            Decode::Unknown([field, _]) => Some(*field),
            Decode::Value { place, .. } => Some(place[0]),
            Decode::Head(_) => Some(0),
            Decode::Missing(_) => None,
        }
    }

    /// Returns the byte in the text, from 0.
    pub fn at(&self) -> Option<usize> {
        match &*self.0 {
            Decode::Packet(finding) => finding.at,
            Decode::Unknown([_, at]) => Some(*at),
            Decode::Value { place, .. } => Some(place[1]),
            Decode::Head(_) => Some(0),
            Decode::Missing(_) => None,
        }
    }
}

impl From<Finding> for DecodeError {
    fn from(finding: Finding) -> Self {
        Self(Box::new(Decode::Packet(finding)))
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Decode::Packet(finding) => {
                write!(f, "{}", finding.code)?;
                if let (Some(field), Some(at)) = (finding.field, finding.at) {
                    write!(f, " (field {field}, byte {at})")?;
                }
                write!(f, ": {finding}")
            }
            Decode::Head([task, dom]) => write!(f, "expected a packet {task}|{dom}"),
            Decode::Missing(key) => write!(f, "the packet has no `{key}`; add {key}:"),
            Decode::Unknown([field, at]) => write!(
                f,
                "the type has no field for the key (field {field}, byte {at}); give the type a \
                 field for extra keys"
            ),
            Decode::Value {
                key,
                place: [field, at],
                expected,
            } => write!(
                f,
                "in `{key}` (field {field}, byte {at}): expected {expected}"
            ),
        }
    }
}

impl std::error::Error for DecodeError {}

/// A value that a type cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueError {
    expected: &'static str,
}

impl ValueError {
    /// An error that says what was expected, such as `a whole number`.
    pub const fn expected(expected: &'static str) -> Self {
        Self { expected }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl std::error::Error for ValueError {}

/// The error for a packet that cannot be written. It names the field or parameter at fault, and says what is wrong and
/// what helps. The error never holds the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteError(Box<Write>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Write {
    name: Option<String>,
    fault: WriteFault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteFault {
    /// The validator would call this an error.
    Finding(Finding),
    /// A `|` in a value.
    Separator,
    /// A `,` in an item of a list.
    Comma,
    /// A list whose only item is empty. A reader would take it for an empty list.
    EmptyItem,
    /// A space at an end of a value.
    Space,
    /// A colon in a field without a key.
    Colon,
    /// A param of a frame makes no field of a packet. The text says what is wrong, and the cure.
    #[cfg(feature = "bridge")]
    Frame(&'static str),
}

impl WriteError {
    pub(crate) fn new(fault: WriteFault) -> Self {
        Self(Box::new(Write { name: None, fault }))
    }

    /// Names the field or parameter, unless it has a name already.
    #[must_use]
    pub fn of(mut self, name: &str) -> Self {
        let shown = || name.chars().take(64).flat_map(char::escape_default);
        self.0.name.get_or_insert_with(|| shown().collect());
        self
    }

    /// Returns the name of the field or parameter, if the error is about one.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Returns the validator's code, if the packet has an error of that code.
    pub fn code(&self) -> Option<Code> {
        match &self.0.fault {
            WriteFault::Finding(finding) => Some(finding.code),
            _ => None,
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.0.name {
            write!(f, "`{name}`: ")?;
        }
        match &self.0.fault {
            WriteFault::Finding(finding) => write!(f, "{finding}"),
            WriteFault::Separator => f.write_str(
                "`|` separates fields and cannot stand in a value; take another character, or \
                 point to the text with data_ptr",
            ),
            WriteFault::Comma => f.write_str(
                "`,` separates the items of a list and cannot stand in an item; take another \
                 character, or point to the list with data_ptr",
            ),
            WriteFault::EmptyItem => f.write_str(
                "a list of one empty item cannot be told from an empty list; leave the item out",
            ),
            WriteFault::Space => f.write_str(
                "a space at an end of a value does not come back; leave it out, or point to the \
                 text with data_ptr",
            ),
            WriteFault::Colon => f.write_str(
                "the text of a field without a key cannot hold `:`; give the field a key",
            ),
            #[cfg(feature = "bridge")]
            WriteFault::Frame(fault) => f.write_str(fault),
        }
    }
}

impl std::error::Error for WriteError {}
