//! The type of a field, and its spelling in a registry.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use serde_json::Value;

use crate::format::Format;
use crate::lexical::{self, Literal};

/// The deepest nesting of lists and maps in one type.
const MAX_DEPTH: usize = 16;

/// The type of a field, as a registry declares it: `string`, `[integer]`, `enum(up=+,down=-)`.
///
/// ```
/// use accp_registry::Type;
///
/// let ty: Type = "[enum(up=+,down=-)]".parse()?;
/// assert_eq!(ty.to_string(), "[enum(up=+,down=-)]");
/// assert_eq!("FL".parse(), Ok(Type::Schema("FL".into())));
/// # Ok::<(), accp_registry::TypeSyntax>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// `string`: a name or an id, written raw where possible.
    String,
    /// `text`: what people write, always in the text form.
    Text,
    /// `integer`: an [`i64`].
    Integer,
    /// `decimal`: exact, at most six places ([`crate::Decimal`]).
    Decimal,
    /// `number`: a finite [`f64`].
    Number,
    /// `boolean`.
    Boolean,
    /// `agent`: an agent id, without its `@`.
    Agent,
    /// `date`, `time`, `timestamp`, `duration`, `uuid`, `url`, `bytes`: a text in a fixed format.
    Formatted(Format),
    /// `enum(a,b=+)`: one of these values.
    Enum(Vec<EnumValue>),
    /// `[T]`: a list.
    List(Box<Type>),
    /// `{T}`: a map; its keys are data.
    Map(Box<Type>),
    /// The code of a schema: a map with the fields of that schema.
    Schema(String),
    /// `any`: every value that a frame can hold.
    Any,
}

/// A value of an enumeration. Decoders read both spellings. Encoders write the symbol if there is
/// one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnumValue {
    /// The name, VCHAR without `,` and `=`.
    pub name: String,
    /// The symbol, VCHAR without `,`.
    pub symbol: Option<String>,
}

impl EnumValue {
    /// Returns the text that encoders write: the symbol, or the name.
    pub fn wire(&self) -> &str {
        self.symbol.as_deref().unwrap_or(&self.name)
    }
}

/// The reason why a text is not a [`Type`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TypeSyntax {
    message: String,
    cure: Option<&'static str>,
}

impl TypeSyntax {
    /// Returns the way to correct the mistake, if it is not in the message.
    pub fn cure(&self) -> Option<&str> {
        self.cure
    }
}

impl Type {
    /// The built-in types that are one word.
    pub const WORDS: &[&str] = &[
        "string",
        "text",
        "integer",
        "decimal",
        "number",
        "boolean",
        "agent",
        "date",
        "time",
        "timestamp",
        "duration",
        "uuid",
        "url",
        "bytes",
        "any",
    ];

    /// Returns whether a schema cannot have this code, because it is the name of a type.
    pub fn is_reserved(code: &str) -> bool {
        code == "enum" || Self::WORDS.contains(&code)
    }

    /// Returns the type of a field that declares a default but no type.
    pub fn of_default(default: &Value) -> Self {
        match default {
            Value::Null => Type::Any,
            Value::Bool(_) => Type::Boolean,
            Value::String(_) => Type::String,
            Value::Array(_) => Type::List(Box::new(Type::Any)),
            Value::Object(_) => Type::Map(Box::new(Type::Any)),
            Value::Number(number) if number.is_i64() => Type::Integer,
            Value::Number(number) => {
                let mut wire = String::new();
                match number.as_f64() {
                    Some(float) if number.is_f64() => lexical::write_float(&mut wire, float),
                    _ => return Type::Any,
                }
                match Literal::classify(&wire) {
                    Literal::Decimal(_) => Type::Decimal,
                    _ => Type::Number,
                }
            }
        }
    }

    /// Returns the code of the schema inside this type, if any.
    pub fn schema_code(&self) -> Option<&str> {
        match self {
            Type::List(item) | Type::Map(item) => item.schema_code(),
            Type::Schema(code) => Some(code),
            _ => None,
        }
    }

    /// Returns whether null is a value of this type: only `any` has this value. An item of a list or a map must be a
    /// value of its type. A field of any type may be null, and is then not given.
    ///
    /// ```
    /// use accp_registry::Type;
    ///
    /// assert!(Type::Any.holds_null());
    /// assert!(!Type::String.holds_null());
    /// ```
    pub fn holds_null(&self) -> bool {
        *self == Type::Any
    }

    /// Returns whether a value of this type holds maps, or lists of lists.
    pub(crate) fn nests(&self) -> bool {
        match self {
            Type::Map(_) | Type::Schema(_) => true,
            Type::List(item) => item.nests() || matches!(**item, Type::List(_)),
            _ => false,
        }
    }

