//! The description of a protocol, as one value for the generator.
//!
//! Grammar, registry, derive and build take all facts about a protocol from a [`Protocol`]; their own code holds no
//! such facts. [`ACCP`](crate::ACCP) describes frames, and [`AACP`](crate::AACP) packets. Each has a runtime of its
//! own, which reads and writes its messages.
//!
//! ```
//! use accp_registry::ACCP;
//!
//! let parts: Vec<&str> = ACCP.head.iter().map(|part| part.name).collect();
//! assert_eq!(parts, ["intent", "operation"]);
//! assert_eq!(ACCP.title(&["req", "plan"]), "req:plan");
//! assert_eq!(ACCP.abbreviate("priority"), Some("pri"));
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::limits::Limits;
use crate::tables::{Abbreviation, EnvelopeField};

/// A protocol: the head of its messages, the keys and the text of its fields, and the names of the
/// Rust code that is generated for it.
///
/// A protocol is a `static`. Two protocols are equal only if they are the same `static`.
pub struct Protocol {
    /// The name in lower case: `accp`.
    pub name: &'static str,
    /// The word for a message in errors: `frame`.
    pub noun: &'static str,
    /// The parts that identify a kind of message, in the order of the text.
    pub head: &'static [HeadPart],
    /// The key that carries the code of the schema. No field can have this key. `None`: a message
    /// does not name its schema, and a registry has one schema for all messages.
    pub schema_key: Option<&'static str>,
    /// The rule for keys, and for the names and codes of schemas.
    pub key: NameRule,
    /// The fields at the beginning of every message, in this order. The order of the fields in a struct does not
    /// matter.
    pub common: &'static [CommonField],
    /// The key in a map under which a list of pairs holds the entries whose keys do not fit [`Protocol::key`].
    pub pairs_key: Option<&'static str>,
    /// The reader's action on a key that neither the schema nor the struct knows.
    pub unknown_keys: UnknownKeys,
    /// The form of values, and what gives them their meaning: a schema or the type in a struct.
    pub values: Values,
    /// The standard abbreviations, for names that the schema does not abbreviate.
    pub abbreviations: &'static [Abbreviation],
    /// The fields of the metadata; empty if messages have no metadata.
    pub envelope: &'static [EnvelopeField],
    /// The marks in the text of a message.
    pub layout: Layout,
    /// The limits on reading a message, unless a reader sets others.
    pub limits: Limits,
    /// The built-in registry: the names of its files, and their text.
    pub profiles: &'static [(&'static str, &'static str)],
    /// The names in generated code.
    pub rust: RustNames,
}

/// A part of the head of a message, such as the intent.
#[derive(Debug, Clone, Copy)]
pub struct HeadPart {
    /// The name of the part: a key of a `frames` entry, an attribute of the derive, a field of the
    /// runtime's `FrameType`, and a rule of the grammar.
    pub name: &'static str,
    /// The plural of the name.
    pub plural: &'static str,
    /// A word of this part, for examples in errors.
    pub example: &'static str,
    /// The words that this part allows.
    pub vocabulary: Vocabulary,
}

/// The words that a part of the head allows.
#[derive(Debug, Clone, Copy)]
pub enum Vocabulary {
    /// These words and no others.
    Closed {
        /// The words, in the order in which errors list them.
        words: &'static [&'static str],
        /// The runtime's type with a constant for each word. The name of a constant is the word in
        /// capitals.
        constants: &'static str,
    },
    /// Any word that the rule allows.
    Open(NameRule),
}

/// A field of every message.
#[derive(Debug, Clone, Copy)]
pub struct CommonField {
    /// The key.
    pub key: &'static str,
    /// Whether a struct must have the field.
    pub presence: Presence,
}

/// The presence of a field of every message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// A message may lack the field.
    Optional,
    /// Every message has the field. So every struct must have the field, without an `Option`.
    Required,
    /// Every message has the field. A struct that lacks it writes this text, and accepts any text.
    Filled(&'static str),
}

/// A rule for names.
#[derive(Debug, Clone, Copy)]
pub struct NameRule {
    /// Returns whether a text is such a name.
    pub fits: fn(&str) -> bool,
    /// The allowed characters in words: `letters, digits and '_'`.
    pub words: &'static str,
    /// The allowed characters as a list: ``A-Z, a-z, 0-9 and `_` ``.
    pub list: &'static str,
}

/// The reader's action on an unknown key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKeys {
    /// The reader skips the field, unless the struct refuses unknown keys, or has a field that takes them.
    ReadOver,
    /// The reader refuses the message, unless the struct has a field that takes unknown keys.
    Refused,
}

/// The values of fields.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// A schema declares the type of each value.
    Typed {
        /// Whether a value may hold maps and other records.
        nests: bool,
    },
    /// A value is text of the characters that this function accepts, or a list of such texts. The
    /// type of a struct's field says what the text means.
    Text(fn(char) -> bool),
}

