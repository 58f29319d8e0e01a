//! The Rust types that carry each registry type.

mod containers;
mod foreign;
mod formatted;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use accp_registry::ErrorCode;
use accp_registry::lexical::{self, Literal};

use crate::agent::{AgentId, not_an_id};
use crate::error::{DecodeError, EncodeError};
use crate::kind;
use crate::reader::{Reader, Token};
use crate::typed::DecodeValue;
use crate::value::{Decimal, Number, Value, push_display};
use crate::writer::{EncodeValue, Writer};

pub(crate) use containers::{
    Pair, PairKind, at_pairs, decode_entries, decode_list, encode_entries, encode_items,
};
pub(crate) use formatted::{unfit, write as write_formatted};

type Decoded<T> = Result<T, DecodeError>;
type Encoded = Result<(), EncodeError>;

/// Refuses the value at `at` because of its type (E1004); a reference that was not resolved is
/// E2001.
///
/// # Errors
/// Always.
#[cold]
pub fn wrong<T>(at: usize, token: Token<'_>, expected: &'static str) -> Decoded<T> {
    match token {
        Token::Ref(_) => {
            let expected = format!("{expected}; the reference has not been resolved");
            Err(DecodeError::new(ErrorCode::REF_NOT_FOUND, at, expected))
        }
        _ => Err(DecodeError::new(ErrorCode::INVALID_TYPE, at, expected)),
    }
}

#[inline]
fn scalar<'a>(r: &mut Reader<'a>, expected: &'static str) -> Decoded<&'a str> {
    match r.scalar()? {
        Some(raw) => Ok(raw),
        None => no_scalar(r, expected),
    }
}

/// Reads a string that has an escape or a mark. Refuses a value that is not a string.
#[cold]
fn marked<'a>(r: &mut Reader<'a>) -> Decoded<Cow<'a, str>> {
    scalar(r, "a string").map(|raw| r.string_of(raw))
}

#[cold]
fn no_scalar<T>(r: &mut Reader<'_>, expected: &'static str) -> Decoded<T> {
    let at = r.at();
    r.token().and_then(|token| wrong(at, token, expected))
}

/// Reads a scalar that `parse` accepts. Any other value is an error (E1004).
#[inline]
fn parsed<'a, T>(
    r: &mut Reader<'a>,
    expected: &'static str,
    parse: impl FnOnce(&'a str) -> Option<T>,
) -> Decoded<T> {
    let at = r.at();
    let raw = scalar(r, expected)?;
    parse(raw).ok_or_else(|| DecodeError::new(ErrorCode::INVALID_TYPE, at, expected))
}

/// Reads an agent id: `dev`, or `\@dev` as a peer may write it.
#[inline]
fn agent<'a>(r: &mut Reader<'a>) -> Decoded<&'a str> {
    match r.plain_agent() {
        Some(name) => Ok(name),
        None => other_agent(r),
    }
}

/// Reads an agent id in any spelling. Refuses a value that is not an agent id.
#[cold]
fn other_agent<'a>(r: &mut Reader<'a>) -> Decoded<&'a str> {
    let at = r.at();
    let raw = scalar(r, "an agent id")?;
    r.agent_of(raw)
        .ok_or_else(|| DecodeError::new(ErrorCode::INVALID_TYPE, at, "an agent id"))
}

// Text -------------------------------------------------------------------------------

impl EncodeValue<kind::String> for str {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        w.text(self, lexical::write_string)
    }
}

impl EncodeValue<kind::Text> for str {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        w.text(self, lexical::write_text)
    }
}

impl EncodeValue<kind::Any> for str {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        w.text(self, lexical::write_untyped)
    }
}

impl EncodeValue<kind::Agent> for str {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        if !lexical::is_agent_id(self) {
            return Err(not_an_id(ErrorCode::INVALID_TYPE, self));
        }
        w.raw(self);
        Ok(())
    }
}

impl<'a> DecodeValue<'a, kind::String> for Cow<'a, str> {
    #[inline]
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        match r.plain() {
            Some(raw) => Ok(Cow::Borrowed(raw)),
            None => marked(r),
        }
    }
}

impl<'a> DecodeValue<'a, kind::Text> for Cow<'a, str> {
    #[inline]
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        scalar(r, "a text").map(|raw| r.text_of(raw))
    }
}

impl<'a> DecodeValue<'a, kind::Any> for Cow<'a, str> {
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        let at = r.at();
        match Value::read(r)? {
            Value::String(text) => Ok(text),
            Value::Ref(key) => wrong(at, Token::Ref(&key), "a string"),
            _ => wrong(at, Token::Null, "a string"),
        }
    }
}

impl<'a> DecodeValue<'a, kind::Agent> for Cow<'a, str> {
    #[inline]
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        agent(r).map(Cow::Borrowed)
    }
}

macro_rules! owned_text {
    ($($kind:ident),*) => {$(
        impl EncodeValue<kind::$kind> for String {
            #[inline]
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                EncodeValue::<kind::$kind>::encode_value(self.as_str(), w)
            }
        }

        impl EncodeValue<kind::$kind> for Cow<'_, str> {
            #[inline]
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                EncodeValue::<kind::$kind>::encode_value(self.as_ref(), w)
            }
        }

        impl<'a> DecodeValue<'a, kind::$kind> for String {
            #[inline]
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                <Cow<'a, str> as DecodeValue<'a, kind::$kind>>::decode_value(r).map(Cow::into_owned)
            }
        }
    )*};
}

owned_text!(
    String, Text, Any, Agent, Date, Time, Timestamp, Duration, Uuid, Url
);

