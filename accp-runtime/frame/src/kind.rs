//! The types of the registry as marker types, so that the compiler can check a Rust type against
//! the type of its field.
//!
//! `#[derive(AccpFrame)]` writes `<T as DecodeValue<'_, kind::Text>>` for a field that the registry
//! declares as `text`. A Rust type that cannot hold text does not compile. The choice costs nothing
//! at run time.
//!
//! | In the registry | Rust types |
//! |---|---|
//! | `string`, `text` | `Cow<str>`, `String` |
//! | `string` | also [`AgentId`](crate::AgentId), and an enum without data that derives `AccpFrame` |
//! | `integer` | the integers up to 64 bits |
//! | `decimal` | [`Decimal`](crate::Decimal) |
//! | `number` | `f64` |
//! | `boolean` | `bool` |
//! | `agent` | [`AgentId`](crate::AgentId); `Cow<str>` and `String`, which are checked when they are written |
//! | `date`, `time`, `timestamp`, `duration`, `uuid`, `url` | the type of that name in [`formats`](crate::formats); `Cow<str>` and `String`, which are checked when they are written |
//! | `bytes` | `Vec<u8>`, `Cow<[u8]>` |
//! | `enum(..)` | an enum without data that derives `AccpFrame`, with these variants |
//! | `[T]` | `Vec` of a type that holds `T` |
//! | `{T}` | `BTreeMap` from texts to a type that holds `T`; of `{any}` also [`Map`](crate::Map) |
//! | the code of a schema | a struct that derives `AccpFrame` with this schema; for a union an enum |
//! | `any` | [`Value`](crate::Value), and all of these but agents and structs of a schema |
//!
//! `Option`, `Box` and references hold what the type inside holds. An item that is `None` is refused, except in `[any]`,
//! `{any}` and `any`. These types need the standard
//! library, or a feature of their name:
//!
//! | Type | In the registry |
//! |---|---|
//! | `Arc<str>` | as `String` |
//! | `HashMap` (`std`) | as `BTreeMap`; written ascending by key |
//! | `serde_json::Value` | `any`; an object is data, and a reference is refused |
//! | `rust_decimal::Decimal` | `decimal`, without the zeros at its end; `string`, `text` with all its places |
//! | `uuid::Uuid` | `uuid`, `string`, `text`, `any` |
//! | `url::Url` | `url`, `string`, `text`, `any` |
//! | `chrono::DateTime<Utc>`, `time::OffsetDateTime` | `timestamp`, `string`, `text`, `any` as RFC 3339; `integer` as seconds since 1970, like `ts` |
//! | `chrono::NaiveDate`, `time::Date` | `date`, `string`, `text`, `any` as `YYYY-MM-DD` |
//!
//! An `integer` field refuses a time with a fraction of a second, because nothing is rounded. A time that is
//! written as seconds comes back in UTC.
//!
//! A type that is parsed from a text and written as one needs `#[accp(with = accp_runtime::parsed)]`
//! ([`parsed`](crate::parsed)). Any other type converts to one of these by two functions of a module, or implements
//! [`EncodeValue`](crate::EncodeValue) and [`DecodeValue`](crate::DecodeValue):
//!
//! ```
//! use std::time::Duration;
//!
//! use accp_runtime::{AccpFrame, Typed};
//!
//! mod millis {
//!     use std::num::TryFromIntError;
//!     use std::time::Duration;
//!
//!     pub fn encode(value: &Duration) -> Result<i64, TryFromIntError> {
//!         value.as_millis().try_into()
//!     }
//!
//!     pub fn decode(millis: i64) -> Result<Duration, TryFromIntError> {
//!         millis.try_into().map(Duration::from_millis)
//!     }
//! }
//!
//! #[derive(AccpFrame)]
//! #[accp(intent = "qry", operation = "lookup")]
//! struct Lookup {
//!     #[accp(with = millis)]
//!     within: Option<Duration>,
//! }
//!
//! let lookup = Typed::<Lookup>::decode("@a>qry:lookup{within:1500}")?;
//! assert_eq!(lookup.frame.within, Some(Duration::from_millis(1500)));
//! assert_eq!(lookup.encode()?, "@a>qry:lookup{within:1500}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::marker::PhantomData;

/// A kind whose values may be items of a list or of a map. In a field, a null says that the field is not given. In
/// an item, a null is allowed only where it is a value of the kind.
#[doc(hidden)]
pub trait OfItem {
    /// Whether null is a value.
    const HOLDS_NULL: bool = false;
}

/// `string`: the raw text, or a text after the mark `"`. The value is always a text, never a number or a boolean.
#[derive(Debug)]
pub struct String(());
/// `text`: the whole scalar is the text form of the value; a mark is an ordinary character.
#[derive(Debug)]
pub struct Text(());
/// `integer`, within [`i64`].
#[derive(Debug)]
pub struct Integer(());
/// `decimal`, at most six places, exact.
#[derive(Debug)]
pub struct Decimal(());
/// `number`, a float.
#[derive(Debug)]
pub struct Number(());
/// `boolean`.
#[derive(Debug)]
pub struct Boolean(());
/// `agent`: an agent id.
#[derive(Debug)]
pub struct Agent(());
/// `date`: a day of the calendar.
#[derive(Debug)]
pub struct Date(());
/// `time`: a time of the day with its offset.
#[derive(Debug)]
pub struct Time(());
/// `timestamp`: a date and a time.
#[derive(Debug)]
pub struct Timestamp(());
/// `duration`.
#[derive(Debug)]
pub struct Duration(());
/// `uuid`.
#[derive(Debug)]
pub struct Uuid(());
/// `url`: an absolute URL.
#[derive(Debug)]
pub struct Url(());
/// `bytes`: base64 on the wire.
#[derive(Debug)]
pub struct Bytes(());
/// `enum(..)`: one of the names of a closed set.
#[derive(Debug)]
pub struct Enum(());
/// `[T]`.
#[derive(Debug)]
pub struct List<T>(PhantomData<T>);
/// `{T}`.
#[derive(Debug)]
pub struct Map<T>(PhantomData<T>);
/// The code of a schema: a map of that schema's fields.
#[derive(Debug)]
pub struct Schema(());
/// `any`: no type is declared.
#[derive(Debug)]
pub struct Any(());

macro_rules! items {
    ($($kind:ty),*) => {$(
        impl OfItem for $kind {}
    )*};
}

items!(
    String, Text, Integer, Decimal, Number, Boolean, Agent, Date, Time, Timestamp, Duration, Uuid,
    Url, Bytes, Enum, Schema
);

impl<K> OfItem for List<K> {}

impl<K> OfItem for Map<K> {}

impl OfItem for Any {
    const HOLDS_NULL: bool = true;
}
