//! What is to be written: the item after every check, with all that the registry says.

use accp_registry::Type;
use syn::Type as RustType;

use crate::ast::{Field, Variant};

pub(crate) enum Plan<'a> {
    /// A struct that is a frame.
    Frame(Frame<'a>),
    /// A struct that is a value: a map.
    Nested(Fields<'a>),
    /// An enum without data: an enumeration.
    Enumeration(Vec<Choice<'a>>),
    /// An enum of which each variant is a frame.
    Frames(Vec<Arm<'a>>),
}

pub(crate) struct Frame<'a> {
    /// The words of the head, in the order of the protocol.
    pub(crate) head: Vec<String>,
    /// Envelope fields that the registry requires.
    pub(crate) envelope: Vec<String>,
    pub(crate) fields: Fields<'a>,
}

/// The fields of a struct or of a variant.
pub(crate) struct Fields<'a> {
    /// The code of the schema that they follow.
    pub(crate) schema: Option<String>,
    /// In the order of the declaration.
    pub(crate) members: Vec<Member<'a>>,
    /// The indices of the members that travel, in the order of the wire.
    pub(crate) order: Vec<usize>,
    /// Every full and short name that is no unknown key.
    pub(crate) known: Vec<String>,
    /// Unknown keys are refused.
    pub(crate) is_closed: bool,
}

pub(crate) struct Member<'a> {
    pub(crate) field: &'a Field<'a>,
    pub(crate) role: Role,
}

pub(crate) enum Role {
    Wire(Wire),
    /// Takes the params that no field is for.
    Flatten,
    /// Never written.
    Skip,
}

/// A field as the registry has it.
pub(crate) struct Wire {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) ty: Type,
    /// The wire text that is left out.
    pub(crate) default: Option<String>,
    /// The registry demands it in this frame.
    pub(crate) is_required: bool,
    pub(crate) inline: bool,
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
    /// The variant holds a type that is a frame.
    Newtype(&'a RustType),
    Fields(Frame<'a>),
}
