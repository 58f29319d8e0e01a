//! Values read and written as a registry type that is known only at run time.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use accp_registry::{
    ErrorCode, Field, Format, Registry, Schema, Type, abbreviate, expand, lexical,
};

use crate::error::{DecodeError, EncodeError};
use crate::impls::{self, decode_entries, encode_entries, encode_items};
use crate::kind;
use crate::reader::{DecodeOptions, Reader, Token};
use crate::record::{Held, Record};
use crate::record_scope::{RecordScope, required_null};
use crate::scalar::{self, enum_value, is_float};
use crate::typed::DecodeValue;
use crate::value::{Decimal, Map, Number, Value};
use crate::writer::{Absent, EncodeValue, Writer};

/// Reads the value of a field, or of an item that [`read_item`] has already checked, as type `ty`. Every type
/// allows a null and a reference here.
pub(crate) fn read<'a>(
    r: &mut Reader<'a>,
    ty: &Type,
    registry: &Registry,
) -> Result<Value<'a>, DecodeError> {
    if matches!(ty, Type::Any) {
        return Value::read(r);
    }
    let at = r.at();
    match (r.peek(), ty) {
        (Some(b'['), Type::List(item)) => {
            impls::decode_list(r, |r| read_item(r, item, registry)).map(Value::Array)
        }
        (Some(b'{'), Type::Map(item)) => read_map(r, |r, _| read_item(r, item, registry)),
        (Some(b'{'), Type::Schema(code)) => {
            let Some(schema) = registry.schema(code) else {
                let expected = "the code of a schema in the registry";
                return Err(DecodeError::new(ErrorCode::UNKNOWN_SCHEMA, at, expected));
            };
            let fields = read_map(r, |r, key| match schema.field(key) {
                Some((_, field)) => read_field(r, field, schema, RecordScope::Nested, registry),
                None => Value::read(r),
            })?;
            let Value::Map(fields) = fields else {
                return Err(wrong(ty, at));
            };
            let fields = fields
                .into_iter()
                .map(|(key, value)| match schema.field(&key) {
                    Some((_, field)) if *field.name != *key => {
                        (Cow::Owned(field.name.clone()), value)
                    }
                    _ => (key, value),
                });
            let fields = Map::from_entries(fields.collect()).map_err(|key| twice(&key, at))?;
            let scope = RecordScope::read(schema, &fields, at)?;
            let held = Held::of(&fields, schema);
            let record = Record {
                schema,
                scope,
                frame: scope.frame(schema),
                at,
                params: &[],
            };
            let default = |text: &str, ty: &Type| read_default(text, ty, registry);
            record.complete(fields, &held, default).map(Value::Map)
        }
        _ => match r.token()? {
            Token::Null => Ok(Value::Null),
            Token::Ref(key) => Ok(Value::Ref(Cow::Borrowed(key))),
            Token::Scalar(raw) => read_scalar(raw, ty, r, at),
            Token::Array | Token::Map => Err(wrong(ty, at)),
        },
    }
}

/// Returns the default of a field from its wire text.
pub(crate) fn read_default(
    text: &str,
    ty: &Type,
    registry: &Registry,
) -> Result<Value<'static>, DecodeError> {
    let mut r = Reader::new(text, DecodeOptions::OF_A_DEFAULT)?;
    Ok(read(&mut r, ty, registry)?.into_owned())
}

/// Returns the scalar that `r` has just read at the byte `at`, as a value of the type.
pub(crate) fn read_scalar<'a>(
    raw: &'a str,
    ty: &Type,
    r: &Reader<'a>,
    at: usize,
) -> Result<Value<'a>, DecodeError> {
    match ty {
        Type::Any => Ok(Value::from_scalar(raw, r.options().marks)),
        ty => scalar::read(raw, ty, r).ok_or_else(|| wrong(ty, at)),
    }
}

#[cold]
fn wrong(ty: &Type, at: usize) -> DecodeError {
    let expected = match ty {
        Type::Decimal => String::from("a decimal of at most 6 places"),
        Type::Formatted(format) => String::from(format.expected()),
        ty => format!("a value of type {ty}"),
    };
    DecodeError::new(ErrorCode::INVALID_TYPE, at, expected)
}

