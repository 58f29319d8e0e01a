//! What a validator finds in a packet.

use std::fmt;

/// The code of a finding.
///
/// ```
/// use accp_aacp::Code;
///
/// assert_eq!(Code::ReturnMissing.as_str(), "return-missing");
/// assert_eq!(Code::named("p-missing"), Some(Code::PMissing));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Code {
    /// There is no text.
    PacketEmpty,
    /// Field 0 is empty.
    TaskMissing,
    /// Field 0 is not a task.
    TaskInvalid,
    /// Field 1 is empty, or is not there.
    DomMissing,
    /// Field 1 is not a domain.
    DomInvalid,
    /// There is no `return:`.
    ReturnMissing,
    /// `return:` has no value.
    ReturnEmpty,
    /// There is no `aacp:`.
    AacpMissing,
    /// `aacp:` has no value.
    AacpEmpty,
    /// A field is empty. A warning in a packet of version 1.0.
    FieldEmpty,
    /// A field has no key. A warning in a packet of version 1.0.
    FieldUnnamed,
    /// The text before the colon is not a key.
    KeyInvalid,
    /// A key stands twice.
    KeyRepeated,
    /// A character cannot stand in a packet: see
    /// [`is_value_char`](accp_registry::aacp::is_value_char).
    ControlCharacter,
    /// The packet is longer than the limit.
    TooLong,
    /// The packet has more fields than the limit.
    TooManyFields,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The vocabulary does not have the task.
    TaskUnknown,
    /// The vocabulary does not have the domain.
    DomUnknown,
    /// There is no `p:`.
    PMissing,
    /// The vocabulary does not have the priority.
    PUnknown,
    /// `aacp:` names another version.
    VersionDiffers,
    /// There is `sentiment:`, and no `tone:`.
    SentimentWithoutTone,
    /// There is `ltv:`, and no `ccy:`.
    LtvWithoutCcy,
    /// The vocabulary does not have the key.
    KeyUnknown,
    /// A key has no value.
    ValueEmpty,
    /// Spaces stand around a field, a key or a value.
    SpaceTrimmed,
}

