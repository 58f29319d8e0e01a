//! Types of other crates as values of fields. A reader gets a value back that is equal to the value that was written.
//! If this is impossible, the writer refuses the value.

use alloc::sync::Arc;

use serde_json::Value as Json;

use super::{Decoded, Encoded, wrong};
use crate::into_owned::own;
use crate::kind;
use crate::reader::{Reader, Token};
use crate::typed::DecodeValue;
use crate::value::Value;
use crate::writer::{EncodeValue, Writer};

own!(Arc<str>, Json);

impl EncodeValue<kind::Any> for Json {
    /// Writes the JSON as data: an object with the key `$ref` does not become a reference.
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        EncodeValue::<kind::Any>::encode_value(&Value::from_data(self), w)
    }
}

impl<'a> DecodeValue<'a, kind::Any> for Json {
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        let at = r.at();
        let data = Value::read(r)?.into_data(&mut |_| None);
        data.or_else(|key| wrong(at, Token::Ref(&key), "a value"))
    }
}

/// Implements the registry types `$kind` for a type of another crate that is written as a text. `$write` makes the
/// text, and `$parse` reads it.
#[cfg(any(
    feature = "chrono",
    feature = "time",
    feature = "uuid",
    feature = "url",
    feature = "rust_decimal"
))]
macro_rules! texts {
    ($ty:ty, $what:literal, $write:expr, $parse:expr; $($kind:ident)*) => {
        own!($ty);
        $(
            impl EncodeValue<kind::$kind> for $ty {
                fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                    let text: alloc::string::String = $write(self)?;
                    EncodeValue::<kind::$kind>::encode_value(text.as_str(), w)
                }
            }

            impl<'a> DecodeValue<'a, kind::$kind> for $ty {
                fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                    let at = r.at();
                    let text = <alloc::borrow::Cow<'a, str> as DecodeValue<'a, kind::$kind>>::decode_value(r)?;
                    $parse(&*text).map_err(|_| unfit(at, $what))
                }
            }
        )*
    };
}

#[cfg(any(
    feature = "chrono",
    feature = "time",
    feature = "uuid",
    feature = "url",
    feature = "rust_decimal"
))]
#[cold]
fn unfit(at: usize, what: &'static str) -> crate::error::DecodeError {
    crate::error::DecodeError::new(accp_registry::ErrorCode::INVALID_TYPE, at, what)
}

#[cfg(any(feature = "chrono", feature = "time", feature = "rust_decimal"))]
#[cold]
fn refused(message: alloc::string::String) -> crate::error::EncodeError {
    crate::error::EncodeError::new(accp_registry::ErrorCode::INVALID_TYPE, message)
}

/// Refuses a time between two seconds in a field of whole seconds: nothing is rounded.
#[cfg(any(feature = "chrono", feature = "time"))]
#[cold]
fn between_seconds<T>(time: impl core::fmt::Display) -> Result<T, crate::error::EncodeError> {
    let message = alloc::format!(
        "{time} is between two seconds, and an integer holds whole ones: cut it, or declare the field as a string"
    );
    Err(refused(message))
}

#[cfg(feature = "uuid")]
texts! {
    uuid::Uuid, "a UUID", |uuid: &uuid::Uuid| Ok(alloc::format!("{uuid}")), uuid::Uuid::try_parse;
    Uuid String Text Any
}

#[cfg(feature = "url")]
texts! {
    url::Url, "a URL", |url: &url::Url| Ok(alloc::string::String::from(url.as_str())), url::Url::parse;
    Url String Text Any
}

#[cfg(feature = "chrono")]
mod of_chrono {
    use alloc::format;

