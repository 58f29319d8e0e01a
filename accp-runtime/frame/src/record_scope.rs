//! Which fields a record must have, and which defaults apply to it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use accp_registry::protocol::NO_HEAD;
use accp_registry::{ErrorCode, Field, FrameSpec, Schema};

use crate::error::{DecodeError, EncodeError};
use crate::value::{Map, Value};
use crate::writer::Absent;

/// What a record belongs to: a frame with this intent and operation, a nested map, or a variant of a union.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RecordScope<'p> {
    Frame([&'p str; 2]),
    Nested,
    Variant([&'p str; 1]),
}

impl<'p> RecordScope<'p> {
    /// Returns the words under which the schema declares this scope: intent and operation, or the name of a variant, or
    /// nothing for a nested map.
    fn head(&self) -> &[&'p str] {
        match self {
            Self::Frame(head) => head,
            Self::Nested => NO_HEAD,
            Self::Variant(head) => head,
        }
    }

    /// Returns the scope of a nested record that was read. Refuses a record of a union if its tag names no variant,
    /// if a field that the variant requires is null, or if a field belongs to another variant.
    pub(crate) fn read(
        schema: &'p Schema,
        entries: &Map<'_>,
        at: usize,
    ) -> Result<Self, DecodeError> {
        let Some((_, tag)) = schema.tag() else {
            return Ok(Self::Nested);
        };
        let Some(value) = entries.get(&tag.name) else {
            // The tag is a required field, so the caller reports that it is missing.
            return Ok(Self::Nested);
        };
        let wrong = |expected: String, name: &str| {
            DecodeError::new(ErrorCode::INVALID_TYPE, at, expected).within(String::from(name))
        };
        let Some(variant) = named(schema, value) else {
            let names = schema.variants.iter().map(name_of);
            let names = names.collect::<Vec<_>>().join(", ");
            let expected = format!("a variant of {}: {names}", schema.code);
            return Err(wrong(expected, &tag.name));
        };
        for (name, value) in entries.iter() {
            let Some((_, field)) = schema.field(name) else {
                continue;
            };
            if !variant.is_about(&field.name) {
                let expected = format!("a field of the variant `{}`", name_of(variant));
                return Err(wrong(expected, name));
            }
            if matches!(value, Value::Null) && schema.requires(field, &variant.head) {
                let by = format!("schema {}", schema.code);
                return Err(required_null(at, &by).within(String::from(name)));
            }
        }
        Ok(Self::Variant([name_of(variant)]))
    }

    /// Returns the scope of a nested record that is to be written. Refuses a record of a union like
    /// [`read`](Self::read).
    pub(crate) fn written(schema: &'p Schema, map: &Map<'_>) -> Result<Self, EncodeError> {
        let Some((_, tag)) = schema.tag() else {
            return Ok(Self::Nested);
        };
        let Some(value) = tag.keys().find_map(|key| map.get(key)) else {
            // The tag is a required field, so the caller reports that it is missing.
            return Ok(Self::Nested);
        };
        let wrong = |message, name: &str| {
            EncodeError::new(ErrorCode::INVALID_TYPE, message).within(String::from(name))
        };
        let Some(variant) = named(schema, value) else {
            let message = format!("this is not the name of a variant of {}", schema.code);
            return Err(wrong(message, &tag.name));
        };
        for (name, _) in map.iter() {
            let field = schema.field(name).map(|(_, field)| field);
            if field.is_some_and(|field| !variant.is_about(&field.name)) {
                let message = format!("the variant `{}` has no such field", name_of(variant));
                return Err(wrong(message, name));
            }
        }
        Ok(Self::Variant([name_of(variant)]))
    }

    /// Returns whether the record must have the field, with a value other than null.
    pub(crate) fn requires(self, schema: &Schema, field: &Field) -> bool {
        schema.requires(field, self.head())
    }

    /// Returns the full names of the fields that the record must have.
    pub(crate) fn required<'s>(
        self,
        schema: &'s Schema,
    ) -> impl Iterator<Item = &'s str> + use<'s, 'p> {
        schema.required(self.head())
    }

    /// Returns the schema's declaration of the frame or the variant, if there is one.
    pub(crate) fn frame(self, schema: &Schema) -> Option<&FrameSpec> {
        schema.frame(self.head())
    }

    /// Returns what it means if a record lacks the field at this index: the default, a fault, or nothing. `frame` is
    /// the schema's declaration of this scope.
    pub(crate) fn absent<'s>(
        self,
        schema: &'s Schema,
        index: usize,
        frame: Option<&FrameSpec>,
    ) -> Absent<'s> {
        let Some(field) = schema.fields.get(index) else {
            return Absent::Nothing;
        };
        let default = field.default_wire.as_deref();
        match default.filter(|_| schema.fills(field, self.head(), frame)) {
            Some(text) => Absent::Default(text),
            None if frame.map_or(field.required, |frame| frame.requires(field)) => Absent::Fault,
            None => Absent::Nothing,
        }
    }

    /// Returns the wire text of the default of a field; `None` if this scope has no default for the field. A writer
    /// leaves out a field with this text.
    pub(crate) fn default_of(self, schema: &Schema, index: usize) -> Option<&str> {
        let default = schema.fields.get(index)?.default_wire.as_deref();
        default.filter(|_| schema.has_default(index, self.head()))
    }
}

/// Returns the error for a null in a field that `by` requires.
#[cold]
pub(crate) fn required_null(at: usize, by: &str) -> DecodeError {
    let expected = format!("a value, which {by} requires; null is none");
    DecodeError::new(ErrorCode::INVALID_TYPE, at, expected)
}

fn name_of(variant: &FrameSpec) -> &str {
    variant.head.first().map_or("", String::as_str)
}

/// Returns the variant that the value of a tag names.
fn named<'s>(schema: &'s Schema, value: &Value<'_>) -> Option<&'s FrameSpec> {
    match value {
        Value::String(name) => schema.frame(&[&**name]),
        _ => None,
    }
}
