//! Functions for the code that `#[derive(AccpFrame)]` generates. They are not part of the public API: they change with
//! the derive. Code that does not depend on a struct's types is in these functions, so that the derive generates little
//! code for each struct.

mod const_error;
mod enum_names;
mod extras;
mod holds;
mod no_variant;
mod shape;
mod types;
mod untyped;
mod values;
mod with;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub use alloc::borrow::Cow;
pub use core::convert::Into;
pub use core::default::Default;
pub use core::iter::IntoIterator;
pub use core::option::Option::{self, None, Some};
pub use core::result::Result::{self, Err, Ok};

pub use crate::frame_types::FrameTypes;
pub use crate::reader::{Header, Key, Keys, Reader};
pub use crate::writer::{Absent, FrameType, Writer};
pub use const_error::ConstError;
pub use enum_names::names_fault;
pub use extras::{ExtraWriter, Extras, GiveExtras, extra, extra_field, extra_writer};
pub use holds::{
    Holds, HoldsChrono, HoldsOwned, HoldsRecord, HoldsRustDecimal, HoldsTime, HoldsUrl, HoldsUuid,
};
pub use no_variant::no_variant;
pub use shape::{
    Fits, HoldsDefault, Probe, Shape, Shaped, Unshaped, has_schema, has_value, holds_default,
    shape_of,
};
pub use types::{Clash, clashes, first_taken, taken};
pub use untyped::Untyped;
pub use values::{
    Enumeration, MapReader, NameKind, Tag, decode_name, encode_name, no_such_variant, read_tag,
    tag_ahead, write_other,
};
pub use with::{converted, or_default_with, preset_with, read_with};

use crate::dynamic::twice;
use crate::envelope::Envelope;
use crate::error::{DecodeError, EncodeError};
use crate::reader::DecodeOptions;
use crate::record_scope::required_null;
use crate::typed::DecodeValue;
use crate::writer::EncodeValue;
use accp_registry::{ErrorCode, Intent};

/// Returns whether a frame with this header and schema code is of the type `frame`.
pub fn accepts(header: &Header<'_>, schema: Option<&str>, frame: &FrameType<'_>) -> bool {
    header.intent == frame.intent.as_str()
        && header.operation == frame.operation
        && schema == frame.schema
}

/// Reads a payload with `fields`, which puts the schema code into the given slot.
#[inline]
pub fn decode<'a, T>(
    header: &Header<'a>,
    r: &mut Reader<'a>,
    frame: &FrameType<'static>,
    fields: impl FnOnce(&mut Reader<'a>, &mut Option<&'a str>) -> Result<T, DecodeError>,
) -> Result<(T, &'static [&'static str]), DecodeError> {
    let start = r.at();
    if header.intent != frame.intent.as_str() || header.operation != frame.operation {
        return Err(first_fault(
            other_frame(header, frame),
            &r.fork_at(start),
            frame,
        ));
    }
    let mut code = None;
    match fields(r, &mut code) {
        Ok(value) if code == frame.schema => Ok((value, frame.envelope)),
        Ok(_) => Err(first_fault(
            other_schema(r.at() - 1, frame),
            &r.fork_at(start),
            frame,
        )),
        Err(error) => Err(first_fault(error, &r.fork_at(start), frame)),
    }
}

/// Appends a param as [`Writer::field`] does. `key` includes the separator and the colon: `|task:`.
#[inline]
pub fn write<K, T: EncodeValue<K> + ?Sized>(
    w: &mut Writer<'_, '_>,
    name: &'static str,
    key: &'static str,
    value: &T,
    absent: Absent<'_>,
    inline: bool,
) -> Result<(), EncodeError> {
    w.constant_field(name, key, value, absent, inline)
}

