//! The Rust types that carry a value.

use std::borrow::Cow;

use super::{PacketValue, ValueWriter};
use crate::error::{ValueError, WriteError};

impl<'p> PacketValue<'p> for &'p str {
    #[inline]
    fn read(value: &'p str) -> Result<Self, ValueError> {
        Ok(value)
    }

    #[inline]
    fn write(&self, writer: &mut ValueWriter<'_>) -> Result<(), WriteError> {
        writer.text(self)
    }
}

impl<'p> PacketValue<'p> for Cow<'p, str> {
    #[inline]
    fn read(value: &'p str) -> Result<Self, ValueError> {
        Ok(Self::Borrowed(value))
    }

    #[inline]
    fn write(&self, writer: &mut ValueWriter<'_>) -> Result<(), WriteError> {
        writer.text(self)
    }
}

impl PacketValue<'_> for String {
    #[inline]
    fn read(value: &str) -> Result<Self, ValueError> {
        Ok(value.to_owned())
    }

    #[inline]
    fn write(&self, writer: &mut ValueWriter<'_>) -> Result<(), WriteError> {
        writer.text(self)
    }
}

impl PacketValue<'_> for bool {
    #[inline]
    fn read(value: &str) -> Result<Self, ValueError> {
        value
            .parse()
            .map_err(|_| ValueError::expected("true or false"))
    }

    #[inline]
    fn write(&self, writer: &mut ValueWriter<'_>) -> Result<(), WriteError> {
        writer.text(if *self { "true" } else { "false" })
    }
}

macro_rules! integers {
    ($($type:ty: $range:literal,)*) => {$(
        impl PacketValue<'_> for $type {
            /// One spelling for one number: no sign `+`, no leading zeros, no `-0`.
            #[inline]
            fn read(value: &str) -> Result<Self, ValueError> {
                let digits = value.strip_prefix('-').unwrap_or(value);
                let is_plain = digits == "0" && value.len() == 1
                    || digits.starts_with(|first: char| ('1'..='9').contains(&first));
                let number = if is_plain { value.parse().ok() } else { None };
                number.ok_or(ValueError::expected(concat!("a whole number from ", $range)))
            }

            #[inline]
            fn write(&self, writer: &mut ValueWriter<'_>) -> Result<(), WriteError> {
                writer.number(self);
                Ok(())
            }
        }
    )*};
}

integers! {
    u8: "0 to 255",
    u16: "0 to 65535",
    u32: "0 to 4294967295",
    u64: "0 to 2^64 - 1",
    u128: "0 to 2^128 - 1",
    usize: "0 to the largest usize",
    i8: "-128 to 127",
    i16: "-32768 to 32767",
    i32: "-2147483648 to 2147483647",
    i64: "-2^63 to 2^63 - 1",
    i128: "-2^127 to 2^127 - 1",
    isize: "the smallest to the largest isize",
}

/// Commas separate the items. An empty value is an empty list.
impl<'p, T: PacketValue<'p>> PacketValue<'p> for Vec<T> {
    #[inline]
    fn read(value: &'p str) -> Result<Self, ValueError> {
        if value.is_empty() {
            return Ok(Self::new());
        }
        // Items are short, and a search for each comma costs more than a look at each byte.
        let mut items = Self::new();
        let mut from = 0;
        let commas = value.bytes().zip(0..).filter(|(byte, _)| *byte == b',');
        for end in commas.map(|(_, at)| at).chain([value.len()]) {
            items.push(T::read(value.get(from..end).unwrap_or_default())?);
            from = end + 1;
        }
        Ok(items)
    }

    #[inline]
    fn write(&self, writer: &mut ValueWriter<'_>) -> Result<(), WriteError> {
        writer.list(self)
    }
}
