//! Values on the wire, and maps of values.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use accp_registry::ErrorCode;
use accp_registry::lexical::{self, Literal};
pub use accp_registry::{Decimal, lexical::Number};

use crate::error::{DecodeError, EncodeError};
use crate::reader::{Reader, Token};

/// A value in a place without a declared type (draft section 3.1.1).
///
/// Each wire text means one value, and each value has one wire text, so a `Value` converts to its wire text and back
/// without loss. A text without escapes borrows from the frame.
///
/// ```
/// use accp_runtime::{Frame, Value};
///
/// let frame = Frame::parse("@a>qry:lookup{src:$ctx.sales_db|max:5}")?;
/// assert_eq!(frame.value("src"), Some(Value::Ref("ctx.sales_db".into())));
/// assert_eq!(frame.value("max"), Some(Value::Integer(5)));
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// `~`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// `42`
    Integer(i64),
    /// `3.14`
    Decimal(Decimal),
    /// A JSON number that neither [`Value::Integer`] nor [`Value::Decimal`] can hold, `#40.7127753` on the wire.
    Number(Number),
    /// Any text.
    String(Cow<'a, str>),
    /// `[v1,v2]`
    Array(Vec<Value<'a>>),
    /// `{k1:v1,k2:v2}`
    Map(Map<'a>),
    /// `$tier.key`, the key without the `$`.
    Ref(Cow<'a, str>),
}

impl<'a> Value<'a> {
    /// Returns the same value, owned.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Boolean(value) => Value::Boolean(value),
            Value::Integer(value) => Value::Integer(value),
            Value::Decimal(value) => Value::Decimal(value),
            Value::Number(value) => Value::Number(value),
            Value::String(text) => Value::String(Cow::Owned(text.into_owned())),
            Value::Array(items) => Value::Array(items.into_iter().map(Value::into_owned).collect()),
            Value::Map(map) => Value::Map(map.into_owned()),
            Value::Ref(key) => Value::Ref(Cow::Owned(key.into_owned())),
        }
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the words for this kind of value in an error.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "a boolean",
            Value::Integer(_) => "an integer",
            Value::Decimal(_) => "a decimal",
            Value::Number(_) => "a number that no literal holds",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Map(_) => "a map",
            Value::Ref(_) => "a reference",
        }
    }

    /// Reads one value in a place without a declared type.
    ///
    /// # Errors
    /// E1001 with the byte: the grammar, a limit, or a key that occurs twice in a map.
    pub fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match r.token()? {
            Token::Null => Value::Null,
            Token::Ref(key) => Value::Ref(Cow::Borrowed(key)),
            Token::Scalar(raw) => Self::from_scalar(raw, r.options().marks),
            Token::Array => {
                let mut items = Vec::new();
                while r.element(items.len())? {
                    items.push(Self::read(r)?);
                }
                Value::Array(items)
            }
            Token::Map => Value::Map(Map::read_entries(r)?),
        })
    }

    pub(crate) fn from_scalar(raw: &'a str, marks: bool) -> Self {
        if !marks && raw.starts_with(['"', '#']) {
            return Value::String(lexical::unescape(raw));
        }
        match Literal::classify(raw) {
            Literal::Boolean(value) => Value::Boolean(value),
            Literal::Integer(value) => Value::Integer(value),
            Literal::Decimal(value) => Value::Decimal(value),
            Literal::Number(value) => Value::Number(value),
            Literal::Text(form) => Value::String(match form {
                "" => Cow::Borrowed(""),
                form => lexical::decode_text(form),
            }),
            Literal::String(raw) => Value::String(lexical::unescape(raw)),
        }
    }

    /// Appends the wire text.
    pub fn write(&self, out: &mut String) {
        match self {
            Value::Null => out.push('~'),
            Value::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Integer(value) => out.push_str(itoa::Buffer::new().format(*value)),
            Value::Decimal(value) => push_display(out, value),
            Value::Number(value) => value.write(out),
            Value::String(text) => lexical::write_untyped(out, text),
            Value::Array(items) => write_array(out, items, |out, item| item.write(out)),
            Value::Map(map) => map.write(out),
            Value::Ref(key) => {
                out.push('$');
                out.push_str(key);
            }
        }
    }
}

/// Returns the error for a reference whose key does not fit the grammar.
#[cold]
pub(crate) fn no_ref_key(value: &Value<'_>) -> EncodeError {
    let message = alloc::format!("`{value}` is not a reference: letters, digits, '_' and '.' only");
    EncodeError::new(ErrorCode::PARSE_ERROR, message)
}

