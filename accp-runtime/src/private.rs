//! What the code of `#[derive(AccpFrame)]` calls. No part of the public API: it changes
//! with the derive. What does not depend on a struct's types is here, so that the code
//! of a struct stays small.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use accp_registry::{abbreviate, expand, lexical};

pub use core::default::Default;
pub use core::option::Option::{self, None, Some};
pub use core::result::Result::{self, Err, Ok};

use crate::dynamic::twice;
use crate::impls::{Pair, PairKind};
use crate::reader::Token;
use crate::value::is_pairs;
use crate::{
    DecodeError, DecodeOptions, DecodeValue, EncodeError, EncodeValue, Envelope, ErrorCode,
    FrameType, Header, Intent, Map, Reader, Value, Writer, kind,
};

// Reading a frame --------------------------------------------------------------------

/// Whether a frame with this header and schema code is the one.
pub fn accepts(header: &Header<'_>, schema: Option<&str>, frame: &FrameType<'_>) -> bool {
    header.intent == frame.intent.as_str()
        && header.operation == frame.operation
        && schema == frame.schema
}

/// Reads a payload by `fields`, which puts the schema code where it is told to.
#[inline]
pub fn decode<'a, T>(
    header: &Header<'a>,
    r: &mut Reader<'a>,
    frame: &FrameType<'static>,
    fields: impl FnOnce(&mut Reader<'a>, &mut Option<&'a str>) -> Result<T, DecodeError>,
) -> Result<(T, &'static [&'static str]), DecodeError> {
    let start = r.at();
    if header.intent != frame.intent.as_str() || header.operation != frame.operation {
        return Err(first_fault(other_frame(header, frame), &r.fork_at(start), frame));
    }
    let mut code = None;
    match fields(r, &mut code) {
        Ok(value) if code == frame.schema => Ok((value, frame.envelope)),
        Ok(_) => Err(first_fault(other_schema(r.at() - 1, frame), &r.fork_at(start), frame)),
        Err(error) => Err(first_fault(error, &r.fork_at(start), frame)),
    }
}

/// The schema code of the payload.
pub fn code<'a>(r: &mut Reader<'a>, code: &mut Option<&'a str>) -> Result<(), DecodeError> {
    let at = r.at();
    if code.is_some() {
        return Err(twice("schema", at));
    }
    *code = Some(r.skip_value()?);
    Ok(())
}

/// Reads the value of a field into its slot.
#[inline]
pub fn read<'a, K, T: DecodeValue<'a, K>>(
    r: &mut Reader<'a>,
    slot: &mut Option<T>,
    name: &'static str,
) -> Result<(), DecodeError> {
    if slot.is_some() {
        return Err(twice(name, r.at()));
    }
    match T::decode_value(r) {
        Ok(value) => {
            *slot = Some(value);
            Ok(())
        }
        Err(error) => Err(error.within(name)),
    }
}

/// Reads over the value of an unknown key.
#[inline]
pub fn skip(r: &mut Reader<'_>) -> Result<(), DecodeError> {
    r.skip_value().map(drop)
}

/// Refuses an unknown key, whose value comes next.
#[cold]
pub fn unknown(r: &Reader<'_>, key: &str, expected: &'static str) -> Result<(), DecodeError> {
    let at = r.at().saturating_sub(key.len() + 1);
    Err(DecodeError::new(ErrorCode::INVALID_TYPE, at, expected))
}

/// The value of a field that the registry does not demand; its payload is read.
#[inline]
pub fn take<'a, K, T: DecodeValue<'a, K>>(
    r: &Reader<'a>,
    slot: Option<T>,
    name: &'static str,
    by: &'static str,
) -> Result<T, DecodeError> {
    match slot {
        Some(value) => Ok(value),
        None => T::absent().ok_or_else(|| missing(r, name, by)),
    }
}

/// The value of a field that the registry demands.
#[inline]
pub fn demand<T>(
    r: &Reader<'_>,
    slot: Option<T>,
    name: &'static str,
    by: &'static str,
) -> Result<T, DecodeError> {
    slot.ok_or_else(|| missing(r, name, by))
}

