//! Writing JSON values as wire text, by their types.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use serde_json::{Map, Number, Value};

use crate::decimal::Decimal;
use crate::json::child;
use crate::lexical;
use crate::model::{Field, Registry, Schema};
use crate::nearest::nearest;
use crate::reader::Shown;
use crate::types::{EnumValue, Type};

/// A JSON value does not have the type that the registry declares.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}expected {expected}, found {found}", if pointer.is_empty() { String::new() } else { format!("at {pointer}: ") })]
pub struct TypeError {
    pointer: String,
    expected: String,
    found: String,
}

impl TypeError {
    fn new(pointer: &str, expected: impl Into<String>, found: &Value) -> Self {
        Self::with_found(pointer, expected, Shown(found).to_string())
    }

    fn with_found(pointer: &str, expected: impl Into<String>, found: String) -> Self {
        Self {
            pointer: pointer.to_owned(),
            expected: expected.into(),
            found,
        }
    }

    /// Returns the JSON pointer (RFC 6901) into the value; empty for the whole value.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Returns what the type expects.
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// Returns what was found instead.
    pub fn found(&self) -> &str {
        &self.found
    }
}

impl Type {
    /// Appends the canonical wire text of a JSON value of this type. Null is written as `~` for a whole value and for
    /// a field that its schema does not require: the value is not given. Null cannot be an item of a list or a map,
    /// unless the items are of type `any`. The fields of a nested schema are written under their short names, without
    /// those that equal their default.
    ///
    /// A map of data is written as `{_:[[k,v],..]}` if one of its keys is outside the key set.
    ///
    /// # Errors
    /// When the value, or a part of it, has another type; `out` is then unchanged.
    ///
    /// ```
    /// use accp_registry::{Registry, Type};
    /// use serde_json::json;
    ///
    /// let (registry, mut wire) = (Registry::standard(), String::new());
    /// let ty: Type = "{any}".parse()?;
    /// ty.write_json(&registry, &json!({ "q": "ACCP", "max": 5 }), &mut wire)?;
    /// assert_eq!(wire, "{max:5,q:ACCP}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_json(
        &self,
        registry: &Registry,
        json: &Value,
        out: &mut String,
    ) -> Result<(), TypeError> {
        let start = out.len();
        let result = Writer { registry, out }.value(self, json, "");
        if result.is_err() {
            out.truncate(start);
        }
        result
    }
}

struct Writer<'w> {
    registry: &'w Registry,
    out: &'w mut String,
}

