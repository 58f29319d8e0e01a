//! Functions that read and write nested structs and enumerations, for the code that the derive generates.

use alloc::borrow::Cow;
use alloc::format;

use accp_registry::{ErrorCode, lexical};

use crate::error::{DecodeError, EncodeError};
use crate::impls::at_pairs;
use crate::kind;
use crate::reader::{DecodeOptions, Reader, Token};
use crate::typed::DecodeValue;
use crate::writer::{EncodeValue, Writer};

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
            Token::Map => Ok(Self {
                read: 0,
                in_pairs: false,
            }),
            token => crate::impls::wrong(at, token, "a map"),
        }
    }

    /// Returns the next key; read its value before the next call.
    pub fn next<'a>(&mut self, r: &mut Reader<'a>) -> Result<Option<Cow<'a, str>>, DecodeError> {
        if self.in_pairs {
            r.element(2)?;
        } else {
            let Some(key) = r.entry(self.read)? else {
                return Ok(None);
            };
            if key != "_" || self.read > 0 || !at_pairs(r) {
                self.read += 1;
                return Ok(Some(Cow::Borrowed(key)));
            }
            r.token()?;
            self.in_pairs = true;
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

/// Looks ahead into the next record and returns the name of its variant. The tag may be at any place of the record.
pub fn tag_ahead<'a>(
    r: &Reader<'a>,
    name: &'static str,
    keys: &[&str],
    by: &'static str,
) -> Result<Cow<'a, str>, DecodeError> {
    let mut ahead = r.clone();
    let mut map = MapReader::open(&mut ahead)?;
    while let Some(found) = map.next(&mut ahead)? {
        if keys.contains(&&*found) {
            let mut tag = None;
            read_tag(&mut ahead, &mut tag, name)?;
            return Ok(tag.unwrap_or_default());
        }
        super::skip(&mut ahead)?;
    }
    super::demand(r, None, name, by)
}

/// The tag of a record: the name of its variant. Even a long name stays in the record and does not go by reference.
#[derive(Debug)]
pub struct Tag(pub &'static str);

impl EncodeValue<kind::Enum> for Tag {
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
        <kind::Enum as NameKind>::write(self.0, w)
    }
}

/// Reads the tag of a record into its slot. The tag decides what the record is, so it may not be a reference.
pub fn read_tag<'a>(
    r: &mut Reader<'a>,
    slot: &mut Option<Cow<'a, str>>,
    name: &'static str,
) -> Result<(), DecodeError> {
    if let Ok(Token::Ref(_)) = r.clone().token() {
        return no_such_variant(r, name, "the name of a variant; a reference is none");
    }
    super::read::<kind::String, _>(r, slot, name)
}

/// Refuses a record whose tag names no variant, or a field of another variant.
#[cold]
pub fn no_such_variant<T>(
    r: &Reader<'_>,
    name: &'static str,
    expected: &'static str,
) -> Result<T, DecodeError> {
    let error = DecodeError::new(ErrorCode::INVALID_TYPE, r.at(), expected);
    Err(error.within(name))
}

/// Writes a record of a variant that the union does not know. A reader must read the record as an unknown variant
/// again, so its tag, under one of `keys`, must be a name that is not in `known`.
pub fn write_other(
    w: &mut Writer<'_, '_>,
    record: &impl EncodeValue<kind::Any>,
    name: &'static str,
    keys: &[&str],
    known: &[&str],
    by: &'static str,
) -> Result<(), EncodeError> {
    let start = w.out().len();
    record.encode_value(w)?;
    let options = DecodeOptions {
        limits: w.limits(),
        marks: true,
    };
    let written = &w.out()[start..];
    let tag = Reader::new(written, options).and_then(|r| tag_ahead(&r, name, keys, by));
    let message = match tag {
        Ok(tag) if known.contains(&&*tag) => {
            format!("the variant `{tag}` is known here, so it cannot be the one for other records")
        }
        Ok(_) => return Ok(()),
        Err(_) => format!("a record of {by} has the name of its variant here, as a text"),
    };
    Err(EncodeError::new(ErrorCode::INVALID_TYPE, message).within(name))
}

/// An enum without data.
pub trait Enumeration: Sized {
    /// The name and the wire text of each variant, in the order of the declaration.
    const NAMES: &'static [(&'static str, &'static str)];
    /// The expectation in a reader's error.
    const EXPECTED: &'static str;
    /// Returns the index of the variant in [`NAMES`](Self::NAMES).
    fn index(&self) -> usize;
    /// Returns the variant at an index.
    fn at(index: usize) -> Option<Self>;
    /// Returns the variant that holds unknown names, with this text; `None` if the enum has no such variant.
    fn other(_text: Cow<'_, str>) -> Option<Self> {
        None
    }
    /// Returns the text if this is the variant that holds unknown names.
    fn held(&self) -> Option<&str> {
        None
    }
}

/// How the name of a variant is written to and read from a field of this registry type.
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
    /// Appends a name. Even a long value of a closed set stays in the frame.
    fn write(name: &str, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
        lexical::write_string(w.out(), name);
        Ok(())
    }

    fn read<'a>(r: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
        DecodeValue::<'a, kind::String>::decode_value(r)
    }
}

/// Writes an enumeration to a field of the registry type `K`.
#[inline]
pub fn encode_name<K: NameKind, T: Enumeration>(
    value: &T,
    w: &mut Writer<'_, '_>,
) -> Result<(), EncodeError> {
    let name = || T::NAMES.get(value.index()).map_or("", |(_, wire)| wire);
    K::write(value.held().unwrap_or_else(name), w)
}

/// Reads an enumeration from a field of the registry type `K`.
#[inline]
pub fn decode_name<K: NameKind, T: Enumeration>(r: &mut Reader<'_>) -> Result<T, DecodeError> {
    let at = r.at();
    let text = K::read(r)?;
    let index = T::NAMES
        .iter()
        .position(|&(name, wire)| text == wire || text == name);
    index
        .map_or_else(|| T::other(text), T::at)
        .ok_or_else(|| DecodeError::new(ErrorCode::INVALID_TYPE, at, T::EXPECTED))
}