/// The value of a field that has a default, which is given by its wire text.
#[inline]
pub fn or_default<'a, K, T: DecodeValue<'a, K>>(
    r: &Reader<'a>,
    slot: Option<T>,
    name: &'static str,
    default: &'static str,
) -> Result<T, DecodeError> {
    match slot {
        Some(value) => Ok(value),
        None => Reader::new(default, DecodeOptions::default())
            .and_then(|mut text| T::decode_value(&mut text))
            .map_err(|error| unfit_default(r, &error, name)),
    }
}

#[cold]
fn unfit_default(r: &Reader<'_>, error: &DecodeError, name: &'static str) -> DecodeError {
    let expected = format!("{}, which the registry's default is not", error.expected());
    DecodeError::new(ErrorCode::INVALID_TYPE, r.at() - 1, expected).within(name)
}

#[cold]
fn missing(r: &Reader<'_>, name: &'static str, by: &'static str) -> DecodeError {
    let expected = format!("the field `{name}`, which {by} requires");
    DecodeError::new(ErrorCode::INVALID_TYPE, r.at() - 1, expected)
}

#[cold]
fn other_frame(header: &Header<'_>, frame: &FrameType<'_>) -> DecodeError {
    let mut at = 2 + header.agent.len();
    if Intent::lookup(header.intent).is_none() {
        return DecodeError::new(ErrorCode::INVALID_INTENT, at, format!("the intent {}", frame.intent));
    }
    if header.intent == frame.intent.as_str() {
        at += header.intent.len() + 1;
    }
    let schema = frame.schema.map(|code| format!(" with schema {code}")).unwrap_or_default();
    let expected = format!("@..>{}:{}{schema}", frame.intent, frame.operation);
    DecodeError::new(ErrorCode::INVALID_TYPE, at, expected)
}

#[cold]
fn other_schema(at: usize, frame: &FrameType<'_>) -> DecodeError {
    let expected = match frame.schema {
        Some(code) => format!("schema {code}"),
        None => String::from("no schema"),
    };
    DecodeError::new(ErrorCode::UNKNOWN_SCHEMA, at, expected)
}

/// The fault that the whole frame has, whatever a reader of its first half met: grammar
/// before header, header before schema, schema before fields.
#[cold]
fn first_fault(error: DecodeError, payload: &Reader<'_>, frame: &FrameType<'_>) -> DecodeError {
    if error.code() == ErrorCode::PARSE_ERROR {
        return named(error, frame);
    }
    let mut ahead = payload.clone();
    let mut other = None;
    let mut scan = || {
        let mut code = None;
        while let Some(key) = ahead.param()? {
            let at = ahead.at();
            let value = ahead.skip_value()?;
            if key == "schema" {
                code = Some(value);
                other = Some(at).filter(|_| code != frame.schema);
            }
        }
        if code.is_none() && frame.schema.is_some() {
            other = Some(ahead.at() - 1);
        }
        Envelope::read(&mut ahead)
    };
    match scan() {
        Err(fault) if fault.code() == ErrorCode::PARSE_ERROR => return fault,
        _ => {}
    }
    let is_header = error.at() < payload.at();
    match other {
        Some(at) if !is_header => other_schema(at, frame),
        _ => named(error, frame),
    }
}

/// Puts the type before the path to a field.
fn named(error: DecodeError, frame: &FrameType<'_>) -> DecodeError {
    if error.path().is_empty() { error } else { error.within(String::from(frame.name)) }
}

/// Refuses a frame that no variant of an enum takes.
#[cold]
pub fn no_variant<T>(
    header: &Header<'_>,
    r: &Reader<'_>,
    expected: &'static str,
) -> Result<T, DecodeError> {
    let code = match Intent::lookup(header.intent) {
        Some(_) => ErrorCode::INVALID_TYPE,
        None => ErrorCode::INVALID_INTENT,
    };
    let mut ahead = r.clone();
    let mut scan = || {
        while ahead.param()?.is_some() {
            ahead.skip_value()?;
        }
        Envelope::read(&mut ahead)
    };
    match scan() {
        Err(fault) if fault.code() == ErrorCode::PARSE_ERROR => Err(fault),
        _ => Err(DecodeError::new(code, 2 + header.agent.len(), expected)),
    }
}

