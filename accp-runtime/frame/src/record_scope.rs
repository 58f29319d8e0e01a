//! What a record has to carry, and which defaults it takes.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

use accp_registry::protocol::NO_HEAD;
use accp_registry::{ErrorCode, Field, FrameSpec, Schema};

use crate::dynamic::required_null;
use crate::error::{DecodeError, EncodeError};
use crate::value::{Map, Value};
use crate::writer::Absent;

/// A frame with this intent and operation, a nested map, or a variant of a union.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RecordScope<'p> {
    Frame([&'p str; 2]),
    Nested,
    Variant(&'p FrameSpec),
}

impl<'p> RecordScope<'p> {
    pub(crate) const NESTED: RecordScope<'static> = RecordScope::Nested;

    pub(crate) const fn frame(intent: &'p str, operation: &'p str) -> Self {
        Self::Frame([intent, operation])
    }

    /// Returns the scope of a nested record that was read. A record of a union has the name of its variant, all that the
    /// variant requires, and no field of another variant.
    pub(crate) fn read(
        schema: &'p Schema,
        entries: &[(Cow<'_, str>, Value<'_>)],
        at: usize,
    ) -> Result<Self, DecodeError> {
        let Some((_, tag)) = schema.tag() else {
            return Ok(Self::Nested);
        };
        let Some((_, value)) = entries.iter().find(|(name, _)| *name == tag.name) else {
            // The tag is required, and reported as missing.
            return Ok(Self::Nested);
        };
        let wrong = |expected: String, name: &str| {
            DecodeError::new(ErrorCode::INVALID_TYPE, at, expected).within(String::from(name))
        };
        let Some(variant) = named(schema, value) else {
            let expected = format!("the name of a variant of {}", schema.code);
            return Err(wrong(expected, &tag.name));
        };
        for (name, value) in entries {
            let Some((_, field)) = schema.field(name) else {
                continue;
            };
            if !variant.is_about(&field.name) {
                let expected = format!("a field of the variant `{}`", variant.head.concat());
                return Err(wrong(expected, name));
            }
            if matches!(value, Value::Null) && schema.requires(field, &variant.head) {
                let by = format!("the variant `{}` of {}", variant.head.concat(), schema.code);
                return Err(required_null(at, &by).within(name.clone().into_owned()));
            }
        }
        Ok(Self::Variant(variant))
    }

    /// Returns the scope of a nested record that is to be written.
    pub(crate) fn written(schema: &'p Schema, map: &Map<'_>) -> Result<Self, EncodeError> {
        let Some((_, tag)) = schema.tag() else {
            return Ok(Self::Nested);
        };
        let Some(value) = map.get(&tag.name).or_else(|| map.get(&tag.short)) else {
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
                let message = format!("the variant `{}` has no such field", variant.head.concat());
                return Err(wrong(message, name));
            }
        }
        Ok(Self::Variant(variant))
    }

    /// Returns whether the field has to be there, with a value.
    pub(crate) fn requires(self, schema: &Schema, field: &Field) -> bool {
        match self {
            Self::Frame(head) => schema.requires(field, &head),
            Self::Nested => schema.requires(field, NO_HEAD),
            Self::Variant(variant) => schema.requires(field, &variant.head),
        }
    }

    /// Returns the first required field that is missing.
    pub(crate) fn missing<'s>(
        self,
        schema: &'s Schema,
        mut is_missing: impl FnMut(&&'s str) -> bool,
    ) -> Option<&'s str> {
        match self {
            Self::Frame(head) => schema.required(&head).find(&mut is_missing),
            Self::Nested => schema.required(NO_HEAD).find(&mut is_missing),
            Self::Variant(variant) => schema.required(&variant.head).find(&mut is_missing),
        }
    }

    /// Returns what a reader takes from a payload without the field at this index.
    pub(crate) fn absent(self, schema: &Schema, index: usize) -> Absent<'_> {
        let is_required = |field| self.requires(schema, field);
        match self.default_of(schema, index) {
            Some(text) => Absent::Default(text),
            None if schema.fields.get(index).is_some_and(is_required) => Absent::Fault,
            None => Absent::Nothing,
        }
    }

    /// Returns the text of the default; a field with this text is left out.
    pub(crate) fn default_of(self, schema: &Schema, index: usize) -> Option<&str> {
        let applies = match self {
            Self::Frame(head) => schema.has_default(index, &head),
            Self::Nested => schema.has_default(index, NO_HEAD),
            Self::Variant(variant) => schema.has_default(index, &variant.head),
        };
        schema
            .fields
            .get(index)?
            .default_wire
            .as_deref()
            .filter(|_| applies)
    }
}

/// Returns the variant that the value of a tag names.
fn named<'s>(schema: &'s Schema, value: &Value<'_>) -> Option<&'s FrameSpec> {
    match value {
        Value::String(name) => schema.frame(&[&**name]),
        _ => None,
    }
}
