//! The item after every check, with all facts from the registry.

use accp_registry::Type;
use syn::Type as RustType;

use crate::ast::{Field, Variant};

pub(crate) enum ResolvedItem<'a> {
    /// A struct that is a frame.
    Frame(Frame<'a>),
    /// A struct that is written as a map: the value of a field.
    Nested(Fields<'a>),
    /// A transparent struct, which is written and read as its only field.
    Newtype(&'a syn::Member, &'a RustType),
    /// An enum without data: an enumeration. The optional variant holds a text that is not among
    /// the values.
    Enumeration(Vec<Choice<'a>>, Option<&'a Variant<'a>>),
    /// An enum whose variants are frames.
    Frames(Vec<Arm<'a>>),
    /// An enum whose variants are the records of a union.
    Union(Union<'a>),
}

/// An enum for a union.
pub(crate) struct Union<'a> {
    /// The code of the schema.
    pub(crate) code: String,
    pub(crate) tag: accp_registry::Field,
    pub(crate) records: Vec<Record<'a>>,
    /// The variant that takes records that belong to no other variant.
    pub(crate) other: Option<&'a Variant<'a>>,
}

/// A variant of an enum for a union.
pub(crate) struct Record<'a> {
    pub(crate) variant: &'a Variant<'a>,
    /// The name of the variant in the registry.
    pub(crate) name: String,
    pub(crate) fields: Fields<'a>,
    /// The fields of the union that only other variants have.
    pub(crate) foreign: Vec<accp_registry::Field>,
}

pub(crate) struct Frame<'a> {
    /// The words of the head, in the order of the protocol.
    pub(crate) head: Vec<String>,
    /// The envelope fields that the registry requires.
    pub(crate) envelope: Vec<String>,
    pub(crate) fields: Fields<'a>,
}

/// The fields of a struct or of a variant.
pub(crate) struct Fields<'a> {
    /// The code of the schema of these fields.
    pub(crate) schema: Option<String>,
    /// The members in the order of the declaration.
    pub(crate) members: Vec<Member<'a>>,
    /// The indices of the members that travel, in the order of the wire.
    pub(crate) order: Vec<usize>,
    /// The fields of the schema that no member holds, each with its place in `order`.
    pub(crate) unheld: Vec<UnheldField>,
    /// The fields that every message has, but no member holds. A writer fills in their text.
    pub(crate) filled: Vec<Filled>,
    /// Whether values are text, and only the Rust types give them a meaning.
    pub(crate) is_text: bool,
    /// Every full and short name of a known key.
    pub(crate) known: Vec<String>,
    /// Whether unknown keys are refused.
    pub(crate) is_closed: bool,
}

/// A field that every message has, but no member holds.
pub(crate) struct Filled {
    /// The number of members that are written before the field.
    pub(crate) before: usize,
    pub(crate) key: &'static str,
    pub(crate) text: &'static str,
}

/// A field of the schema that no member holds.
pub(crate) struct UnheldField {
    /// The number of members that are written before the field.
    pub(crate) before: usize,
    pub(crate) wire: Wire,
    /// Whether the item says that the field may be lost.
    pub(crate) is_ignored: bool,
}

pub(crate) struct Member<'a> {
    pub(crate) field: &'a Field<'a>,
    pub(crate) role: Role,
}

pub(crate) enum Role {
    Wire(Wire),
    /// The member takes all params that have no field.
    Flatten,
    /// The member is never written and never read.
    Skip,
}

/// A field as the registry declares it.
pub(crate) struct Wire {
    pub(crate) name: String,
    pub(crate) key: String,
    /// Further keys under which a reader accepts the field.
    pub(crate) aliases: Vec<String>,
    pub(crate) ty: Type,
    /// The wire text of the default. A value with this text is left out.
    pub(crate) default: Option<String>,
    /// Whether the registry requires the field in this frame.
    pub(crate) is_required: bool,
    pub(crate) inline: bool,
}

impl Wire {
    /// Returns every key under which a reader accepts the field.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        let short = (self.key != self.name).then_some(&self.key);
        [&self.name].into_iter().chain(short).chain(&self.aliases)
    }
}

pub(crate) struct Choice<'a> {
    pub(crate) variant: &'a Variant<'a>,
    pub(crate) name: String,
    pub(crate) symbol: Option<String>,
}

pub(crate) struct Arm<'a> {
    pub(crate) variant: &'a Variant<'a>,
    pub(crate) content: ArmContent<'a>,
}

pub(crate) enum ArmContent<'a> {
    /// A variant that holds one type, which is a frame.
    Newtype(&'a RustType),
    Fields(Frame<'a>),
}
