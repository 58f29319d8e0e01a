//! Types of other crates: a reader gets back an equal value, or the writer refuses the value.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use accp_runtime::{
    AccpFrame, AgentId, DecodeValue, EncodeError, EncodeValue, Envelope, Typed, Value, kind,
};
use serde_json::{Value as Json, json};

/// A frame with one field without a declared type.
#[derive(AccpFrame, Debug, PartialEq)]
#[accp(intent = "qry", operation = "lookup")]
struct Untyped<T> {
    of: T,
}

/// Wraps a value, so that a field of type `any` is written and read as the type `K`.
#[derive(Debug, PartialEq)]
struct As<K, T>(T, std::marker::PhantomData<K>);

impl<K, T: EncodeValue<K>> EncodeValue<kind::Any> for As<K, T> {
    fn encode_value(&self, w: &mut accp_frame::Writer<'_, '_>) -> Result<(), EncodeError> {
        self.0.encode_value(w)
    }
}

impl<'a, K, T: DecodeValue<'a, K>> DecodeValue<'a, kind::Any> for As<K, T> {
    fn decode_value(r: &mut accp_frame::Reader<'a>) -> Result<Self, accp_frame::DecodeError> {
        T::decode_value(r).map(|value| Self(value, std::marker::PhantomData))
    }
}

fn written<K, T: EncodeValue<K>>(value: T) -> Result<String, EncodeError> {
    let frame = Untyped {
        of: As(value, std::marker::PhantomData),
    };
    let text = Typed::new(AgentId::new("a")?, frame, Envelope::default()).encode()?;
    let field = text.strip_prefix("@a>qry:lookup{of:").unwrap();
    Ok(String::from(field.strip_suffix('}').unwrap()))
}

/// Returns the value that a field of kind `K` has with this wire text, or the error.
fn read<K, T: for<'t> DecodeValue<'t, K>>(text: &str) -> Result<T, String> {
    let frame = format!("@a>qry:lookup{{of:{text}}}");
    let typed = Typed::<Untyped<As<K, T>>>::decode(&frame);
    typed
        .map(|typed| typed.frame.of.0)
        .map_err(|error| error.to_string())
}

/// Checks that a value in a field of kind `K` is written as this text, and that the text is read as an equal value.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a value at the call reads better"
)]
#[track_caller]
fn comes_back<K, T>(value: T, text: &str)
where
    T: EncodeValue<K> + for<'t> DecodeValue<'t, K> + Debug + PartialEq,
{
    assert_eq!(written::<K, _>(&value).unwrap(), text);
    assert_eq!(read::<K, T>(text).unwrap(), value);
}

#[test]
fn shared_texts() {
    comes_back::<kind::String, Arc<str>>("a b".into(), "\"a_b");
    comes_back::<kind::Text, Arc<str>>("42".into(), "42");
    comes_back::<kind::Any, Arc<str>>("42".into(), "\"42");
    comes_back::<kind::Agent, Arc<str>>("dev".into(), "dev");
    assert!(written::<kind::Agent, Arc<str>>("dev team".into()).is_err());
}

#[test]
fn hash_maps_are_written_in_one_order() {
    let map: HashMap<String, i64> = (0..20).map(|n| (format!("k{n:02}"), n)).collect();
    let text: Vec<String> = (0..20).map(|n| format!("k{n:02}:{n}")).collect();
    comes_back::<kind::Map<kind::Integer>, _>(map, &format!("{{{}}}", text.join(",")));
    let odd = HashMap::from([(String::from("first-name"), true)]);
    comes_back::<kind::Any, _>(odd, "{_:[[first-name,true]]}");
    let twice = read::<kind::Any, HashMap<String, i64>>("{k:1,k:2}").unwrap_err();
    assert!(twice.contains("every key once"), "{twice}");
}

#[test]
fn a_hash_map_takes_the_params_without_a_field() {
    #[derive(AccpFrame, Debug, PartialEq)]
    #[accp(intent = "qry", operation = "lookup")]
    struct Open {
        of: i64,
        #[accp(flatten)]
        more: HashMap<String, Json>,
    }

    let text = "@a>qry:lookup{a:1|b:[x]|of:2|z:~}";
    let open = Typed::<Open>::decode(text).unwrap();
    assert_eq!(open.frame.more["b"], json!(["x"]));
    assert_eq!(open.encode().unwrap(), text);
}

