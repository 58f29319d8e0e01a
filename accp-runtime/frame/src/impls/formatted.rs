//! How fields hold texts of a fixed format, and bytes.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use accp_registry::{ErrorCode, Format, from_base64, lexical, to_base64};

use super::{Decoded, Encoded, scalar};
use crate::error::{DecodeError, EncodeError};
use crate::kind;
use crate::reader::Reader;
use crate::typed::DecodeValue;
use crate::writer::{EncodeValue, Writer};

/// Appends a text of the format. Any other text is an error (E1004).
pub(crate) fn write(format: Format, text: &str, w: &mut Writer<'_, '_>) -> Encoded {
    if !format.holds(text) {
        return Err(unfit(format));
    }
    w.text(text, lexical::write_string)
}

/// Reads a text of the format. Any other value is an error (E1004).
fn read<'a>(format: Format, r: &mut Reader<'a>) -> Decoded<Cow<'a, str>> {
    let at = r.at();
    let raw = scalar(r, format.expected())?;
    let text = r.string_of(raw);
    if format.holds(&text) {
        return Ok(text);
    }
    Err(DecodeError::new(
        ErrorCode::INVALID_TYPE,
        at,
        format.expected(),
    ))
}

/// Returns the error for a text that is not of the format.
#[cold]
pub(crate) fn unfit(format: Format) -> EncodeError {
    let (word, expected) = (format.word(), format.expected());
    let message = format!("this text is not a value of type {word}: expected {expected}");
    EncodeError::new(ErrorCode::INVALID_TYPE, message)
}

macro_rules! formatted {
    ($($kind:ident),*) => {$(
        impl EncodeValue<kind::$kind> for str {
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                write(Format::$kind, self, w)
            }
        }

        impl<'a> DecodeValue<'a, kind::$kind> for Cow<'a, str> {
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                read(Format::$kind, r)
            }
        }
    )*};
}

formatted!(Date, Time, Timestamp, Duration, Uuid, Url);

impl EncodeValue<kind::Bytes> for [u8] {
    /// Writes base64.
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        w.text(&to_base64(self), lexical::write_string)
    }
}

impl EncodeValue<kind::Bytes> for Vec<u8> {
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        EncodeValue::<kind::Bytes>::encode_value(self.as_slice(), w)
    }
}

impl EncodeValue<kind::Bytes> for Cow<'_, [u8]> {
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        EncodeValue::<kind::Bytes>::encode_value(&**self, w)
    }
}

impl<'a> DecodeValue<'a, kind::Bytes> for Vec<u8> {
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        let at = r.at();
        let raw = scalar(r, Format::Bytes.expected())?;
        from_base64(&r.string_of(raw))
            .ok_or_else(|| DecodeError::new(ErrorCode::INVALID_TYPE, at, Format::Bytes.expected()))
    }
}

impl<'a> DecodeValue<'a, kind::Bytes> for Cow<'a, [u8]> {
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        <Vec<u8> as DecodeValue<'a, kind::Bytes>>::decode_value(r).map(Cow::Owned)
    }
}
