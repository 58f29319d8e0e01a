//! Reads scalars as a registry type that is known only at run time.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use accp_registry::lexical::{self, Literal};
use accp_registry::{EnumValue, Type, nearest};

use crate::reader::Reader;
use crate::value::Value;

/// Returns the scalar that `r` has just read, as a value of the type.
pub(crate) fn read<'a>(raw: &'a str, ty: &Type, r: &Reader<'a>) -> Option<Value<'a>> {
    match ty {
        Type::String => Some(Value::String(r.string_of(raw))),
        Type::Text => Some(Value::String(r.text_of(raw))),
        Type::Agent => Some(Value::String(Cow::Borrowed(r.agent_of(raw)?))),
        Type::Formatted(format) => {
            let text = r.string_of(raw);
            format.holds(&text).then_some(Value::String(text))
        }
        Type::Enum(values) => named(values, r.string_of(raw)),
        ty => number(raw, ty),
    }
}

/// Returns the value that a text without escapes means in a field of this type. For type `any`, the value is the text
/// itself.
pub fn plain(text: &str, ty: &Type) -> Option<Value<'static>> {
    let same = || Value::from(text.to_string());
    match ty {
        Type::String | Type::Text | Type::Any => Some(same()),
        Type::Agent => lexical::is_agent_id(text).then(same),
        Type::Formatted(format) => format.holds(text).then(same),
        Type::Enum(values) => enum_value(values, text).map(|value| Value::from(value.name.clone())),
        ty => number(text, ty),
    }
}

/// Returns a number or a boolean; these have no escapes.
fn number(raw: &str, ty: &Type) -> Option<Value<'static>> {
    Some(match ty {
        Type::Integer => Value::Integer(lexical::parse_integer(raw)?),
        Type::Decimal => Value::Decimal(lexical::parse_decimal(raw).ok()?),
        Type::Number => match Literal::classify(raw) {
            Literal::Integer(value) if !is_float(value) => Value::Integer(value),
            Literal::Decimal(value) => Value::Decimal(value),
            Literal::Number(value) => Value::Number(value),
            _ => Value::try_from(lexical::parse_number(raw)?).ok()?,
        },
        Type::Boolean => Value::Boolean(match raw {
            "true" => true,
            "false" => false,
            _ => return None,
        }),
        _ => return None,
    })
}

/// Returns whether a float holds the integer exactly.
pub(crate) fn is_float(integer: i64) -> bool {
    integer as f64 as i128 == i128::from(integer)
}

/// Returns the name of the value that the text means. The text itself is this name, unless it is a symbol.
fn named<'a>(values: &[EnumValue], text: Cow<'a, str>) -> Option<Value<'a>> {
    let name = &enum_value(values, &text)?.name;
    Some(Value::String(if **name == *text {
        text
    } else {
        Cow::Owned(name.clone())
    }))
}

/// Returns the value of an enumeration with this name or symbol.
pub(crate) fn enum_value<'v>(values: &'v [EnumValue], text: &str) -> Option<&'v EnumValue> {
    values
        .iter()
        .find(|value| value.name == text || value.symbol.as_deref() == Some(text))
}

/// Returns the words that tell the author of a value what its type accepts. For an enumeration, they also name the
/// value nearest to `found`.
pub fn wanted(ty: &Type, found: Option<&str>) -> String {
    match ty {
        Type::String | Type::Text => "a string".to_string(),
        Type::Agent => "an agent id: letters, digits, '-' and '_' only".to_string(),
        Type::Formatted(format) => format.expected().to_string(),
        Type::Integer => "an integer of 64 bits".to_string(),
        Type::Decimal => "a number of at most 6 places".to_string(),
        Type::Number => "a number".to_string(),
        Type::Boolean => "true or false".to_string(),
        Type::Enum(values) => {
            let names: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
            let near = found.and_then(|text| nearest(text, names.iter().copied()));
            let near = near.map(|near| format!("; did you mean {near}?"));
            format!("one of {}{}", names.join(", "), near.unwrap_or_default())
        }
        Type::List(_) => "an array".to_string(),
        _ => "an object".to_string(),
    }
}