/// Reads an item of a list or of a map. A field may be null, which means that it is not given. An item may be null
/// only where null is a value of the type.
#[expect(
    clippy::inline_always,
    reason = "a call for each item costs more than the test for a null"
)]
#[inline(always)]
fn read_item<'a>(
    r: &mut Reader<'a>,
    ty: &Type,
    registry: &Registry,
) -> Result<Value<'a>, DecodeError> {
    if r.is_null() && !ty.holds_null() {
        return Err(null_item(r.at(), ty));
    }
    read(r, ty, registry)
}

#[cold]
fn null_item(at: usize, ty: &Type) -> DecodeError {
    let expected = format!("a value of type {ty}; null is none");
    DecodeError::new(ErrorCode::INVALID_TYPE, at, expected)
}

/// Reads the value of a field. Refuses a null in a field that the frame requires.
pub(crate) fn read_field<'a>(
    r: &mut Reader<'a>,
    field: &Field,
    schema: &Schema,
    scope: RecordScope<'_>,
    registry: &Registry,
) -> Result<Value<'a>, DecodeError> {
    if r.is_null() && scope.requires(schema, field) {
        return Err(required_null(r.at(), &format!("schema {}", schema.code)));
    }
    read(r, &field.ty, registry)
}

fn read_map<'a>(
    r: &mut Reader<'a>,
    read: impl FnMut(&mut Reader<'a>, &str) -> Result<Value<'a>, DecodeError>,
) -> Result<Value<'a>, DecodeError> {
    let insert = |map: &mut Map<'a>, key: Cow<'a, str>, value| map.insert(key, value).is_none();
    decode_entries(r, Map::new(), read, insert).map(Value::Map)
}

/// Returns the error for a name that occurs twice in one map, perhaps once as the full and once as the short name
/// (E1001).
#[cold]
pub(crate) fn twice(key: &str, at: usize) -> DecodeError {
    let expected = "every key once, under its full or its short name";
    DecodeError::new(ErrorCode::PARSE_ERROR, at, expected).within(String::from(key))
}

/// A value to be written as a type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dynamic<'v, 'a> {
    pub(crate) value: &'v Value<'a>,
    pub(crate) ty: &'v Type,
    pub(crate) registry: &'v Registry,
}

/// The kind of [`Dynamic`] values and of [`Item`]s. The writer accepts each null of this kind, because these values
/// themselves refuse a null where it is not allowed.
pub(crate) struct ByType(());

impl kind::OfItem for ByType {
    const HOLDS_NULL: bool = true;
}

/// An item of a list or of a map, to be written as its type.
struct Item<'v, 'a>(Dynamic<'v, 'a>);

impl EncodeValue<ByType> for Item<'_, '_> {
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
        match self.0.value {
            Value::Null if !self.0.ty.holds_null() => Err(self.0.mismatch()),
            _ => self.0.encode_value(w),
        }
    }
}