/// If the key of this param comes next, consumes the key with the separator and the colon: `|task:`. A payload is read
/// fastest if the caller asks for the keys in the order of the writer.
#[expect(
    clippy::inline_always,
    reason = "the compiler compares a constant key as a number"
)]
#[inline(always)]
pub fn expects(r: &mut Reader<'_>, key: &'static str) -> Result<bool, DecodeError> {
    r.expects(key.get(1..).unwrap_or_default(), key)
}

/// If the schema code and the end of the payload come next, consumes them with the separator: `|schema:TA}`.
#[expect(clippy::inline_always, reason = "as for `expects`")]
#[inline(always)]
pub fn ends(r: &mut Reader<'_>, end: &'static str) -> bool {
    r.ends(end.get(1..).unwrap_or_default(), end)
}

/// What [`param`] returns for the end of the payload.
pub const END: usize = Reader::END;

/// Reads the key of the next param and returns its meaning in `keys`. Returns [`END`] at the end of the payload, and
/// another number that is not a meaning for an unknown key.
#[inline]
pub fn param(r: &mut Reader<'_>, keys: &Keys) -> Result<usize, DecodeError> {
    r.param_of(keys)
}

/// Returns the last key that [`param`] did not find among the known keys.
pub fn unknown_key<'a>(r: &Reader<'a>) -> &'a str {
    r.unknown_key()
}

/// Reads the schema code of the payload.
pub fn code<'a>(r: &mut Reader<'a>, code: &mut Option<&'a str>) -> Result<(), DecodeError> {
    let at = r.at();
    if code.is_some() {
        return Err(twice("schema", at));
    }
    *code = Some(match r.plain() {
        Some(raw) => raw,
        None => r.skip_value()?,
    });
    Ok(())
}

/// Reads the value of a field into its slot. The function is not inlined: inlining would make the code of a crate with
/// many types longer, and reading only a little faster.
#[inline(never)]
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

/// Reads the value of a field that the registry requires into its slot. Refuses a null.
#[inline]
pub fn read_required<'a, K, T: DecodeValue<'a, K>>(
    r: &mut Reader<'a>,
    slot: &mut Option<T>,
    name: &'static str,
    by: &'static str,
) -> Result<(), DecodeError> {
    if r.is_null() {
        return Err(required_null(r.at(), by).within(name));
    }
    read(r, slot, name)
}

/// Reads the value of a field with a default, which is given by its wire text, into its slot. A null
/// that the type does not hold means that the field is absent, so the slot gets the default.
#[inline]
pub fn read_or_default<'a, K, T: DecodeValue<'a, K>>(
    r: &mut Reader<'a>,
    slot: &mut Option<T>,
    name: &'static str,
    default: &'static str,
) -> Result<(), DecodeError> {
    let at = r.at();
    match read(r, slot, name) {
        Ok(()) => Ok(()),
        Err(error) => null_or_default(r, slot, name, default, at, error),
    }
}

/// Puts the default into its slot if the type has refused a null at `at`.
#[cold]
#[inline(never)]
fn null_or_default<'a, K, T: DecodeValue<'a, K>>(
    r: &mut Reader<'a>,
    slot: &mut Option<T>,
    name: &'static str,
    default: &'static str,
    at: usize,
    error: DecodeError,
) -> Result<(), DecodeError> {
    if slot.is_some() || !r.take_refused_null(at) {
        return Err(error);
    }
    *slot = Some(or_default(r, None, name, default)?);
    Ok(())
}

/// Skips the value of an unknown key.
#[inline]
pub fn skip(r: &mut Reader<'_>) -> Result<(), DecodeError> {
    r.skip_value().map(drop)
}

/// Skips the value of a field that the type does not hold, and remembers the field as dropped.
#[inline]
pub fn pass_over<'a>(r: &mut Reader<'a>, name: impl Into<Cow<'a, str>>) -> Result<(), DecodeError> {
    r.dropped.push(name.into());
    r.skip_value().map(drop)
}