/// Every code, its name, what is wrong, and the cure.
const TABLE: [(Code, &str, &str, &str); 27] = [
    (
        Code::PacketEmpty,
        "packet-empty",
        "the packet is empty",
        "write TASK|DOM|return:AGENT|p:2|aacp:1.1",
    ),
    (
        Code::TaskMissing,
        "task-missing",
        "field 0, the task, is empty",
        "write a task such as FETCH before the first `|`",
    ),
    (
        Code::TaskInvalid,
        "task-invalid",
        "field 0 is not a task",
        "write a task of letters, digits, `_` and `-`",
    ),
    (
        Code::DomMissing,
        "dom-missing",
        "field 1, the domain, is missing",
        "write a domain such as HR after the task and `|`",
    ),
    (
        Code::DomInvalid,
        "dom-invalid",
        "field 1 is not a domain",
        "write a domain of letters, digits, `_` and `-`",
    ),
    (
        Code::ReturnMissing,
        "return-missing",
        "no field says who gets the result",
        "add return:AGENT",
    ),
    (
        Code::ReturnEmpty,
        "return-empty",
        "`return` has no value",
        "name the agent that gets the result: return:AGENT",
    ),
    (
        Code::AacpMissing,
        "aacp-missing",
        "no field names the version",
        "add aacp:1.1",
    ),
    (
        Code::AacpEmpty,
        "aacp-empty",
        "`aacp` has no value",
        "name the version: aacp:1.1",
    ),
    (
        Code::FieldEmpty,
        "field-empty",
        "a field is empty",
        "leave out the `|` that has nothing behind it",
    ),
    (
        Code::FieldUnnamed,
        "field-unnamed",
        "a field has no key",
        "write key:value; only the task and the domain stand without a key",
    ),
    (
        Code::KeyInvalid,
        "key-invalid",
        "the text before `:` is not a key",
        "write a letter, then letters, digits and `_`",
    ),
    (
        Code::KeyRepeated,
        "key-repeated",
        "a key stands twice",
        "keep one of the two fields; a list is one value with commas",
    ),
    (
        Code::ControlCharacter,
        "control-character",
        "a control, line break, bidirectional or invisible character stands in the packet",
        "take another character, or point to the text with data_ptr",
    ),
    (
        Code::TooLong,
        "too-long",
        "the packet is longer than the limit",
        "point to the data with data_ptr, or split the instruction",
    ),
    (
        Code::TooManyFields,
        "too-many-fields",
        "the packet has more fields than the limit",
        "split the instruction, or point to the data with data_ptr",
    ),
    (
        Code::NotUtf8,
        "not-utf8",
        "a byte is not UTF-8",
        "save the text as UTF-8",
    ),
    (
        Code::TaskUnknown,
        "task-unknown",
        "the task is not in the vocabulary",
        "take one of the vocabulary's tasks",
    ),
    (
        Code::DomUnknown,
        "dom-unknown",
        "the domain is not in the vocabulary",
        "declare the domain in a vocabulary file",
    ),
    (
        Code::PMissing,
        "p-missing",
        "no field gives the priority",
        "add p:2, which is what its absence means",
    ),
    (
        Code::PUnknown,
        "p-unknown",
        "the priority is not 1, 2 or 3",
        "write p:1 (critical), p:2 (medium) or p:3 (low)",
    ),
    (
        Code::VersionDiffers,
        "version-differs",
        "the packet is of another version than 1.1",
        "check that the sender means what 1.1 means by these fields",
    ),
    (
        Code::SentimentWithoutTone,
        "sentiment-without-tone",
        "`sentiment` needs `tone`",
        "add tone:",
    ),
    (
        Code::LtvWithoutCcy,
        "ltv-without-ccy",
        "`ltv` needs `ccy`",
        "add ccy: with the currency of the amount",
    ),
    (
        Code::KeyUnknown,
        "key-unknown",
        "the key is not in the vocabulary",
        "declare it in a vocabulary file, with the prefix of your organisation",
    ),
    (
        Code::ValueEmpty,
        "value-empty",
        "a key has no value",
        "write a value, or leave the field out",
    ),
    (
        Code::SpaceTrimmed,
        "space-trimmed",
        "spaces stand around a field, a key or a value; they do not count",
        "leave them out",
    ),
];

impl Code {
    /// Returns all codes: errors first, then warnings.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// Returns the name of the code.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// Returns the code of this name.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    fn row(self) -> &'static (Self, &'static str, &'static str, &'static str) {
        // The table is in the order of the codes. A test checks this.
        &TABLE[self as usize]
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The weight of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The packet cannot be sent.
    Error,
    /// The packet can be sent.
    Warning,
}

/// One finding: its code, its place, and the cure. Its text never holds a part of the packet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The code.
    pub code: Code,
    /// Whether the packet can be sent in spite of this finding.
    pub severity: Severity,
    /// The index of the field: 0 is the task, 1 the domain. `None` if a field is missing, or the
    /// finding is about the whole packet.
    pub field: Option<usize>,
    /// The byte in the packet, from 0; `None` if a field is missing.
    pub at: Option<usize>,
    /// Details beyond the code: the known word that was probably meant, or a limit.
    detail: Option<String>,
}

impl Finding {
    pub(crate) fn error(code: Code) -> Self {
        Self {
            code,
            severity: Severity::Error,
            field: None,
            at: None,
            detail: None,
        }
    }

    pub(crate) fn warning(code: Code) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code)
        }
    }

    pub(crate) fn at(self, field: usize, at: usize) -> Self {
        Self {
            field: Some(field),
            at: Some(at),
            ..self
        }
    }

    /// Adds a detail to the code. The detail must not come from the packet.
    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..self
        }
    }
}

impl fmt::Display for Finding {
    /// Writes what is wrong, and the cure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, _, message, cure) = self.code.row();
        f.write_str(message)?;
        if let Some(detail) = &self.detail {
            write!(f, " ({detail})")?;
        }
        write!(f, "; {cure}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_codes() {
        for (index, (code, name, ..)) in TABLE.iter().enumerate() {
            assert_eq!(*code as usize, index, "{name}");
            assert_eq!(Code::named(name), Some(*code));
        }
        assert_eq!(Code::all().count(), 27);
    }
}
