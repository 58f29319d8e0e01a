//! Functions for the code of `#[derive(AacpPacket)]`. They are not part of the public API: they
//! change with the derive.

pub use std::convert::{AsRef, Into};
pub use std::default::Default;
pub use std::iter::IntoIterator;
pub use std::option::Option::{self, None, Some};
pub use std::result::Result::{self, Err, Ok};

use crate::error::{DecodeError, ValueError};
use crate::packet::Packet;
use crate::value::PacketValue;

/// Reads the value of the field with this index in [`Packet::fields`].
///
/// # Errors
/// A value that the type cannot hold, with its field and byte.
#[inline]
pub fn read<'p, T: PacketValue<'p>>(
    packet: &Packet<'p>,
    index: usize,
    value: &'p str,
) -> Result<T, DecodeError> {
    T::read(value).map_err(|error| unreadable(packet, index, error))
}

#[cold]
fn unreadable(packet: &Packet<'_>, index: usize, error: ValueError) -> DecodeError {
    let (key, value) = packet.fields().get(index).copied().unwrap_or_default();
    DecodeError::value(key, index + 2, offset(packet, value), error)
}

/// Returns a field that was read.
///
/// # Errors
/// When the field is missing.
pub fn demand<T>(slot: Option<T>, key: &str) -> Result<T, DecodeError> {
    slot.ok_or_else(|| DecodeError::missing(key))
}

/// Returns the error for a field that the type cannot hold.
#[cold]
pub fn unknown(packet: &Packet<'_>, index: usize) -> DecodeError {
    let fields = packet.fields().get(index);
    let at = fields.map_or(0, |(key, _)| offset(packet, key));
    DecodeError::unknown(index + 2, at)
}

/// Returns whether a list has no items.
pub fn is_empty<T>(list: &[T]) -> bool {
    list.is_empty()
}

/// Returns the items of a list as values of its type.
pub fn collect<T>(items: impl IntoIterator<Item: Into<T>>) -> Vec<T> {
    items.into_iter().map(Into::into).collect()
}

/// Returns the byte at which a part of the packet's text begins.
fn offset(packet: &Packet<'_>, part: &str) -> usize {
    part.as_ptr().addr() - packet.text().as_ptr().addr()
}