/// A map of other fields holds a field of every type with a format, and refuses a text of another format.
#[test]
fn a_map_takes_the_fields_with_formats() {
    #[derive(AccpFrame, Debug, PartialEq)]
    #[accp(registry = "../../tests/registry/stamps.json")]
    #[accp(schema = "SP", intent = "req", operation = "stamp")]
    struct Stamped<'a> {
        on: String,
        #[accp(flatten)]
        rest: accp_runtime::Map<'a>,
    }

    let text = r"@a>req:stamp{on:2026-11-28|at:09\:30\:00Z|when:2026-11-28T09\:30\:00Z|span:PT1H|key:67e55044-10b1-426f-9247-bb680e5fe0c8|link:https\://a.org/|raw:AQID|days:[2026-11-28]|keys:{a:AQ}|schema:SP}";
    let stamped = Typed::<Stamped<'_>>::decode(text).unwrap();
    let days = Value::Array(vec![Value::from("2026-11-28")]);
    assert_eq!(stamped.frame.rest.get("days"), Some(&days));
    assert_eq!(stamped.encode().unwrap(), text);
    assert!(Typed::<Stamped<'_>>::decode(&text.replace("PT1H", "soon")).is_err());
    let mut rest = accp_runtime::Map::new();
    rest.insert("at", Value::from("now"));
    let agent = AgentId::new("a").unwrap();
    let error = Typed::new(
        agent,
        Stamped {
            on: "2026-11-28".into(),
            rest,
        },
        Envelope::default(),
    )
    .encode();
    assert_eq!(error.unwrap_err().path(), "Stamped.at");
}

#[test]
fn json_is_data() {
    for (json, text) in [
        (json!(null), "~"),
        (json!({ "b": [1, 2.5], "a": "x" }), "{a:x,b:[1,2.5]}"),
        (json!({ "$ref": "cold.k1" }), r"{_:[[\$ref,cold.k1]]}"),
        (json!(u64::MAX), "#18446744073709551615"),
        (json!(1e20), "#100000000000000000000"),
    ] {
        comes_back::<kind::Any, Json>(json, text);
    }
    let error = read::<kind::Any, Json>("{k:$cold.k1}").unwrap_err();
    assert!(error.starts_with("E2001"), "{error}");
}

#[cfg(feature = "uuid")]
#[test]
fn uuids() {
    use uuid::Uuid;

    let text = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    let uuid: Uuid = text.parse().unwrap();
    comes_back::<kind::Uuid, _>(uuid, text);
    comes_back::<kind::String, _>(uuid, text);
    comes_back::<kind::Any, _>(uuid, text);
    insta::assert_snapshot!(read::<kind::Text, Uuid>("67e5").unwrap_err(), @"E1004 at byte 17 in Untyped.of: expected a UUID");
}

#[cfg(feature = "url")]
#[test]
fn urls() {
    use url::Url;

    let url: Url = "https://example.com/a?b=c".parse().unwrap();
    comes_back::<kind::String, _>(url.clone(), r"https\://example.com/a?b=c");
    comes_back::<kind::Text, _>(url, r"https\://example.com/a?b=c");
    insta::assert_snapshot!(read::<kind::String, Url>("nowhere").unwrap_err(), @"E1004 at byte 17 in Untyped.of: expected a URL");
}

#[cfg(feature = "chrono")]
#[test]
fn times_of_chrono() {
    use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

    let time = DateTime::from_timestamp(1_714_000_000, 0).unwrap();
    comes_back::<kind::Integer, DateTime<Utc>>(time, "1714000000");
    comes_back::<kind::Text, DateTime<Utc>>(time, r"2024-04-24T23\:06\:40Z");
    let later = time + TimeDelta::nanoseconds(5);
    comes_back::<kind::Text, DateTime<Utc>>(later, r"2024-04-24T23\:06\:40.000000005Z");
    insta::assert_snapshot!(written::<kind::Integer, _>(later).unwrap_err(), @"Untyped.of: 2024-04-24 23:06:40.000000005 UTC is between two seconds, and an integer holds whole ones: cut it, or declare the field as a string");
    insta::assert_snapshot!(read::<kind::Integer, DateTime<Utc>>("9223372036854775807").unwrap_err(), @"E1004 at byte 17 in Untyped.of: expected a time in seconds since 1970");
    insta::assert_snapshot!(read::<kind::Text, DateTime<Utc>>("yesterday").unwrap_err(), @"E1004 at byte 17 in Untyped.of: expected a time of RFC 3339");
    let date = NaiveDate::from_ymd_opt(2024, 4, 24).unwrap();
    comes_back::<kind::String, _>(date, "2024-04-24");
    insta::assert_snapshot!(read::<kind::String, NaiveDate>("24.4.2024").unwrap_err(), @"E1004 at byte 17 in Untyped.of: expected a date as YYYY-MM-DD");
}