/// Refuses an unknown key, whose value comes next.
#[cold]
pub fn unknown(r: &Reader<'_>, key: &str, expected: &'static str) -> Result<(), DecodeError> {
    let at = r.at().saturating_sub(key.len() + 1);
    Err(DecodeError::new(ErrorCode::INVALID_TYPE, at, expected))
}

/// Returns the value of a field that the registry does not require, after the payload was read.
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

/// Returns the value of a field that the registry requires.
#[inline]
pub fn demand<T>(
    r: &Reader<'_>,
    slot: Option<T>,
    name: &'static str,
    by: &'static str,
) -> Result<T, DecodeError> {
    slot.ok_or_else(|| missing(r, name, by))
}

/// Returns the value of a field with a default, which is given by its wire text.
#[inline]
pub fn or_default<'a, K, T: DecodeValue<'a, K>>(
    r: &Reader<'a>,
    slot: Option<T>,
    name: &'static str,
    default: &'static str,
) -> Result<T, DecodeError> {
    match slot {
        Some(value) => Ok(value),
        None => Reader::new(default, DecodeOptions::OF_A_DEFAULT)
            .and_then(|mut text| T::decode_value(&mut text))
            .map_err(|error| unfit_default(r, &error, name)),
    }
}

/// Returns the registry's default, which is given by its wire text, for a field of a new value.
///
/// # Panics
/// When `T` is a type with a hand-written `DecodeValue` that refuses the default of the field. For types that derive
/// `AccpFrame`, the derive finds this fault at compile time.
#[inline]
pub fn preset<'a, K, T: DecodeValue<'a, K>>(name: &'static str, default: &'static str) -> T {
    let text = Reader::new(default, DecodeOptions::default());
    match text.and_then(|mut text| T::decode_value(&mut text)) {
        Ok(value) => value,
        Err(error) => no_preset(&error, name, default),
    }
}

#[cold]
#[expect(
    clippy::panic,
    reason = "a mistake in the program and not in its input: every frame without the field fails too"
)]
fn no_preset(error: &DecodeError, name: &str, default: &str) -> ! {
    panic!("the type of `{name}` refuses the registry's default `{default}`: {error}")
}

/// Returns the items as a list.
pub fn collect<T>(items: impl IntoIterator<Item: Into<T>>) -> Vec<T> {
    items.into_iter().map(Into::into).collect()
}

#[cold]
fn unfit_default(r: &Reader<'_>, error: &DecodeError, name: &'static str) -> DecodeError {
    let expected = format!("{}, which the registry's default is not", error.expected());
    DecodeError::new(ErrorCode::INVALID_TYPE, r.at() - 1, expected).within(name)
}

#[cold]
fn missing(r: &Reader<'_>, name: &'static str, by: &'static str) -> DecodeError {
    let expected = format!("the field `{name}`, which {by} requires");
    DecodeError::new(ErrorCode::INVALID_TYPE, r.at().saturating_sub(1), expected)
}

#[cold]
fn other_frame(header: &Header<'_>, frame: &FrameType<'_>) -> DecodeError {
    let mut at = 2 + header.agent.len();
    if Intent::lookup(header.intent).is_none() {
        return DecodeError::new(
            ErrorCode::INVALID_INTENT,
            at,
            format!("the intent {}", frame.intent),
        );
    }
    if header.intent == frame.intent.as_str() {
        at += header.intent.len() + 1;
    }
    let schema = frame
        .schema
        .map(|code| format!(" with schema {code}"))
        .unwrap_or_default();
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

/// Returns the most important fault of the whole frame, even if the reader met another fault first. A fault of the
/// grammar comes before a fault of the header, then a fault of the schema code, and last a fault of a field.
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

/// Puts the name of the type before the path to a field.
fn named(error: DecodeError, frame: &FrameType<'_>) -> DecodeError {
    if error.path().is_empty() {
        error
    } else {
        error.within(String::from(frame.name))
    }
}
