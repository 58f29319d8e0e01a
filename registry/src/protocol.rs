//! What the generator has to know of a protocol, as one value.
//!
//! Grammar, registry, derive and build read a [`Protocol`] where they would otherwise know
//! one by heart. [`ACCP`](crate::ACCP) is the one that is described. A second protocol is a
//! second value, and a runtime that reads and writes its messages.
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

/// A protocol: the head of its messages, the keys and the text of its fields, and the names
/// of the Rust code that is generated for it.
///
/// A protocol is a `static`: two are equal only if they are the same one.
pub struct Protocol {
    /// The name in lower case: `accp`.
    pub name: &'static str,
    /// What a message of it is called in errors: `frame`.
    pub noun: &'static str,
    /// The parts that tell what kind of message it is, in the order of the text.
    pub head: &'static [HeadPart],
    /// The key that carries the code of the schema. No field can have it. `None`: a message
    /// does not say its schema, and a registry has one schema for all of them.
    pub schema_key: Option<&'static str>,
    /// Which names a key, a schema and a code can have.
    pub key: NameRule,
    /// The key under which a map has the entries whose keys do not fit [`Protocol::key`].
    pub pairs_key: Option<&'static str>,
    /// What a reader does with a key that neither the schema nor the struct knows.
    pub unknown_keys: UnknownKeys,
    /// A value may hold maps and other records.
    pub nests: bool,
    /// What travels for a name where the schema does not say.
    pub abbreviations: &'static [Abbreviation],
    /// The fields of the metadata; empty where a message has none.
    pub envelope: &'static [EnvelopeField],
    /// The marks of the text.
    pub layout: Layout,
    /// What a message may cost to read, unless a reader says otherwise.
    pub limits: Limits,
    /// The registry that is built in: the names of its files, and their text.
    pub profiles: &'static [(&'static str, &'static str)],
    /// The names in generated code.
    pub rust: RustNames,
}

/// A part of the head of a message, such as the intent.
#[derive(Debug, Clone, Copy)]
pub struct HeadPart {
    /// Its name: as a key of a `frames` entry, as an attribute of the derive, as a field of the
    /// runtime's `FrameType`, and as a rule of the grammar.
    pub name: &'static str,
    /// The name for several of them.
    pub plural: &'static str,
    /// A word that it can be, for examples in errors.
    pub example: &'static str,
    /// The words that it can be.
    pub vocabulary: Vocabulary,
}

/// The words that a part of the head can be.
#[derive(Debug, Clone, Copy)]
pub enum Vocabulary {
    /// These words and no others.
    Closed {
        /// The words, in the order in which errors list them.
        words: &'static [&'static str],
        /// The type of the runtime that has a constant for each word, named after the word in
        /// capitals.
        constants: &'static str,
    },
    /// Any word that the rule allows.
    Open(NameRule),
}

/// Which texts are a name.
#[derive(Debug, Clone, Copy)]
pub struct NameRule {
    /// Whether a text is one.
    pub fits: fn(&str) -> bool,
    /// Its characters in words: `letters, digits and '_'`.
    pub words: &'static str,
    /// Its characters as a list: ``A-Z, a-z, 0-9 and `_` ``.
    pub list: &'static str,
}

/// What a reader does with a key that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKeys {
    /// It reads over the field, unless the struct denies unknown keys or takes them.
    ReadOver,
    /// It refuses the message, unless the struct takes them.
    Refused,
}

/// The marks between the parts of a message.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// What stands before and behind the sender; `None` where a message does not name one.
    pub sender: Option<[&'static str; 2]>,
    /// What stands between two parts of the head.
    pub head: &'static str,
    /// The marks of the fields.
    pub fields: List,
    /// What stands between a key and its value.
    pub assign: &'static str,
    /// The marks of the metadata; `None` where a message has none.
    pub metadata: Option<List>,
    /// How a mark is written inside a value; `None` where no value can hold one.
    pub escape: Option<Escape>,
}

/// The marks of a list.
#[derive(Debug, Clone, Copy)]
pub struct List {
    /// Before the first entry.
    pub open: &'static str,
    /// Between two entries.
    pub separator: &'static str,
    /// Behind the last entry; empty where the list ends with the message.
    pub close: &'static str,
}

/// How a mark is written inside a value.
#[derive(Debug, Clone, Copy)]
pub struct Escape {
    /// What stands before the mark.
    pub by: char,
    /// The characters that need it.
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
    /// The word of that attribute for a field that takes unknown keys: `flatten`.
    pub rest: &'static str,
    /// The environment variable that names a registry for the derive.
    pub variable: &'static str,
    /// The indices in [`Protocol::head`] of the parts that name a type, in the order of its
    /// words: `ScheduleReq`.
    pub type_name: &'static [usize],
    /// The documentation of the constant for the version of a registry.
    pub version_doc: &'static str,
    /// The documentation of the constant for the hash of a registry.
    pub hash_doc: &'static str,
}

/// The head of a record inside a value: it has none.
pub const NO_HEAD: &[&str] = &[];

impl Protocol {
    /// A head as it stands in the text: `req:plan`.
    pub fn title<S: AsRef<str>>(&self, head: &[S]) -> String {
        let words: Vec<&str> = head.iter().map(AsRef::as_ref).collect();
        words.join(self.layout.head)
    }

    /// The index in [`Protocol::head`] of the part with this name.
    pub fn part(&self, name: &str) -> Option<usize> {
        self.head.iter().position(|part| part.name == name)
    }

    /// What travels for a full name where the schema does not say.
    pub fn abbreviate(&self, full: &str) -> Option<&'static str> {
        let entry = self.abbreviations.iter().find(|entry| entry.full == full)?;
        Some(entry.short)
    }

    /// The standard abbreviation with this short form.
    pub fn abbreviation(&self, short: &str) -> Option<&'static Abbreviation> {
        self.abbreviations.iter().find(|entry| entry.short == short)
    }

    /// The field of the envelope with this full or short name.
    pub fn envelope_field(&self, name: &str) -> Option<&'static EnvelopeField> {
        let mut fields = self.envelope.iter();
        fields.find(|field| field.full == name || field.short == name)
    }

    /// A head as an entry of `frames` has it, for examples in errors.
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
