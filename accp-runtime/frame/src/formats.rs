//! Texts of a fixed format: the Rust types of the registry types `date`, `time`, `timestamp`, `duration`, `uuid`
//! and `url`.
//!
//! Each type holds a checked text exactly as it was written. So two timestamps of one instant with different
//! offsets are different values. For calculations, give the field a type of another crate; [`kind`] lists those
//! that fit, and [`parsed`](crate::parsed) takes any other type that is parsed from a text.
//!
//! ```
//! use accp_runtime::formats::Timestamp;
//! use accp_runtime::{AccpFrame, AgentId, Envelope, Typed};
//!
//! #[derive(AccpFrame)]
//! #[accp(intent = "req", operation = "remind")]
//! struct Remind<'a> {
//!     at: Timestamp<'a>,
//! }
//!
//! let remind = Remind { at: "2026-11-28T09:30:00Z".parse()? };
//! let text = Typed::new(AgentId::new("clerk")?, remind, Envelope::default()).encode()?;
//! assert_eq!(text, r"@clerk>req:remind{at:2026-11-28T09\:30\:00Z}");
//! assert!(Timestamp::new("2026-11-28").is_err());
//! # Ok::<(), accp_runtime::EncodeError>(())
//! ```

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use accp_registry::{ErrorCode, Format};

use crate::error::{DecodeError, EncodeError};
use crate::impls::unfit;
use crate::kind;
use crate::reader::Reader;
use crate::typed::DecodeValue;
use crate::writer::{EncodeValue, Writer};

macro_rules! formatted {
    ($($(#[$about:meta])* $name:ident of $($kind:ident)*;)*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name<'a>(Cow<'a, str>);

        impl<'a> $name<'a> {
            /// Checks that a text has the format of this type.
            ///
            /// # Errors
            /// E1004 when the text does not have this format. The error says what is expected.
            pub fn new(text: impl Into<Cow<'a, str>>) -> Result<Self, EncodeError> {
                let text = text.into();
                if Format::$name.holds(&text) {
                    return Ok(Self(text));
                }
                Err(unfit(Format::$name))
            }

            /// Returns the text.
            #[inline]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns the same value, owned.
            pub fn into_owned(self) -> $name<'static> {
                $name(Cow::Owned(self.0.into_owned()))
            }
        }

        impl fmt::Display for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl FromStr for $name<'_> {
            type Err = EncodeError;

            fn from_str(text: &str) -> Result<Self, EncodeError> {
                Self::new(String::from(text))
            }
        }

        impl AsRef<str> for $name<'_> {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name<'_> {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl PartialEq<&str> for $name<'_> {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }

        impl<'a> From<$name<'a>> for Cow<'a, str> {
            fn from(value: $name<'a>) -> Self {
                value.0
            }
        }

        impl From<$name<'_>> for String {
            fn from(value: $name<'_>) -> Self {
                value.0.into_owned()
            }
        }

        impl crate::into_owned::IntoOwned for $name<'_> {
            type Owned = $name<'static>;

            fn into_owned(self) -> $name<'static> {
                $name::into_owned(self)
            }
        }

        $(
            impl EncodeValue<kind::$kind> for $name<'_> {
                fn encode_value(&self, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
                    EncodeValue::<kind::$kind>::encode_value(&self.0, w)
                }
            }

            impl<'a> DecodeValue<'a, kind::$kind> for $name<'a> {
                fn decode_value(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
                    let at = r.at();
                    let text = <Cow<'a, str> as DecodeValue<'a, kind::$kind>>::decode_value(r)?;
                    Self::new(text).map_err(|_| {
                        DecodeError::new(ErrorCode::INVALID_TYPE, at, Format::$name.expected())
                    })
                }
            }
        )*

        #[cfg(feature = "serde")]
        impl ::serde::Serialize for $name<'_> {
            /// Writes the text.
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> ::serde::Deserialize<'de> for $name<'_> {
            /// Reads a text, and refuses a text that does not have the format of this type.
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(::serde::de::Error::custom)
            }
        }
    )*};
}

formatted! {
    /// A day of the calendar, `2026-11-28` ([`Format::Date`]).
    Date of Date String Text Any;
    /// A time of the day with its offset, `09:30:00Z` ([`Format::Time`]).
    Time of Time String Text Any;
    /// An instant with its offset, `2026-11-28T09:30:00Z` ([`Format::Timestamp`]).
    Timestamp of Timestamp String Text Any;
    /// A duration, `P1DT12H` ([`Format::Duration`]).
    Duration of Duration String Text Any;
    /// A UUID, `67e55044-10b1-426f-9247-bb680e5fe0c8` ([`Format::Uuid`]).
    Uuid of Uuid String Text Any;
    /// An absolute URL, `https://example.org/` ([`Format::Url`]).
    Url of Url String Text Any;
}
