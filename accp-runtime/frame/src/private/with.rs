//! Fields that a module of the user converts: `#[accp(with = module)]`.

use alloc::format;
use core::fmt::Display;

use accp_registry::ErrorCode;

use super::{no_preset, read_or_default, read_required, unfit_default};
use crate::error::{DecodeError, EncodeError};
use crate::reader::{DecodeOptions, Reader};
use crate::typed::DecodeValue;

/// Returns the converted value, for writing.
#[inline]
pub fn converted<T, E: Display>(value: Result<T, E>, name: &'static str) -> Result<T, EncodeError> {
    value
        .map_err(|error| EncodeError::new(ErrorCode::INVALID_TYPE, format!("{error}")).within(name))
}

/// Reads the value of a field, converts it, and puts it into its slot. `by` names what requires the field, if
/// anything does. `default` is the wire text of its default, if it has one.
#[inline]
pub fn read_with<'a, K, I: DecodeValue<'a, K>, T, E: Display>(
    r: &mut Reader<'a>,
    slot: &mut Option<T>,
    name: &'static str,
    by: Option<&'static str>,
    default: Option<&'static str>,
    convert: impl FnOnce(I) -> Result<T, E>,
) -> Result<(), DecodeError> {
    let at = r.at();
    if slot.is_some() {
        return Err(super::twice(name, at));
    }
    let mut raw = None;
    match (by, default) {
        (Some(by), _) => read_required(r, &mut raw, name, by)?,
        (None, Some(default)) => read_or_default(r, &mut raw, name, default)?,
        (None, None) => super::read(r, &mut raw, name)?,
    }
    *slot = match raw.map(convert).transpose() {
        Ok(value) => value,
        Err(error) => return Err(unfit(at, &error).within(name)),
    };
    Ok(())
}

/// Returns the value of a field with a default, which is given by its wire text.
#[inline]
pub fn or_default_with<'a, K, I: DecodeValue<'a, K>, T, E: Display>(
    r: &Reader<'a>,
    slot: Option<T>,
    name: &'static str,
    default: &'static str,
    convert: impl FnOnce(I) -> Result<T, E>,
) -> Result<T, DecodeError> {
    match slot {
        Some(value) => Ok(value),
        None => default_with(default, convert).map_err(|error| unfit_default(r, &error, name)),
    }
}

/// Returns the registry's default for a field of a new value.
///
/// # Panics
/// When the module refuses the default of the field.
#[inline]
pub fn preset_with<'a, K, I: DecodeValue<'a, K>, T, E: Display>(
    name: &'static str,
    default: &'static str,
    convert: impl FnOnce(I) -> Result<T, E>,
) -> T {
    match default_with(default, convert) {
        Ok(value) => value,
        Err(error) => no_preset(&error, name, default),
    }
}

fn default_with<'a, K, I: DecodeValue<'a, K>, T, E: Display>(
    default: &'static str,
    convert: impl FnOnce(I) -> Result<T, E>,
) -> Result<T, DecodeError> {
    let mut text = Reader::new(default, DecodeOptions::default())?;
    convert(I::decode_value(&mut text)?).map_err(|error| unfit(0, &error))
}

#[cold]
fn unfit(at: usize, error: &dyn Display) -> DecodeError {
    let expected = format!("a value that its type takes ({error})");
    DecodeError::new(ErrorCode::INVALID_TYPE, at, expected)
}