// Reading a nested struct ------------------------------------------------------------

/// Reads a map, plain or in the pairs form, entry by entry.
#[derive(Debug)]
pub struct MapReader {
    read: usize,
    in_pairs: bool,
}

impl MapReader {
    /// Consumes the opening bracket.
    pub fn open(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = r.at();
        match r.token()? {
            Token::Map => Ok(Self { read: 0, in_pairs: false }),
            token => crate::impls::wrong(at, token, "a map"),
        }
    }

    /// The next key; its value is to be read before the next call.
    pub fn next<'a>(&mut self, r: &mut Reader<'a>) -> Result<Option<Cow<'a, str>>, DecodeError> {
        if !self.in_pairs {
            let Some(key) = r.entry(self.read)? else { return Ok(None) };
            if key != "_" || self.read > 0 || !r.at_pairs() {
                self.read += 1;
                return Ok(Some(Cow::Borrowed(key)));
            }
            r.token()?;
            self.in_pairs = true;
        } else {
            r.element(2)?;
        }
        if !r.element(self.read)? {
            return r.entry(1).map(|_| None);
        }
        self.read += 1;
        r.token()?;
        r.element(0)?;
        let key = <Cow<'a, str> as DecodeValue<'a, kind::Any>>::decode_value(r)?;
        r.element(1)?;
        Ok(Some(key))
    }
}

// Enumerations -----------------------------------------------------------------------

/// An enum without data.
pub trait Enumeration: Sized {
    /// Of each variant the name and what travels, in the order of the declaration.
    const NAMES: &'static [(&'static str, &'static str)];
    /// What a reader is told to expect.
    const EXPECTED: &'static str;
    /// The place of the variant in [`NAMES`](Self::NAMES).
    fn index(&self) -> usize;
    /// The variant at a place.
    fn at(index: usize) -> Option<Self>;
}

/// How the name of a variant travels where the registry says so.
pub trait NameKind {
    /// Appends a name.
    fn write(name: &str, w: &mut Writer<'_, '_>) -> Result<(), EncodeError>;
    /// Reads a name.
    fn read<'a>(r: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError>;
}

macro_rules! name_kinds {
    ($($kind:ident)*) => {$(
        impl NameKind for kind::$kind {
            fn write(name: &str, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
                <str as EncodeValue<kind::$kind>>::encode_value(name, w)
            }

            fn read<'a>(r: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
                DecodeValue::<'a, kind::$kind>::decode_value(r)
            }
        }
    )*};
}

name_kinds!(String Any);

impl NameKind for kind::Enum {
    /// A value of a closed set is never too long to travel.
    fn write(name: &str, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
        lexical::write_string(w.out(), name);
        Ok(())
    }

    fn read<'a>(r: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
        DecodeValue::<'a, kind::String>::decode_value(r)
    }
}

/// Writes an enumeration where the registry says `K`.
#[inline]
pub fn encode_name<K: NameKind, T: Enumeration>(
    value: &T,
    w: &mut Writer<'_, '_>,
) -> Result<(), EncodeError> {
    K::write(T::NAMES.get(value.index()).map_or("", |(_, wire)| wire), w)
}

/// Reads an enumeration where the registry says `K`.
#[inline]
pub fn decode_name<K: NameKind, T: Enumeration>(r: &mut Reader<'_>) -> Result<T, DecodeError> {
    let at = r.at();
    let text = K::read(r)?;
    let index = T::NAMES.iter().position(|&(name, wire)| text == wire || text == name);
    index
        .and_then(T::at)
        .ok_or_else(|| DecodeError::new(ErrorCode::INVALID_TYPE, at, T::EXPECTED))
}

// What a type holds, for checks at compile time --------------------------------------

