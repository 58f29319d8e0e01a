//! Types whose values are texts in a fixed format.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::{Format, Registry, Type, from_base64, to_base64};
use proptest::prelude::*;

#[track_caller]
fn holds(format: Format, good: &[&str], bad: &[&str]) {
    for text in good {
        assert!(format.holds(text), "{text}");
    }
    for text in bad {
        assert!(!format.holds(text), "{text}");
    }
}

#[test]
fn a_date_is_a_day_of_the_calendar() {
    let days = |year: u32, month: u32| match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(400) || year.is_multiple_of(4) && !year.is_multiple_of(100) => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    for year in [0, 1, 4, 100, 400, 1900, 2000, 2023, 2024, 2100, 9999] {
        for month in 0..=13 {
            for day in 0..=32 {
                let text = format!("{year:04}-{month:02}-{day:02}");
                let is_day = (1..=days(year, month)).contains(&day);
                assert_eq!(Format::Date.holds(&text), is_day, "{text}");
            }
        }
    }
    let bad = [
        "",
        "2026-1-01",
        "2026-11-28 ",
        "20261128",
        "+2026-11-28",
        "2026/11/28",
        "２026-11-28",
    ];
    holds(Format::Date, &[], &bad);
}

#[test]
fn times_have_an_offset_and_no_second_spelling() {
    let good = ["00:00:00Z", "23:59:59.123456789+23:59", "09:30:00.0-00:00"];
    let bad = [
        "09:30Z",
        "09:30:00",
        "09:30:00z",
        "24:00:00Z",
        "23:60:00Z",
        "23:59:60Z",
        "09:30:00.Z",
        "09:30:00.1234567890Z",
        "09:30:00+24:00",
        "09:30:00+0100",
        "09:30:00+01",
        "09:30:00 Z",
        "",
    ];
    holds(Format::Time, &good, &bad);
    let of_day = |time: &&str| format!("2024-02-29T{time}");
    let (good, bad) = (good.each_ref().map(of_day), bad.each_ref().map(of_day));
    for text in &good {
        assert!(Format::Timestamp.holds(text), "{text}");
    }
    for text in &bad {
        assert!(!Format::Timestamp.holds(text), "{text}");
    }
    let bad = [
        "2026-02-29T09:30:00Z",
        "2026-11-28t09:30:00Z",
        "2026-11-28 09:30:00Z",
        "2026-11-28",
    ];
    holds(Format::Timestamp, &[], &bad);
}

#[test]
fn durations_leave_no_gap() {
    let good = [
        "P1Y",
        "P1Y2M3D",
        "P2M3D",
        "P0D",
        "P3W",
        "PT4H",
        "PT4H5M6S",
        "PT5M6S",
        "P1DT12H",
        "P10Y11MT100S",
    ];
    let bad = [
        "",
        "P",
        "PT",
        "1D",
        "P1",
        "P1H",
        "PT1D",
        "P1Y3D",
        "PT4H6S",
        "P1DT",
        "P3W1D",
        "P1W2W",
        "P-1D",
        "P1.5D",
        "p1d",
        "P1D2D",
        "P1M1Y",
        "PT1S1H",
        "P1DT1HT1M",
        "P 1D",
    ];
    holds(Format::Duration, &good, &bad);
}

#[test]
fn identifiers() {
    let good = [
        "67e55044-10b1-426f-9247-bb680e5fe0c8",
        "00000000-0000-0000-0000-000000000000",
    ];
    let bad = [
        "67E55044-10b1-426f-9247-bb680e5fe0c8",
        "67e5504410b1426f9247bb680e5fe0c8",
        "{67e55044-10b1-426f-9247-bb680e5fe0c8}",
        "67e55044-10b1-426f-9247-bb680e5fe0c",
        "67e55044-10b1-426f-9247-bb680e5fe0cg",
        "",
    ];
    holds(Format::Uuid, &good, &bad);
    let good = [
        "https://example.org/a?b=c%20d#e",
        "mailto:ada@example.org",
        "urn:isbn:0451450523",
        "http://[::1]:80/",
        "a:b",
    ];
    let bad = [
        "",
        "example.org",
        "/a/b",
        "//example.org/",
        "https:",
        ":x",
        "1a:b",
        "https://example.org/a b",
        "https://example.org/é",
        "https://example.org/%2",
        "https://example.org/%zz",
        "https://example.org/\"",
        "https://example.org/{x}",
    ];
    holds(Format::Url, &good, &bad);
}

#[test]
fn the_examples_are_values_and_the_words_are_types() {
    for format in Format::ALL {
        assert!(format.holds(format.example()), "{format:?}");
        assert_eq!(format.word().parse(), Ok(Type::Formatted(format)));
        assert_eq!(Format::named(format.word()), Some(format));
    }
}

#[test]
fn a_default_is_of_the_format() {
    let of = |ty: &str, default| {
        let fields = format!(
            r#""fields": ["x"], "types": {{ "x": "{ty}" }}, "defaults": {{ "x": {default} }}"#
        );
        Registry::from_json(&format!(
            r#"{{ "schemas": {{ "a": {{ "code": "A", {fields} }} }} }}"#
        ))
    };
    let registry = of("timestamp", r#""2026-11-28T09:30:00Z""#).unwrap();
    let wire = registry.schema("A").unwrap().fields[0]
        .default_wire
        .as_deref();
    assert_eq!(wire, Some(r"2026-11-28T09\:30\:00Z"));
    insta::assert_snapshot!(of("date", r#""2026-02-29""#).unwrap_err(), @r#"
    registry:1:93 at /schemas/a/defaults/x: the default of `x` should be a date as YYYY-MM-DD; found the string "2026-02-29"
        write such a value, or change the type of `x`
    "#);
    assert!(of("bytes", r#""aGl""#).is_err());
    assert!(of("uuid", "7").is_err());
}

proptest! {
    #[test]
    fn bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let text = to_base64(&bytes);
        prop_assert!(Format::Bytes.holds(&text));
        prop_assert_eq!(from_base64(&text), Some(bytes));
    }

    /// The same bytes always have the same text: a text that can be read is the text that would be written.
    #[test]
    fn base64_is_read_in_one_spelling(text in "[A-Za-z0-9+/=_ -]{0,6}") {
        if let Some(bytes) = from_base64(&text) {
            prop_assert_eq!(to_base64(&bytes), text);
        }
    }
}

/// Browsers and the crate `url` take more characters than RFC 3986 has.
#[test]
fn a_url_with_other_characters_says_how_to_write_them() {
    let good = ["https://example.org/?a=b%7Cc", "mailto:dev@example.org"];
    holds(Format::Url, &good, &["https://example.org/?a=b|c"]);
    let registry = r#"{ "schemas": { "a": { "code": "A", "fields": ["x"],
        "types": { "x": "url" }, "defaults": { "x": "https://example.org/?a=b|c" } } } }"#;
    let said = Registry::from_json(registry).unwrap_err().to_string();
    assert!(said.contains("with %XX for other characters"), "{said}");
}
