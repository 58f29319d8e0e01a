//! The types of the values in a map or a record, and the fields that a record must or may have.

use accp_registry::{ErrorCode, Registry, Schema, Type};

use super::cursor::Cursor;
use accp_frame::{Map, Value};

/// The type of a place without a declared type. The form of a value there says what type the value has.
pub(super) static ANY: Type = Type::Any;
/// The values of a map without a declared type.
pub(super) const UNTYPED: Members<'static> = Members::Same(&ANY);

/// The types of the values in a map. They follow from the declared type of the map's place, not from a schema code
/// before the record. In a place without a declared type, the form of each value says what type it has, as in a
/// frame.
#[derive(Clone, Copy)]
pub(super) enum Members<'r> {
    /// All values have this type.
    Same(&'r Type),
    /// The values are fields of this schema.
    Of(&'r Schema),
}

impl<'r> Members<'r> {
    /// Returns the types of the values in a map of this type; `None` if a value of the type is not a
    /// map.
    pub(super) fn of(registry: &'r Registry, ty: &'r Type) -> Option<Self> {
        match ty {
            Type::Any => Some(UNTYPED),
            Type::Map(item) => Some(Self::Same(item)),
            Type::Schema(code) => Some(registry.schema(code).map_or(UNTYPED, Self::Of)),
            _ => None,
        }
    }

    /// Returns the type of the value under this key.
    pub(super) fn ty(self, key: &str) -> &'r Type {
        match self {
            Self::Same(ty) => ty,
            Self::Of(schema) => schema.field(key).map_or(&ANY, |(_, field)| &field.ty),
        }
    }

    /// Returns the key under which the map already has the field that `key` names; `None` if the map lacks the field.
    /// A field may have several names.
    pub(super) fn taken<'k>(self, key: &'k str, map: &Map<'_>) -> Option<&'k str>
    where
        'r: 'k,
    {
        let field = match self {
            Self::Of(schema) => schema.field(key),
            Self::Same(_) => None,
        };
        match field {
            Some((_, field)) => field.keys().find(|name| map.get(name).is_some()),
            None => map.get(key).map(|_| key),
        }
    }
}

impl Cursor<'_, '_> {
    /// Notes the required fields that a record lacks. A null does not count as a value.
    pub(super) fn required<S: AsRef<str>>(&mut self, schema: &Schema, head: &[S], map: &Map<'_>) {
        self.required_at(self.at, schema, head, map);
    }

    /// Notes the required fields that a nested record lacks, and the fields of the record that belong only to another
    /// variant of its union.
    pub(super) fn record_at(&mut self, at: usize, schema: &Schema, map: &Map<'_>) {
        let tag = schema.tag().map(|(_, tag)| tag);
        let key = tag.and_then(|tag| Members::Of(schema).taken(&tag.name, map));
        let value = key.and_then(|key| map.get(key));
        let head: Vec<&str> = value.and_then(Value::as_str).into_iter().collect();
        match (tag.and_then(|_| schema.frame(&head)), value) {
            (Some(variant), _) => {
                let fields = map.iter().filter_map(|(key, _)| schema.field(key));
                for (_, field) in fields.filter(|(_, field)| !variant.is_about(&field.name)) {
                    let head = head.concat();
                    let what = format!("a field of the variant {head}, and not {}", field.name);
                    self.fault(ErrorCode::INVALID_TYPE, at, what);
                }
            }
            (None, Some(Value::Ref(_))) => {
                let what = format!("the name of a variant of {}", schema.code);
                self.fault(ErrorCode::INVALID_TYPE, at, what);
            }
            _ => {}
        }
        self.required_at(at, schema, &head, map);
    }

    pub(super) fn required_at<S: AsRef<str>>(
        &mut self,
        at: usize,
        schema: &Schema,
        head: &[S],
        map: &Map<'_>,
    ) {
        for name in schema.required(head) {
            let present = Members::Of(schema).taken(name, map);
            let value = present.and_then(|name| map.get(name));
            if value.is_none_or(|value| *value == Value::Null) {
                let what = format!("the field {name}, which schema {} requires", schema.code);
                self.fault(ErrorCode::INVALID_TYPE, at, what);
            }
        }
    }
}