impl Writer<'_> {
    fn value(&mut self, ty: &Type, json: &Value, at: &str) -> Result<(), TypeError> {
        let wrong = |expected: &str| Err(TypeError::new(at, expected, json));
        match (ty, json) {
            (_, Value::Null) => self.out.push('~'),
            (Type::String, Value::String(text)) => lexical::write_string(self.out, text),
            (Type::Text, Value::String(text)) => lexical::write_text(self.out, text),
            (Type::Any, Value::String(text)) => lexical::write_untyped(self.out, text),
            (Type::Boolean | Type::Any, Value::Bool(value)) => self.display(value),
            (Type::Any, Value::Number(number)) => self.number(number),
            (Type::Any, Value::Array(items)) => self.list(&Type::Any, items, at)?,
            (Type::Any, Value::Object(members)) => self.map(&Type::Any, members, at)?,
            (Type::List(item), Value::Array(items)) => self.list(item, items, at)?,
            (Type::Map(item), Value::Object(members)) => self.map(item, members, at)?,
            (Type::Schema(code), Value::Object(members)) => match self.registry.schema(code) {
                Some(schema) => self.record(schema, members, at)?,
                None => return wrong(&format!("a schema with the code `{code}`")),
            },
            (Type::Integer, Value::Number(number)) => match number.as_i64() {
                Some(value) => self.display(value),
                None => return wrong("an integer of 64 bits"),
            },
            (Type::Decimal, Value::Number(number)) => match decimal(number) {
                Some(value) => self.display(value),
                None => return wrong("a decimal of at most 6 places"),
            },
            (Type::Number, Value::Number(number)) => match float(number) {
                Some(value) => lexical::write_float(self.out, value),
                None => return wrong("a number that a 64-bit float holds exactly"),
            },
            (Type::Agent, Value::String(id)) => {
                let id = id.strip_prefix('@').unwrap_or(id);
                if !lexical::is_agent_id(id) {
                    return wrong("an agent id (A-Z, a-z, 0-9, `-`, `_`)");
                }
                self.out.push_str(id);
            }
            (Type::Formatted(format), Value::String(text)) if format.holds(text) => {
                lexical::write_string(self.out, text);
            }
            (Type::Enum(values), Value::String(text)) => {
                let is_it =
                    |value: &&EnumValue| value.name == *text || value.symbol.as_ref() == Some(text);
                match values.iter().find(is_it) {
                    Some(value) => lexical::write_string(self.out, value.wire()),
                    None => return wrong(&expected(ty)),
                }
            }
            _ => return wrong(&expected(ty)),
        }
        Ok(())
    }

    fn display(&mut self, value: impl core::fmt::Display) {
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{value}");
    }

    /// Writes a number in a place without a declared type.
    fn number(&mut self, number: &Number) {
        match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), ..) => self.display(value),
            (_, Some(value), _) => lexical::Number::Unsigned(value).write(self.out),
            (.., Some(value)) => lexical::write_float(self.out, value),
            // Only a serde_json that keeps numbers as text can reach this case.
            _ => lexical::write_untyped(self.out, &number.to_string()),
        }
    }

    fn list(&mut self, item: &Type, items: &[Value], at: &str) -> Result<(), TypeError> {
        self.out.push('[');
        for (index, json) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.item(item, json, &child(at, index))?;
        }
        self.out.push(']');
        Ok(())
    }

    /// Writes an item of a list or of a map.
    fn item(&mut self, ty: &Type, json: &Value, at: &str) -> Result<(), TypeError> {
        if json.is_null() && !ty.holds_null() {
            return Err(TypeError::new(at, expected(ty), json));
        }
        self.value(ty, json, at)
    }

    /// Writes a map whose keys are data.
    fn map(
        &mut self,
        item: &Type,
        members: &Map<String, Value>,
        at: &str,
    ) -> Result<(), TypeError> {
        let mut members: Vec<(&String, &Value)> = members.iter().collect();
        members.sort_unstable_by_key(|(key, _)| *key);
        let plain = members.iter().all(|(key, _)| lexical::is_key(key));
        let sole = matches!(members.as_slice(), [(key, _)] if *key == "_");
        let pairs = !plain || sole;
        self.out.push_str(if pairs { "{_:[" } else { "{" });
        for (index, (key, json)) in members.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            if pairs {
                self.out.push('[');
                lexical::write_untyped(self.out, key);
                self.out.push(',');
                self.item(item, json, &child(at, key))?;
                self.out.push(']');
            } else {
                self.out.push_str(key);
                self.out.push(':');
                self.item(item, json, &child(at, key))?;
            }
        }
        self.out.push_str(if pairs { "]}" } else { "}" });
        Ok(())
    }

    /// Writes a map whose keys are the fields of a schema.
    fn record(
        &mut self,
        schema: &Schema,
        members: &Map<String, Value>,
        at: &str,
    ) -> Result<(), TypeError> {
        let mut present: Vec<(usize, &Field, &Value)> = Vec::new();
        for (key, json) in members {
            let at = child(at, key);
            let Some((index, field)) = schema.field(key) else {
                let names = schema.fields.iter().map(|field| field.name.as_str());
                let expected = match nearest(key, names) {
                    Some(near) => format!("a field of `{}`, such as `{near}`", schema.name),
                    None => format!("a field of `{}`", schema.name),
                };
                let found = format!("the key `{key}`");
                return Err(TypeError::with_found(&at, expected, found));
            };
            if present.iter().any(|(other, ..)| *other == index) {
                let expected = format!("`{}` once, by its full or its short name", field.name);
                return Err(TypeError::with_found(&at, expected, "both".into()));
            }
            present.push((index, field, json));
        }
        let head = variant_of(schema, &present, at)?;
        for (index, field) in schema.fields.iter().enumerate() {
            let given = present.iter().find(|(other, ..)| *other == index);
            let is_required = schema.requires(field, &head);
            match given {
                Some((.., json)) if is_required && json.is_null() => {
                    let at = child(at, &field.name);
                    return Err(TypeError::new(&at, expected(&field.ty), json));
                }
                None if is_required => {
                    let expected = format!("an object with the required field `{}`", field.name);
                    let found = "an object without it".into();
                    return Err(TypeError::with_found(at, expected, found));
                }
                _ => {}
            }
        }
        present.sort_unstable_by_key(|(_, field, _)| &field.short);
        self.out.push('{');
        let open = self.out.len();
        for (_, field, json) in present {
            let entry = self.out.len();
            if entry > open {
                self.out.push(',');
            }
            self.out.push_str(&field.short);
            self.out.push(':');
            let text = self.out.len();
            self.value(&field.ty, json, &child(at, &field.name))?;
            if field.default_wire.as_deref() == Some(&self.out[text..]) {
                self.out.truncate(entry);
            }
        }
        self.out.push('}');
        Ok(())
    }
}