    fn parse(text: &str, depth: usize) -> Result<Self, TypeSyntax> {
        if depth > MAX_DEPTH {
            return Err(syntax(format!("a type nests at most {MAX_DEPTH} deep")));
        }
        let text = text.trim();
        let nested = |inner: &str| Self::parse(inner, depth + 1).map(Box::new);
        let word = match text {
            "string" => Type::String,
            "text" => Type::Text,
            "integer" => Type::Integer,
            "decimal" => Type::Decimal,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            "agent" => Type::Agent,
            "any" => Type::Any,
            _ => {
                if let Some(format) = Format::named(text) {
                    return Ok(Type::Formatted(format));
                }
                if let Some(inner) = enclosed(text, "[", "]")? {
                    return nested(inner).map(Type::List);
                }
                if let Some(inner) = enclosed(text, "{", "}")? {
                    return nested(inner).map(Type::Map);
                }
                if let Some(inner) = enclosed(text, "enum(", ")")? {
                    return enum_values(inner).map(Type::Enum);
                }
                if !lexical::is_key(text) || Self::is_reserved(text) {
                    return Err(syntax(format!(
                        "`{text}` is not a type; expected one of {}, enum(a,b), [T], {{T}} \
                         or the code of a schema",
                        Self::WORDS.join(", "),
                    )));
                }
                Type::Schema(text.to_owned())
            }
        };
        Ok(word)
    }
}

fn syntax(message: String) -> TypeSyntax {
    TypeSyntax {
        message,
        cure: None,
    }
}

/// Returns the text between `open` and `close`; `None` when the text does not begin with `open`.
fn enclosed<'a>(text: &'a str, open: &str, close: &str) -> Result<Option<&'a str>, TypeSyntax> {
    let Some(rest) = text.strip_prefix(open) else {
        return Ok(None);
    };
    match rest.strip_suffix(close) {
        Some(inner) => Ok(Some(inner)),
        None => Err(syntax(format!(
            "`{text}` opens `{open}` without a closing `{close}`"
        ))),
    }
}

fn enum_values(list: &str) -> Result<Vec<EnumValue>, TypeSyntax> {
    let wrong = |message: String, cure| {
        let cure = Some(cure);
        Err(TypeSyntax { message, cure })
    };
    if list.trim().is_empty() {
        return wrong(
            format!("`enum({list})` has no value"),
            "name each value, as in enum(low,high), or take the type string",
        );
    }
    let mut values: Vec<EnumValue> = Vec::new();
    for entry in list.split(',').map(str::trim) {
        let (name, symbol) = match entry.split_once('=') {
            Some((name, symbol)) => (name.trim_end(), Some(symbol.trim_start())),
            None => (entry, None),
        };
        for spelling in [Some(name), symbol].into_iter().flatten() {
            if spelling.is_empty() {
                return wrong(
                    format!("`enum({list})` has an empty value"),
                    "name it, or remove its comma or `=`",
                );
            }
            if !spelling.bytes().all(|b| b.is_ascii_graphic()) {
                return wrong(
                    format!(
                        "the enum value `{spelling}` holds more than printable ASCII without spaces",
                    ),
                    "spell it otherwise, as in in_progress",
                );
            }
            let taken = |other: &EnumValue| {
                other.name == spelling || other.symbol.as_deref() == Some(spelling)
            };
            if values.iter().any(taken) {
                return wrong(
                    format!("the enum value `{spelling}` stands twice"),
                    "keep one of the two, or spell one otherwise: names and symbols are read alike",
                );
            }
        }
        if symbol == Some(name) {
            return wrong(
                format!("the enum value `{name}` is its own symbol"),
                "write the name alone",
            );
        }
        values.push(EnumValue {
            name: name.to_owned(),
            symbol: symbol.map(ToOwned::to_owned),
        });
    }
    Ok(values)
}

impl FromStr for Type {
    type Err = TypeSyntax;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text, 0)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::String => f.write_str("string"),
            Type::Text => f.write_str("text"),
            Type::Integer => f.write_str("integer"),
            Type::Decimal => f.write_str("decimal"),
            Type::Number => f.write_str("number"),
            Type::Boolean => f.write_str("boolean"),
            Type::Agent => f.write_str("agent"),
            Type::Formatted(format) => f.write_str(format.word()),
            Type::Any => f.write_str("any"),
            Type::Enum(values) => {
                f.write_str("enum(")?;
                for (index, value) in values.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{}", value.name)?;
                    if let Some(symbol) = &value.symbol {
                        write!(f, "={symbol}")?;
                    }
                }
                f.write_str(")")
            }
            Type::List(item) => write!(f, "[{item}]"),
            Type::Map(item) => write!(f, "{{{item}}}"),
            Type::Schema(code) => f.write_str(code),
        }
    }
}