/// The marks between the parts of a message.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The marks before and after the sender; `None` if a message does not name its sender.
    pub sender: Option<[&'static str; 2]>,
    /// The mark between two parts of the head.
    pub head: &'static str,
    /// The marks of the fields.
    pub fields: List,
    /// The mark between a key and its value.
    pub assign: &'static str,
    /// The marks of the metadata; `None` if a message has none.
    pub metadata: Option<List>,
    /// The escape of a mark inside a value; `None` if no value can hold a mark.
    pub escape: Option<Escape>,
}

/// The marks of a list.
#[derive(Debug, Clone, Copy)]
pub struct List {
    /// Before the first entry.
    pub open: &'static str,
    /// Between two entries.
    pub separator: &'static str,
    /// After the last entry; empty if the list ends with the message.
    pub close: &'static str,
}

/// The escape of marks inside a value.
#[derive(Debug, Clone, Copy)]
pub struct Escape {
    /// The character before the mark.
    pub by: char,
    /// The characters that need the escape.
    pub delimiters: &'static str,
}

/// The names in generated code.
#[derive(Debug, Clone, Copy)]
pub struct RustNames {
    /// The crate that reads and writes messages: `accp_runtime`.
    pub runtime: &'static str,
    /// The derive macro: `AccpFrame`.
    pub derive: &'static str,
    /// The attribute that the derive reads: `accp`.
    pub attribute: &'static str,
    /// The attribute's word for a field that takes unknown keys: `flatten`.
    pub rest: &'static str,
    /// The indices in [`Protocol::head`] of the parts that name a type, in the order of its
    /// words: `ScheduleReq`.
    pub type_name: &'static [usize],
    /// The names for a registry; `None` if no registry declares the fields of messages.
    pub registry: Option<RegistryNames>,
}

/// The names for a registry, in generated code.
#[derive(Debug, Clone, Copy)]
pub struct RegistryNames {
    /// The environment variable that names a registry for the derive.
    pub variable: &'static str,
    /// The documentation of the constant for the version of a registry.
    pub version_doc: &'static str,
    /// The documentation of the constant for the hash of a registry.
    pub hash_doc: &'static str,
}

/// The head of a record inside a value: empty, because only messages have a head.
pub const NO_HEAD: &[&str] = &[];

impl Protocol {
    /// Returns a head as it stands in the text: `req:plan`.
    pub fn title<S: AsRef<str>>(&self, head: &[S]) -> String {
        let words: Vec<&str> = head.iter().map(AsRef::as_ref).collect();
        words.join(self.layout.head)
    }

    /// Returns the index in [`Protocol::head`] of the part with this name.
    pub fn part(&self, name: &str) -> Option<usize> {
        self.head.iter().position(|part| part.name == name)
    }

    /// Returns the index in [`Protocol::common`] of the field with this key.
    pub fn common_index(&self, key: &str) -> Option<usize> {
        self.common.iter().position(|field| field.key == key)
    }

    /// Returns whether every message must have the field with this key, so that every struct must have it too.
    pub fn requires(&self, key: &str) -> bool {
        let mut common = self.common.iter();
        common.any(|field| field.key == key && field.presence == Presence::Required)
    }

    /// Returns whether values are text, and no schema declares their types.
    pub fn is_text(&self) -> bool {
        matches!(self.values, Values::Text(_))
    }

    /// Returns whether a value may hold maps and other records.
    pub fn nests(&self) -> bool {
        matches!(self.values, Values::Typed { nests: true })
    }

    /// Returns the standard abbreviation of a full name.
    pub fn abbreviate(&self, full: &str) -> Option<&'static str> {
        let entry = self.abbreviations.iter().find(|entry| entry.full == full)?;
        Some(entry.short)
    }

    /// Returns the standard abbreviation with this short form.
    pub fn abbreviation(&self, short: &str) -> Option<&'static Abbreviation> {
        self.abbreviations.iter().find(|entry| entry.short == short)
    }

    /// Returns the field of the envelope with this full or short name.
    pub fn envelope_field(&self, name: &str) -> Option<&'static EnvelopeField> {
        let mut fields = self.envelope.iter();
        fields.find(|field| field.full == name || field.short == name)
    }

    /// Returns how the protocol itself uses a key, so that no field of a schema can have it; `None` for any other
    /// key.
    pub(crate) fn reserved(&self, key: &str) -> Option<String> {
        if self.schema_key == Some(key) {
            return Some(format!("names the schema of a {}", self.noun));
        }
        (self.pairs_key == Some(key)).then(|| "is the key of the pairs in a map".into())
    }

    /// Returns a head as an entry of `frames` has it, for examples in errors.
    pub(crate) fn example(&self) -> String {
        let parts = self.head.iter();
        let parts = parts.map(|part| format!("\"{}\": \"{}\"", part.name, part.example));
        format!("{{ {} }}", parts.collect::<Vec<_>>().join(", "))
    }
}

impl PartialEq for Protocol {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for Protocol {}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Protocol({})", self.name)
    }
}

#[cfg(test)]
mod tests;