/// Returns the exact decimal of a JSON number.
fn decimal(number: &Number) -> Option<Decimal> {
    match number.as_i64() {
        Some(value) => Some(Decimal::from(value)),
        // Displaying a float gives its shortest digits, without an exponent.
        None => Decimal::parse(&number.as_f64()?.to_string()).ok(),
    }
}

/// Returns the float that equals this JSON number exactly.
fn float(number: &Number) -> Option<f64> {
    let float = number.as_f64()?;
    if number.is_f64() {
        return Some(float);
    }
    // Both are compared as whole numbers: an i128 holds every 64-bit integer.
    let exact = number
        .as_i64()
        .map_or_else(|| number.as_u64().map(i128::from), |v| Some(v.into()));
    (exact == Some(float as i128)).then_some(float)
}

/// Returns the head of the variant to which a record of a union belongs; an empty head for a record of another
/// schema. Refuses a field that the variant does not have.
fn variant_of<'v>(
    schema: &Schema,
    present: &[(usize, &Field, &'v Value)],
    at: &str,
) -> Result<Vec<&'v str>, TypeError> {
    let Some((tag, _)) = schema.tag() else {
        return Ok(Vec::new());
    };
    let tag = present.iter().find(|(index, ..)| *index == tag);
    let Some((_, field, json)) = tag else {
        // The tag is required, so the caller reports it as missing.
        return Ok(Vec::new());
    };
    let head: Vec<&str> = json.as_str().into_iter().collect();
    let Some(variant) = schema.frame(&head) else {
        return Err(TypeError::new(
            &child(at, &field.name),
            expected(&field.ty),
            json,
        ));
    };
    let is_other = |(_, field, _): &&(usize, &Field, &Value)| !variant.is_about(&field.name);
    if let Some((_, field, _)) = present.iter().find(is_other) {
        let expected = format!("a field of the variant `{}`", head.concat());
        let found = format!("the key `{}`", field.name);
        return Err(TypeError::with_found(
            &child(at, &field.name),
            expected,
            found,
        ));
    }
    Ok(head)
}

/// Returns the type in words, for an error message.
fn expected(ty: &Type) -> Cow<'static, str> {
    match ty {
        Type::String | Type::Text => "a string".into(),
        Type::Integer => "an integer".into(),
        Type::Decimal => "a decimal".into(),
        Type::Number => "a number".into(),
        Type::Boolean => "true or false".into(),
        Type::Agent => "an agent id".into(),
        Type::Formatted(format) => format.expected().into(),
        Type::List(_) => "an array".into(),
        Type::Map(_) => "an object".into(),
        Type::Any => "a value".into(),
        Type::Schema(code) => format!("an object with the fields of `{code}`").into(),
        Type::Enum(values) => {
            let names: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
            format!("one of {}", names.join(", ")).into()
        }
    }
}
