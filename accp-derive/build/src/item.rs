//! A type that a generated file defines, with its fields or values.

use accp_registry::{EnumValue, Field, FrameSpec, Schema};
use proc_macro2::Ident;

/// A type of the file.
pub(crate) struct Item<'r> {
    pub(crate) ident: Ident,
    pub(crate) schema: &'r Schema,
    pub(crate) kind: Kind<'r>,
}

pub(crate) enum Kind<'r> {
    /// The struct of a frame.
    Frame(&'r FrameSpec, Vec<Member<'r>>),
    /// The enum over the structs of all frames of a schema.
    Frames,
    /// The struct for values of a schema.
    Nested(Vec<Member<'r>>),
    /// The enum for values of a union.
    Union(Vec<Record<'r>>),
    /// The enum for the values of a field of type `enum(..)`.
    Enum(&'r Field, Vec<Variant<'r>>),
}

/// A variant of a union, without its tag.
pub(crate) struct Record<'r> {
    pub(crate) ident: Ident,
    pub(crate) variant: &'r FrameSpec,
    pub(crate) members: Vec<Member<'r>>,
}

impl Record<'_> {
    /// Returns the name of the variant in the registry.
    pub(crate) fn name(&self) -> &str {
        self.variant.head.first().map_or("", String::as_str)
    }
}

impl<'r> Item<'r> {
    /// Returns the fields of the item. For a union, these are the fields of all variants.
    pub(crate) fn members(&self) -> Vec<&Member<'r>> {
        match &self.kind {
            Kind::Frame(_, members) | Kind::Nested(members) => members.iter().collect(),
            Kind::Union(records) => records.iter().flat_map(|record| &record.members).collect(),
            Kind::Frames | Kind::Enum(..) => Vec::new(),
        }
    }

    /// Returns whether the item is the type for values of its schema.
    pub(crate) fn is_value(&self) -> bool {
        matches!(self.kind, Kind::Nested(_) | Kind::Union(_))
    }
}

/// A field of a struct.
pub(crate) struct Member<'r> {
    pub(crate) ident: Ident,
    pub(crate) field: &'r Field,
    pub(crate) presence: Presence,
}

/// What happens if a frame does not have the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The frame is refused.
    Required,
    /// The field has its default.
    Default,
    /// The field is `None`.
    Optional,
}

/// A value of an enum.
pub(crate) struct Variant<'r> {
    pub(crate) ident: Ident,
    pub(crate) value: &'r EnumValue,
}