/// Appends `[v1,v2]`, writing each element with `write`.
pub(crate) fn write_array<T>(
    out: &mut String,
    items: &[T],
    mut write: impl FnMut(&mut String, &T),
) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

pub(crate) fn push_display(out: &mut String, value: impl fmt::Display) {
    // Writing to a String cannot fail.
    let _ = fmt::Write::write_fmt(out, format_args!("{value}"));
}

impl fmt::Display for Value<'_> {
    /// Writes the wire text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        f.write_str(&text)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Boolean(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Integer(value)
    }
}

impl From<Decimal> for Value<'_> {
    fn from(value: Decimal) -> Self {
        Value::Decimal(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::String(Cow::Borrowed(value))
    }
}

impl From<String> for Value<'_> {
    fn from(value: String) -> Self {
        Value::String(Cow::Owned(value))
    }
}

impl<'a> From<Vec<Value<'a>>> for Value<'a> {
    fn from(items: Vec<Value<'a>>) -> Self {
        Value::Array(items)
    }
}

impl<'a> From<Map<'a>> for Value<'a> {
    fn from(map: Map<'a>) -> Self {
        Value::Map(map)
    }
}

impl TryFrom<f64> for Value<'_> {
    type Error = EncodeError;

    /// Returns a decimal if a decimal can hold the float exactly, otherwise a [`Number`].
    fn try_from(value: f64) -> Result<Self, Self::Error> {
        if !value.is_finite() {
            let message = "a number that is not finite cannot be written";
            return Err(EncodeError::new(ErrorCode::INVALID_TYPE, message));
        }
        let mut text = String::new();
        lexical::write_float(&mut text, value);
        Ok(match Literal::classify(&text) {
            Literal::Decimal(decimal) => Value::Decimal(decimal),
            _ => Value::Number(Number::Float(value)),
        })
    }
}

/// A map: entries with distinct keys, written ascending by key (draft section 3.1.1).
///
/// Any text may be a key. A map travels as `{_:[[k,v],..]}` if one of its keys does not fit the
/// production `key`, or if its only key is `_`.
///
/// ```
/// use accp_runtime::{Map, Value};
///
/// let map: Map = [("b", Value::from(2)), ("a", Value::from(1))].into_iter().collect();
/// assert_eq!(map.to_string(), "{a:1,b:2}");
/// let odd: Map = [("first-name", Value::from("Ada"))].into_iter().collect();
/// assert_eq!(odd.to_string(), "{_:[[first-name,Ada]]}");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map<'a> {
    entries: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Map<'a> {
    /// Returns an empty map.
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Returns an empty map that holds this many entries without growing.
    pub(crate) fn with_capacity(entries: usize) -> Self {
        Self {
            entries: Vec::with_capacity(entries),
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.find(key).ok().map(|at| &self.entries[at].1)
    }

    /// Returns the value of a key, for changing it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value<'a>> {
        self.find(key).ok().map(|at| &mut self.entries[at].1)
    }

    /// Sets the value of a key and returns the value that it replaces.
    pub fn insert(&mut self, key: impl Into<Cow<'a, str>>, value: Value<'a>) -> Option<Value<'a>> {
        let key = key.into();
        match self.find(&key) {
            Ok(at) => Some(core::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// Sets the value of a key that the map does not have. Returns a key that the map has.
    pub(crate) fn insert_new(
        &mut self,
        key: Cow<'a, str>,
        value: Value<'a>,
    ) -> Result<(), Cow<'a, str>> {
        match self.find(&key) {
            Ok(_) => Err(key),
            Err(at) => {
                self.entries.insert(at, (key, value));
                Ok(())
            }
        }
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value<'a>> {
        self.find(key).ok().map(|at| self.entries.remove(at).1)
    }

    /// Returns the entries, ascending by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value<'a>)> + Clone {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_ref(), value))
    }

    /// Returns the entries, ascending by key, with values that can be changed.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Value<'a>)> {
        self.entries.iter_mut().map(|(key, value)| (&**key, value))
    }

    /// Returns the same map, owned.
    pub fn into_owned(self) -> Map<'static> {
        let own = |(key, value): (Cow<'_, str>, Value<'_>)| {
            (Cow::Owned(key.into_owned()), value.into_owned())
        };
        Map {
            entries: self.entries.into_iter().map(own).collect(),
        }
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(k, _)| k.as_ref().cmp(key))
    }

    /// Returns whether every key fits the production `key`, so that the pairs form is not needed.
    pub(crate) fn has_plain_keys(&self) -> bool {
        let lone_underscore = matches!(self.entries.as_slice(), [(key, _)] if key == "_");
        !lone_underscore && self.entries.iter().all(|(key, _)| lexical::is_key(key))
    }

    /// Builds a map from entries in any order; the error is the first key that occurs twice.
    pub(crate) fn from_entries(
        mut entries: Vec<(Cow<'a, str>, Value<'a>)>,
    ) -> Result<Self, Cow<'a, str>> {
        let ascending = |pair: &[(Cow<'_, str>, Value<'_>)]| pair[0].0 < pair[1].0;
        if !entries.windows(2).all(ascending) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            if let Some(at) = entries.windows(2).position(|pair| pair[0].0 == pair[1].0) {
                return Err(entries.swap_remove(at).0);
            }
        }
        Ok(Self { entries })
    }

    /// Reads the entries of a map without declared types, after its `{`.
    pub(crate) fn read_entries(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let start = r.at();
        let mut entries = Vec::new();
        while let Some(key) = r.entry(entries.len())? {
            entries.push((Cow::Borrowed(key), Value::read(r)?));
        }
        if r.options().marks
            && let [(key, Value::Array(pairs))] = entries.as_mut_slice()
            && key == "_"
            && is_pairs(pairs)
        {
            entries = core::mem::take(pairs)
                .into_iter()
                .filter_map(into_pair)
                .collect();
        }
        Self::from_entries(entries)
            .map_err(|_| DecodeError::new(ErrorCode::PARSE_ERROR, start, "every key once in a map"))
    }

    /// Appends the wire text.
    pub fn write(&self, out: &mut String) {
        if self.has_plain_keys() {
            out.push('{');
            for (at, (key, value)) in self.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(key);
                out.push(':');
                value.write(out);
            }
            out.push('}');
        } else {
            out.push_str("{_:");
            write_pairs(out, self.iter());
            out.push('}');
        }
    }
}

