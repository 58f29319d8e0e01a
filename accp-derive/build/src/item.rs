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
    /// The struct of a schema as a value.
    Nested(Vec<Member<'r>>),
    /// The enum of a field of type `enum(..)`.
    Enum(&'r Field, Vec<Variant<'r>>),
}

/// A field of a struct.
pub(crate) struct Member<'r> {
    pub(crate) ident: Ident,
    pub(crate) field: &'r Field,
    pub(crate) presence: Presence,
}

/// The outcome for a frame without the field.
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