/// What the derive of a type has found out about it.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// An enumeration: of each variant the name and what travels.
    Names(&'static [(&'static str, &'static str)]),
    /// A map of the fields of the schema with this code.
    Schema(&'static str),
}

/// A type that was derived, or a container of one.
pub trait Shaped {
    /// What it holds.
    const SHAPE: Shape;
}

macro_rules! shaped {
    ($([$($param:tt)*] $ty:ty;)*) => {$(
        impl<$($param)*, T: Shaped> Shaped for $ty {
            const SHAPE: Shape = T::SHAPE;
        }
    )*};
}

shaped! {
    ['a] &'a T;
    [const N: usize] [T; N];
    [S] BTreeMap<S, T>;
}

impl<T: Shaped> Shaped for Option<T> {
    const SHAPE: Shape = T::SHAPE;
}

impl<T: Shaped> Shaped for Box<T> {
    const SHAPE: Shape = T::SHAPE;
}

impl<T: Shaped> Shaped for Vec<T> {
    const SHAPE: Shape = T::SHAPE;
}

/// Asks for the shape of any type: an inherent constant comes before one of a trait.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

/// The answer where nothing is known.
pub trait Unshaped {
    /// Nothing is known.
    const SHAPE: Option<Shape> = None;
}

impl<T> Unshaped for Probe<T> {}

impl<T: Shaped> Probe<T> {
    /// What the derive has found out.
    pub const SHAPE: Option<Shape> = Some(T::SHAPE);
}

/// Whether a type can stand for an enumeration of the registry with these values.
pub const fn has_names(shape: Option<Shape>, names: &[(&str, &str)]) -> bool {
    let own = match shape {
        Some(Shape::Names(own)) => own,
        Some(Shape::Schema(_)) => return false,
        None => return true,
    };
    if own.len() != names.len() {
        return false;
    }
    let mut at = 0;
    while at < names.len() {
        let (name, wire) = names[at];
        let mut found = false;
        let mut other = 0;
        while other < own.len() {
            found |= equal(own[other].0, name) && equal(own[other].1, wire);
            other += 1;
        }
        if !found {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether a type can hold a default with this text.
pub const fn has_value(shape: Option<Shape>, text: &str) -> bool {
    let Some(Shape::Names(own)) = shape else { return true };
    let mut at = 0;
    while at < own.len() {
        if equal(own[at].0, text) || equal(own[at].1, text) {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether a type can stand for the fields of the schema with this code.
pub const fn has_schema(shape: Option<Shape>, code: &str) -> bool {
    match shape {
        Some(Shape::Schema(own)) => equal(own, code),
        Some(Shape::Names(_)) => false,
        None => true,
    }
}

const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

// Unknown params ---------------------------------------------------------------------

/// A map that takes the params that no field is for.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot take the params of a `flatten` field",
    label = "expected `Map` or a `BTreeMap` from texts to values"
)]
pub trait Extras<'a>: Default {
    /// Reads the value of a key; false when the key is there already.
    fn take(&mut self, key: Cow<'a, str>, r: &mut Reader<'a>) -> Result<bool, DecodeError>;
}

/// The same map, to be written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot give the params of a `flatten` field",
    label = "expected `Map` or a `BTreeMap` from texts to values"
)]
pub trait GiveExtras {
    /// The type of its values.
    type Item: EncodeValue<kind::Any>;
    /// Every key with its value.
    fn give(&self) -> impl Iterator<Item = (&str, &Self::Item)>;
}

impl<'a> Extras<'a> for Map<'a> {
    fn take(&mut self, key: Cow<'a, str>, r: &mut Reader<'a>) -> Result<bool, DecodeError> {
        Ok(self.insert(key, Value::read(r)?).is_none())
    }
}

impl<'a> GiveExtras for Map<'a> {
    type Item = Value<'a>;

    fn give(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.iter()
    }
}

impl<'a, S, V> Extras<'a> for BTreeMap<S, V>
where
    S: From<Cow<'a, str>> + Ord,
    V: DecodeValue<'a, kind::Any>,
{
    fn take(&mut self, key: Cow<'a, str>, r: &mut Reader<'a>) -> Result<bool, DecodeError> {
        Ok(self.insert(key.into(), V::decode_value(r)?).is_none())
    }
}

impl<S: AsRef<str>, V: EncodeValue<kind::Any>> GiveExtras for BTreeMap<S, V> {
    type Item = V;

    fn give(&self) -> impl Iterator<Item = (&str, &V)> {
        self.iter().map(|(key, value)| (key.as_ref(), value))
    }
}

/// Reads a param that no field is for, under its full name. `known` are the keys that the
/// schema has a meaning for: the struct does without such a field.
pub fn extra<'a, T: Extras<'a>>(
    r: &mut Reader<'a>,
    extras: &mut T,
    key: &'a str,
    known: &[&str],
) -> Result<(), DecodeError> {
    if known.contains(&key) {
        return skip(r);
    }
    let at = r.at();
    if key == "_" && is_pairs_ahead(r) {
        return extra_pairs(r, extras);
    }
    let name = expand(key).filter(|full| !known.contains(full)).unwrap_or(key);
    match extras.take(Cow::Borrowed(name), r) {
        Ok(true) => Ok(()),
        Ok(false) => Err(twice(name, at)),
        Err(error) => Err(error.within(String::from(name))),
    }
}

/// Whether the entries follow whose keys do not fit the grammar.
fn is_pairs_ahead(r: &Reader<'_>) -> bool {
    let mut ahead = r.clone();
    r.options().marks
        && matches!(Value::read(&mut ahead), Ok(Value::Array(items)) if is_pairs(&items))
}

fn extra_pairs<'a, T: Extras<'a>>(r: &mut Reader<'a>, extras: &mut T) -> Result<(), DecodeError> {
    r.token()?;
    let mut read = 0;
    while r.element(read)? {
        r.token()?;
        r.element(0)?;
        let key = <Cow<'a, str> as DecodeValue<'a, kind::Any>>::decode_value(r)?;
        r.element(1)?;
        let at = r.at();
        if !extras.take(key.clone(), r)? {
            return Err(twice(&key, at));
        }
        r.element(2)?;
        read += 1;
    }
    Ok(())
}

/// Writes the params of a `flatten` field: ascending, and last those whose keys do not fit
/// the grammar.
#[derive(Debug)]
pub struct ExtraWriter<'m, V> {
    /// The key on the wire, the name, the value; the next one last.
    plain: Vec<(&'m str, &'m str, &'m V)>,
    odd: Vec<Pair<'m, V>>,
}

impl<'m, V: EncodeValue<kind::Any>> ExtraWriter<'m, V> {
    /// Sorts the params; `known` are the keys that belong to fields.
    pub fn new<T: GiveExtras<Item = V>>(
        extras: &'m T,
        known: &[&str],
    ) -> Result<Self, EncodeError> {
        let (mut plain, mut odd) = (Vec::new(), Vec::new());
        for (name, value) in extras.give() {
            if name == "schema" || known.contains(&name) {
                let message = "this key is no unknown one: it belongs to a field, or is reserved";
                return Err(unfit_extra(name, message));
            }
            if lexical::is_key(name) && name != "_" {
                let short = abbreviate(name).filter(|short| !known.contains(short));
                plain.push((short.unwrap_or(name), name, value));
            } else {
                odd.push(Pair { key: name, value });
            }
        }
        plain.sort_by(|a, b| b.0.cmp(a.0));
        match plain.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(unfit_extra(pair[0].1, "it stands under its full and its short name")),
            None => Ok(Self { plain, odd }),
        }
    }

    /// Appends the params that come before `key`.
    pub fn before(&mut self, w: &mut Writer<'_, '_>, key: &str) -> Result<(), EncodeError> {
        while let Some(&(short, name, value)) = self.plain.last().filter(|next| next.0 < key) {
            w.field::<kind::Any, _>(name, short, value, None, false)?;
            self.plain.pop();
        }
        Ok(())
    }

    /// Appends the params that are left.
    pub fn rest(mut self, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
        while let Some((short, name, value)) = self.plain.pop() {
            w.field::<kind::Any, _>(name, short, value, None, false)?;
        }
        if self.odd.is_empty() {
            return Ok(());
        }
        w.field::<PairKind<kind::Any>, _>("_", "_", self.odd.as_slice(), None, false)
    }
}

#[cold]
fn unfit_extra(name: &str, message: &str) -> EncodeError {
    EncodeError::new(ErrorCode::PARSE_ERROR, message).within(String::from(name))
}