    use super::{
        DecodeValue, Decoded, EncodeValue, Encoded, Reader, Writer, between_seconds, kind, own,
        unfit,
    };
    use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};

    texts! {
        DateTime<Utc>, "a time of RFC 3339",
        |time: &DateTime<Utc>| Ok(time.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
        |text: &str| DateTime::parse_from_rfc3339(text).map(|time| time.to_utc());
        Timestamp String Text Any
    }

    texts! {
        NaiveDate, "a date as YYYY-MM-DD", |date: &NaiveDate| Ok(format!("{date}")), str::parse;
        Date String Text Any
    }

    impl EncodeValue<kind::Integer> for DateTime<Utc> {
        /// Writes seconds since 1970, like `ts` (draft section 3.1).
        fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
            if self.timestamp_subsec_nanos() > 0 {
                return between_seconds(self);
            }
            EncodeValue::<kind::Integer>::encode_value(&self.timestamp(), w)
        }
    }

    impl<'a> DecodeValue<'a, kind::Integer> for DateTime<Utc> {
        fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
            let at = r.at();
            let seconds = <i64 as DecodeValue<'a, kind::Integer>>::decode_value(r)?;
            Self::from_timestamp(seconds, 0)
                .ok_or_else(|| unfit(at, "a time in seconds since 1970"))
        }
    }
}

#[cfg(feature = "time")]
mod of_time {
    use alloc::format;

    use super::{
        DecodeValue, Decoded, EncodeValue, Encoded, Reader, Writer, between_seconds, kind, own,
        refused, unfit,
    };
    use time::format_description::well_known::{Iso8601, Rfc3339};
    use time::{Date, OffsetDateTime};

    texts! {
        OffsetDateTime, "a time of RFC 3339",
        |time: &OffsetDateTime| time.format(&Rfc3339).map_err(|error| refused(format!("{time}: {error}"))),
        |text: &str| OffsetDateTime::parse(text, &Rfc3339);
        Timestamp String Text Any
    }

    texts! {
        Date, "a date as YYYY-MM-DD",
        |date: &Date| date.format(&Iso8601::DATE).map_err(|error| refused(format!("{date}: {error}"))),
        |text: &str| Date::parse(text, &Iso8601::DATE);
        Date String Text Any
    }

    impl EncodeValue<kind::Integer> for OffsetDateTime {
        /// Writes seconds since 1970, like `ts` (draft section 3.1). The offset does not travel.
        fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
            if self.nanosecond() > 0 {
                return between_seconds(self);
            }
            EncodeValue::<kind::Integer>::encode_value(&self.unix_timestamp(), w)
        }
    }

    impl<'a> DecodeValue<'a, kind::Integer> for OffsetDateTime {
        fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
            let at = r.at();
            let seconds = <i64 as DecodeValue<'a, kind::Integer>>::decode_value(r)?;
            Self::from_unix_timestamp(seconds)
                .map_err(|_| unfit(at, "a time in seconds since 1970"))
        }
    }
}

#[cfg(feature = "rust_decimal")]
mod of_rust_decimal {
    use alloc::format;

    use super::{
        DecodeValue, Decoded, EncodeValue, Encoded, Reader, Writer, kind, own, refused, unfit,
    };
    use crate::impls::parsed;
    use crate::value::Decimal;

    impl EncodeValue<kind::Decimal> for rust_decimal::Decimal {
        fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
            let plain = self.normalize();
            let decimal: Decimal = format!("{plain}")
                .parse()
                .map_err(|error| refused(format!("{plain}: {error}")))?;
            EncodeValue::<kind::Decimal>::encode_value(&decimal, w)
        }
    }

    impl<'a> DecodeValue<'a, kind::Decimal> for rust_decimal::Decimal {
        /// Keeps the number of decimal places in the text. Frames of this crate have no trailing zeros,
        /// but those of a peer may.
        fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
            parsed(r, "a decimal of at most 6 places", |raw| {
                raw.parse::<Decimal>().ok()?;
                Self::from_str_exact(raw).ok()
            })
        }
    }

    texts! {
        rust_decimal::Decimal, "a decimal of at most 28 digits",
        |decimal: &rust_decimal::Decimal| Ok(format!("{decimal}")), rust_decimal::Decimal::from_str_exact;
        String Text
    }
}