/// Appends `[[k,v],..]`, the form of entries whose keys do not fit the production `key`.
pub(crate) fn write_pairs<'m, 'a: 'm>(
    out: &mut String,
    entries: impl Iterator<Item = (&'m str, &'m Value<'a>)>,
) {
    let entries: Vec<_> = entries.collect();
    write_array(out, &entries, |out, (key, value)| {
        out.push('[');
        lexical::write_untyped(out, key);
        out.push(',');
        value.write(out);
        out.push(']');
    });
}

/// Returns whether there are elements and each is `[k,v]` with a text as key.
fn is_pairs(items: &[Value<'_>]) -> bool {
    let is_pair = |item: &Value<'_>| matches!(item, Value::Array(pair) if matches!(pair.as_slice(), [Value::String(_), _]));
    !items.is_empty() && items.iter().all(is_pair)
}

/// Returns whether the value of the param `_` holds extra params: pairs whose keys do not fit the
/// grammar. A key that fits has its own param, because one message has one spelling.
pub fn are_others(items: &[Value<'_>]) -> bool {
    let is_other = |pair: &Value<'_>| match pair {
        Value::Array(pair) => pair
            .first()
            .and_then(Value::as_str)
            .is_some_and(|key| key == "_" || !lexical::is_key(key)),
        _ => false,
    };
    is_pairs(items) && items.iter().all(is_other)
}

/// Returns the key and the value of an element that `is_pairs` has accepted.
pub fn into_pair(item: Value<'_>) -> Option<(Cow<'_, str>, Value<'_>)> {
    let Value::Array(pair) = item else {
        return None;
    };
    let mut pair = pair.into_iter();
    match (pair.next(), pair.next()) {
        (Some(Value::String(key)), Some(value)) => Some((key, value)),
        _ => None,
    }
}

impl<'a, K: Into<Cow<'a, str>>> FromIterator<(K, Value<'a>)> for Map<'a> {
    /// Collects entries; of equal keys the last one counts.
    fn from_iter<I: IntoIterator<Item = (K, Value<'a>)>>(entries: I) -> Self {
        let mut entries: Vec<_> = entries.into_iter().map(|(k, v)| (k.into(), v)).collect();
        // The sort is stable, so among entries with the same key the last one given is kept.
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.reverse();
        entries.dedup_by(|later, kept| later.0 == kept.0);
        entries.reverse();
        Self { entries }
    }
}

impl<'a> IntoIterator for Map<'a> {
    type Item = (Cow<'a, str>, Value<'a>);
    type IntoIter = alloc::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl fmt::Display for Map<'_> {
    /// Writes the wire text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        f.write_str(&text)
    }
}