impl EncodeValue<ByType> for Dynamic<'_, '_> {
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
        let Self {
            value,
            ty,
            registry,
        } = *self;
        match (value, ty) {
            (value @ Value::Ref(_), _) | (value, Type::Any) => {
                EncodeValue::<kind::Any>::encode_value(value, w)
            }
            // A field of type `number` writes an integer like an equal float, so that equal numbers have one text.
            (Value::Integer(integer), Type::Number) if is_float(*integer) => {
                EncodeValue::<kind::Number>::encode_value(&(*integer as f64), w)
            }
            (Value::Number(Number::Float(float)), Type::Number) => {
                EncodeValue::<kind::Number>::encode_value(float, w)
            }
            (Value::Null, _)
            | (Value::Boolean(_), Type::Boolean)
            | (Value::Integer(_), Type::Integer | Type::Number)
            | (Value::Decimal(_), Type::Decimal | Type::Number)
            | (Value::Number(_), Type::Number) => {
                value.write(w.out());
                Ok(())
            }
            (Value::Integer(value), Type::Decimal) => {
                EncodeValue::<kind::Decimal>::encode_value(&Decimal::from(*value), w)
            }
            // A decimal has one zero. JSON may write it with a sign, as a frame may.
            (Value::Number(Number::Float(float)), Type::Decimal) if *float == 0.0 => {
                EncodeValue::<kind::Decimal>::encode_value(&Decimal::default(), w)
            }
            (Value::String(text), Type::String) => {
                EncodeValue::<kind::String>::encode_value(text, w)
            }
            (Value::String(text), Type::Text) => EncodeValue::<kind::Text>::encode_value(text, w),
            (Value::String(text), Type::Agent) => EncodeValue::<kind::Agent>::encode_value(text, w),
            (Value::String(text), Type::Formatted(format)) => {
                impls::write_formatted(*format, text, w)
            }
            (Value::String(text), Type::Enum(values)) => match enum_value(values, text) {
                Some(value) => {
                    lexical::write_string(w.out(), value.wire());
                    Ok(())
                }
                None => Err(self.mismatch()),
            },
            (Value::String(text), Type::Decimal) => match lexical::parse_decimal(text) {
                Ok(value) => EncodeValue::<kind::Decimal>::encode_value(&value, w),
                Err(_) => Err(self.mismatch()),
            },
            (Value::Array(items), Type::List(ty)) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|value| {
                        Item(Dynamic {
                            value,
                            ty,
                            registry,
                        })
                    })
                    .collect();
                w.array::<ByType, _>(&items)
            }
            (Value::Map(map), Type::Map(ty)) => {
                let of = |value| {
                    Item(Dynamic {
                        value,
                        ty,
                        registry,
                    })
                };
                let entries: Vec<_> = map.iter().map(|(key, value)| (key, of(value))).collect();
                encode_items(w, entries.iter().map(|(key, value)| (*key, value)))
            }
            (Value::Map(map), Type::Schema(code)) => {
                let Some(schema) = registry.schema(code) else {
                    let message = format!("the registry has no schema {code}");
                    return Err(EncodeError::new(ErrorCode::UNKNOWN_SCHEMA, message));
                };
                let scope = RecordScope::written(schema, map)?;
                let (mut entries, mut others) = fields(map, Some(schema), scope, registry)?;
                entries.append(&mut others);
                entries.sort_by_key(|entry| entry.key);
                encode_entries(w, entries.iter().map(|e| (e.key, &e.value, e.absent)))
            }
            _ => Err(self.mismatch()),
        }
    }
}

impl Dynamic<'_, '_> {
    #[cold]
    fn mismatch(&self) -> EncodeError {
        let message = match (self.value, self.ty) {
            (Value::Number(Number::Float(_)), Type::Decimal) => String::from(
                "a decimal has at most 6 places and is never rounded; the type `number` holds any \
                 float",
            ),
            (value, ty) => format!("the registry declares {ty}, this is {}", value.kind()),
        };
        EncodeError::new(ErrorCode::INVALID_TYPE, message)
    }
}

/// A field or an extra entry, ready to be written.
#[derive(Debug)]
pub(crate) struct Entry<'v, 'a> {
    /// The full name.
    pub(crate) name: &'v str,
    /// The key on the wire.
    pub(crate) key: &'v str,
    pub(crate) value: Dynamic<'v, 'a>,
    pub(crate) absent: Absent<'v>,
    pub(crate) inline: bool,
}

/// The entries of a map on the wire: the schema's fields in their order, and the other keys ascending.
type Entries<'v, 'a> = (Vec<Entry<'v, 'a>>, Vec<Entry<'v, 'a>>);