#[cfg(feature = "time")]
#[test]
fn times_of_time() {
    use time::{Date, Duration, Month, OffsetDateTime, UtcOffset};

    let time = OffsetDateTime::from_unix_timestamp(1_714_000_000).unwrap();
    comes_back::<kind::Integer, _>(time, "1714000000");
    comes_back::<kind::Text, _>(time, r"2024-04-24T23\:06\:40Z");
    let east = time.to_offset(UtcOffset::from_hms(2, 0, 0).unwrap());
    comes_back::<kind::Text, _>(east, r"2024-04-25T01\:06\:40+02\:00");
    comes_back::<kind::Integer, _>(east, "1714000000");
    let later = time + Duration::nanoseconds(5);
    comes_back::<kind::Text, _>(later, r"2024-04-24T23\:06\:40.000000005Z");
    insta::assert_snapshot!(written::<kind::Integer, _>(later).unwrap_err(), @"Untyped.of: 2024-04-24 23:06:40.000000005 +00:00:00 is between two seconds, and an integer holds whole ones: cut it, or declare the field as a string");
    insta::assert_snapshot!(read::<kind::Integer, OffsetDateTime>("9223372036854775807").unwrap_err(), @"E1004 at byte 17 in Untyped.of: expected a time in seconds since 1970");
    insta::assert_snapshot!(read::<kind::Text, OffsetDateTime>("yesterday").unwrap_err(), @"E1004 at byte 17 in Untyped.of: expected a time of RFC 3339");
    let date = Date::from_calendar_date(2024, Month::April, 24).unwrap();
    comes_back::<kind::String, _>(date, "2024-04-24");
    insta::assert_snapshot!(read::<kind::String, Date>("24.4.2024").unwrap_err(), @"E1004 at byte 17 in Untyped.of: expected a date as YYYY-MM-DD");
}

#[cfg(feature = "rust_decimal")]
#[test]
fn decimals() {
    use rust_decimal::Decimal;

    comes_back::<kind::Decimal, Decimal>("142.5".parse().unwrap(), "142.5");
    assert!(written::<kind::Decimal, _>("0.1234567".parse::<Decimal>().unwrap()).is_err());
    assert!(read::<kind::Decimal, Decimal>("0.1234567").is_err());
}

/// The draft strips trailing zeros from a decimal (section 3.1). A text keeps them.
#[cfg(feature = "rust_decimal")]
#[test]
fn a_decimal_keeps_its_places_as_a_text() {
    use rust_decimal::Decimal;

    let price: Decimal = "4.10".parse().unwrap();
    assert_eq!(price.scale(), 2);
    assert_eq!(written::<kind::Decimal, _>(price).unwrap(), "4.1");
    // Equal decimals may differ in their places, so the texts are compared.
    let shown = |text| read::<kind::Decimal, Decimal>(text).unwrap().to_string();
    assert_eq!(shown("4.10"), "4.10");
    assert_eq!(shown("4"), "4");
    assert_eq!(shown("-0.000100"), "-0.000100");

    assert_eq!(written::<kind::String, _>(price).unwrap(), "4.10");
    assert_eq!(written::<kind::Text, _>(price).unwrap(), "4.10");
    let shown = |text| read::<kind::String, Decimal>(text).unwrap().to_string();
    assert_eq!(shown("4.10"), "4.10");
    assert_eq!(shown("0.0000000001"), "0.0000000001");
    insta::assert_snapshot!(
        read::<kind::String, Decimal>("about_4").unwrap_err(),
        @"E1004 at byte 17 in Untyped.of: expected a decimal of at most 28 digits"
    );
}

#[cfg(feature = "rust_decimal")]
proptest::proptest! {
    /// A decimal that is written as a text comes back with the same value and the same number of places.
    #[test]
    fn a_decimal_in_a_text_comes_back(digits in proptest::prelude::any::<i64>(), places in 0..=28_u32) {
        use rust_decimal::Decimal;

        let decimal = Decimal::new(digits, places);
        let wire = written::<kind::String, _>(decimal).unwrap();
        let back = read::<kind::String, Decimal>(&wire).unwrap();
        proptest::prop_assert_eq!((back, back.scale()), (decimal, places));
    }
}