macro_rules! unsized_text {
    ($($kind:ident),*) => {$(
        impl EncodeValue<kind::$kind> for Arc<str> {
            #[inline]
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                EncodeValue::<kind::$kind>::encode_value(&**self, w)
            }
        }

        impl<'a> DecodeValue<'a, kind::$kind> for Arc<str> {
            #[inline]
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                <Cow<'a, str> as DecodeValue<'a, kind::$kind>>::decode_value(r).map(Arc::from)
            }
        }

        impl<'a> DecodeValue<'a, kind::$kind> for Box<str> {
            #[inline]
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                <Cow<'a, str> as DecodeValue<'a, kind::$kind>>::decode_value(r).map(Box::from)
            }
        }
    )*};
}

unsized_text!(
    String, Text, Any, Agent, Date, Time, Timestamp, Duration, Uuid, Url
);

impl EncodeValue<kind::Agent> for AgentId<'_> {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        w.raw(self.as_str());
        Ok(())
    }
}

impl<'a> DecodeValue<'a, kind::Agent> for AgentId<'a> {
    #[inline]
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        agent(r).map(AgentId::scanned)
    }
}

impl EncodeValue<kind::String> for AgentId<'_> {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        EncodeValue::<kind::String>::encode_value(self.as_str(), w)
    }
}

impl<'a> DecodeValue<'a, kind::String> for AgentId<'a> {
    #[inline]
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        agent(r).map(AgentId::scanned)
    }
}

// Numbers ----------------------------------------------------------------------------

macro_rules! integers {
    ($($int:ident),*) => {$(
        impl EncodeValue<kind::Integer> for $int {
            #[inline]
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                if i64::try_from(*self).is_err() {
                    let message = format!("{self} is outside the 64-bit range");
                    return Err(EncodeError::new(ErrorCode::INVALID_TYPE, message));
                }
                w.raw(itoa::Buffer::new().format(*self));
                Ok(())
            }
        }

        impl EncodeValue<kind::Any> for $int {
            #[inline]
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                if i64::try_from(*self).is_err() {
                    w.raw("#");
                }
                w.raw(itoa::Buffer::new().format(*self));
                Ok(())
            }
        }

        impl<'a> DecodeValue<'a, kind::Integer> for $int {
            #[inline]
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                parsed(r, concat!("an integer that fits ", stringify!($int)), |raw| {
                    lexical::parse_integer(raw)?.try_into().ok()
                })
            }
        }

        impl<'a> DecodeValue<'a, kind::Any> for $int {
            #[inline]
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                parsed(r, concat!("an integer that fits ", stringify!($int)), |raw| {
                    match Literal::classify(raw) {
                        Literal::Integer(value) => value.try_into().ok(),
                        Literal::Number(Number::Unsigned(value)) => value.try_into().ok(),
                        _ => None,
                    }
                })
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl EncodeValue<kind::Number> for f64 {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        if !self.is_finite() {
            let message = "a number that is not finite cannot be written";
            return Err(EncodeError::new(ErrorCode::INVALID_TYPE, message));
        }
        lexical::write_float(w.out(), *self);
        Ok(())
    }
}

impl EncodeValue<kind::Any> for f64 {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        EncodeValue::<kind::Number>::encode_value(self, w)
    }
}

impl<'a> DecodeValue<'a, kind::Number> for f64 {
    #[inline]
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        parsed(r, "a number", lexical::parse_number)
    }
}

impl<'a> DecodeValue<'a, kind::Any> for f64 {
    #[inline]
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        parsed(r, "a number", lexical::parse_number)
    }
}

impl EncodeValue<kind::Decimal> for Decimal {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        push_display(w.out(), self);
        Ok(())
    }
}

impl<'a> DecodeValue<'a, kind::Decimal> for Decimal {
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        parsed(r, "a decimal of at most 6 places", |raw| {
            lexical::parse_decimal(raw).ok()
        })
    }
}

impl EncodeValue<kind::Any> for Decimal {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        EncodeValue::<kind::Decimal>::encode_value(self, w)
    }
}

impl<'a> DecodeValue<'a, kind::Any> for Decimal {
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        <Self as DecodeValue<'a, kind::Decimal>>::decode_value(r)
    }
}

macro_rules! booleans {
    ($($kind:ident),*) => {$(
        impl EncodeValue<kind::$kind> for bool {
            #[inline]
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                w.raw(if *self { "true" } else { "false" });
                Ok(())
            }
        }

        impl<'a> DecodeValue<'a, kind::$kind> for bool {
            #[inline]
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                parsed(r, "true or false", |raw| match raw {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => None,
                })
            }
        }
    )*};
}

booleans!(Boolean, Any);

// Wrappers ---------------------------------------------------------------------------

impl<K, T: EncodeValue<K>> EncodeValue<K> for Option<T> {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        if let Some(value) = self {
            return value.encode_value(w);
        }
        w.raw("~");
        Ok(())
    }

    #[inline]
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<'a, K, T: DecodeValue<'a, K>> DecodeValue<'a, K> for Option<T> {
    #[inline]
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        if r.take_null() {
            Ok(None)
        } else {
            T::decode_value(r).map(Some)
        }
    }

    #[inline]
    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<K, T: EncodeValue<K> + ?Sized> EncodeValue<K> for &T {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        (**self).encode_value(w)
    }

    #[inline]
    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<K, T: EncodeValue<K> + ?Sized> EncodeValue<K> for Box<T> {
    #[inline]
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        (**self).encode_value(w)
    }

    #[inline]
    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<'a, K, T: DecodeValue<'a, K>> DecodeValue<'a, K> for Box<T> {
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        T::decode_value(r).map(Self::new)
    }

    fn absent() -> Option<Self> {
        T::absent().map(Self::new)
    }
}