/// Returns the entries on the wire for a map. The map may have a field under its full name, its short name or an alias.
pub(crate) fn fields<'v, 'a>(
    map: &'v Map<'a>,
    schema: Option<&'v Schema>,
    scope: RecordScope<'_>,
    registry: &'v Registry,
) -> Result<Entries<'v, 'a>, EncodeError> {
    let fields = schema.map_or(&[][..], |schema| &schema.fields);
    let mut slots: Vec<Option<&'v Value<'a>>> = alloc::vec![None; fields.len()];
    let mut others = Vec::new();
    for (key, value) in map.iter() {
        match schema.and_then(|schema| schema.field(key)) {
            Some((index, field)) => {
                if slots[index].replace(value).is_some() {
                    return Err(both_names(field));
                }
            }
            None => others.push(Entry {
                name: key,
                key,
                value: Dynamic {
                    value,
                    ty: &Type::Any,
                    registry,
                },
                absent: Absent::Nothing,
                inline: false,
            }),
        }
    }
    let Some(schema) = schema else {
        return Ok((Vec::new(), others));
    };
    let frame = scope.frame(schema);
    let mut entries = Vec::with_capacity(map.len() - others.len());
    for (index, (field, slot)) in fields.iter().zip(slots).enumerate() {
        let absent = scope.absent(schema, index, frame);
        if let Some(value) = slot {
            entries.push(Entry {
                name: &field.name,
                key: &field.short,
                value: Dynamic {
                    value,
                    ty: &field.ty,
                    registry,
                },
                absent,
                inline: field.inline,
            });
        } else if absent == Absent::Fault {
            let message = format!("missing; schema {} requires it", schema.code);
            let error = EncodeError::new(ErrorCode::INVALID_TYPE, message);
            return Err(error.within(field.name.clone()));
        }
    }
    Ok((entries, others))
}

#[cold]
fn both_names(field: &Field) -> EncodeError {
    let message = if field.aliases.is_empty() {
        format!(
            "`{}` stands under its full and under its short name `{}`",
            field.name, field.short
        )
    } else {
        let keys: Vec<_> = field.keys().collect();
        format!("a map has one of the keys {}", keys.join(", "))
    };
    EncodeError::new(ErrorCode::PARSE_ERROR, message)
}

/// Returns the key of a param that is not in the schema: its standard abbreviation (draft section 4.2), unless a field
/// of the schema has this abbreviation as a key.
pub(crate) fn short_name<'k>(key: &'k str, schema: Option<&Schema>) -> &'k str {
    let is_free = |short: &&'static str| schema.is_none_or(|schema| schema.field(short).is_none());
    abbreviate(key).filter(is_free).unwrap_or(key)
}

/// Returns the full name of a field under the key that a frame has for it.
pub(crate) fn full_name_of<'k>(key: &'k str, field: &Field) -> Cow<'k, str> {
    if *field.name == *key {
        return Cow::Borrowed(key);
    }
    let standard = expand(key).filter(|full| *full == field.name);
    standard.map_or_else(|| Cow::Owned(field.name.clone()), Cow::Borrowed)
}

/// Returns the full name of a param that is not in the schema.
pub fn full_name<'k>(key: &'k str, schema: Option<&Schema>) -> &'k str {
    let is_free = |full: &&'static str| schema.is_none_or(|schema| schema.field(full).is_none());
    expand(key).filter(is_free).unwrap_or(key)
}

/// A kind whose registry type follows from the kind alone.
pub trait TypeOf {
    /// Returns the registry type.
    fn ty() -> Type;
}

macro_rules! types {
    ($($kind:ident is $ty:expr;)*) => {$(
        impl TypeOf for kind::$kind {
            fn ty() -> Type {
                $ty
            }
        }
    )*};
}

types! {
    String is Type::String;
    Text is Type::Text;
    Integer is Type::Integer;
    Decimal is Type::Decimal;
    Number is Type::Number;
    Boolean is Type::Boolean;
    Agent is Type::Agent;
    Date is Type::Formatted(Format::Date);
    Time is Type::Formatted(Format::Time);
    Timestamp is Type::Formatted(Format::Timestamp);
    Duration is Type::Formatted(Format::Duration);
    Uuid is Type::Formatted(Format::Uuid);
    Url is Type::Formatted(Format::Url);
    Bytes is Type::Formatted(Format::Bytes);
}

impl<K: TypeOf> TypeOf for kind::List<K> {
    fn ty() -> Type {
        Type::List(Box::new(K::ty()))
    }
}

impl<K: TypeOf> TypeOf for kind::Map<K> {
    fn ty() -> Type {
        Type::Map(Box::new(K::ty()))
    }
}

impl<K: TypeOf> EncodeValue<K> for Value<'_> {
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
        let (ty, registry) = (&K::ty(), &Registry::empty());
        let value = self;
        Dynamic {
            value,
            ty,
            registry,
        }
        .encode_value(w)
    }
}

impl<'a, K: TypeOf> DecodeValue<'a, K> for Value<'a> {
    fn decode_value(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        read(r, &K::ty(), &Registry::empty())
    }
}
