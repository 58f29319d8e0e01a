//! How a change breaks a reader.

use core::fmt;

use crate::model::{Field, Schema};
use crate::types::{EnumValue, Type};

/// How a change breaks a peer while both registries are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breaking {
    /// The reader that is broken.
    pub reader: Broken,
    /// What happens to the reader.
    pub rule: &'static str,
}

/// The reader that a change breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A reader with the old registry, when it reads frames that are written with the new registry.
    Old,
    /// A reader with the new registry, when it reads frames that are written with the old registry.
    New,
    /// Each of the two readers, when it reads frames of the other side.
    Both,
}

impl Broken {
    /// Returns the reader as a word: `old`, `new` or `both`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
            Self::Both => "both",
        }
    }

    /// Returns whether the change breaks `reader`. With `Both` as `reader`: whether the change breaks any reader.
    pub fn includes(self, reader: Self) -> bool {
        self == reader || self == Self::Both || reader == Self::Both
    }
}

impl fmt::Display for Breaking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match self.reader {
            Broken::Old => "the old reader",
            Broken::New => "the new reader",
            Broken::Both => "either reader",
        };
        write!(f, "breaks {who}: {}", self.rule)
    }
}

pub(super) const UNKNOWN_CODE: &str =
    "it refuses frames with the code that it does not know (E1003)";
pub(super) const UNKNOWN_KEY: &str = "it does not know the key, so it drops the value";
pub(super) const UNKNOWN_REQUIRED: &str =
    "it does not know the key, so it refuses a frame that needs the field (E1004)";
pub(super) const OTHER_FIELD: &str = "it reads the value of one field as that of another";
pub(super) const LOST: &str = "it no longer gets the value";
pub(super) const TWO_KEYS: &str =
    "it reads the value of one field as that of another, and refuses a frame with both (E1001)";
pub(super) const REFUSED_FIELD: &str = "it refuses a frame without the field (E1004)";
pub(super) const REFUSED_ENVELOPE: &str =
    "it refuses a frame without the envelope field (E1001, E1004)";
pub(super) const REFUSED_TYPE: &str =
    "it refuses a value of the other type, or reads another value (E1004)";
pub(super) const REFUSED_VALUE: &str = "it refuses the values that it does not know (E1004)";
pub(super) const REFUSED_RECORD: &str = "it refuses the records that it does not know (E1004)";
pub(super) const REFUSED_FOREIGN: &str = "it refuses the field, which another variant has (E1004)";
pub(super) const UNDECLARED: &str = "the other side still sends a frame that is no longer declared";
pub(super) const OTHER_VALUE: &str = "a field left out means another value";

#[expect(clippy::unnecessary_wraps, reason = "a change takes an option")]
pub(super) const fn breaks(reader: Broken, rule: &'static str) -> Option<Breaking> {
    Some(Breaking { reader, rule })
}

/// Returns which reader is broken; `None` if neither. The flags say whether each reader can read what the other side
/// writes.
const fn broken(old_reads: bool, new_reads: bool) -> Option<Broken> {
    match (old_reads, new_reads) {
        (true, true) => None,
        (false, true) => Some(Broken::Old),
        (true, false) => Some(Broken::New),
        (false, false) => Some(Broken::Both),
    }
}

/// Returns whether the schema, or one of its frames or variants, requires a field.
pub(super) fn requires(schema: &Schema, field: &Field) -> bool {
    let mut frames = schema.frames.iter().chain(&schema.variants);
    field.required || frames.any(|frame| frame.required.contains(&field.name))
}

/// Returns how a change of type breaks a reader.
pub(super) fn by_types(old: &Type, new: &Type) -> Option<Breaking> {
    match (old, new) {
        (Type::Enum(old), Type::Enum(new)) => {
            let reader = broken(knows_all(old, new), knows_all(new, old))?;
            breaks(reader, REFUSED_VALUE)
        }
        (Type::Integer, Type::Decimal | Type::Number) | (Type::Decimal, Type::Number) => {
            breaks(Broken::Old, REFUSED_TYPE)
        }
        _ => breaks(Broken::Both, REFUSED_TYPE),
    }
}

/// Returns whether a reader that knows the values `reader` reads every value that a writer with the values `writer`
/// writes.
fn knows_all(reader: &[EnumValue], writer: &[EnumValue]) -> bool {
    writer.iter().all(|written| {
        let known = reader.iter().find(|value| {
            value.name == written.wire() || value.symbol.as_deref() == Some(written.wire())
        });
        known.is_some_and(|known| known.name == written.name)
    })
}
