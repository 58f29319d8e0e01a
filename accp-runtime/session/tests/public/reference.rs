//! References, and the paths into values.

use proptest::prelude::*;

use accp_frame::Map;
use accp_frame::{DecodeOptions, Limits, Value};
use accp_session::*;

/// Generates any value that comes back from its wire text.
pub(crate) fn any_value() -> impl Strategy<Value = Value<'static>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        r"[$\\@|a]{1,4}".prop_map(Value::from),
        any_key().prop_map(|key| Value::Ref(key.into())),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-c_.]{1,3}", inner), 0..4)
                .prop_map(|entries| Value::Map(entries.into_iter().collect::<Map<'_>>())),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    let tier = prop_oneof!["hot", "warm", "cold", "ctx", "ext", "[a-z0-9]{1,4}"];
    let name = prop_oneof![
        "p[0-9]{1,3}",
        "k[0-9]{1,4}_[0-9]{1,2}",
        "ckpt_[0-9]{1,2}",
        "[a-z0-9_]{0,4}"
    ];
    (tier, prop::collection::vec(name, 0..4)).prop_map(|(tier, names)| {
        names
            .into_iter()
            .fold(tier, |key, name| format!("{key}.{name}"))
    })
}

fn collect<'v>(value: &'v Value<'_>, out: &mut Vec<&'v str>) {
    match value {
        Value::Ref(key) => out.push(key),
        Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Value::Map(map) => map.iter().for_each(|(_, item)| collect(item, out)),
        _ => {}
    }
}

/// Collects every place in a value that a path can name.
fn places<'v>(value: &'v Value<'static>, path: &str, out: &mut Vec<(String, &'v Value<'static>)>) {
    let mut go = |step: &str, inner: &'v Value<'static>| {
        // A path cannot name a key with a dot in it.
        if !step.contains('.') {
            let path = if path.is_empty() {
                step.to_string()
            } else {
                format!("{path}.{step}")
            };
            out.push((path.clone(), inner));
            places(inner, &path, out);
        }
    };
    match value {
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(at, item)| go(&at.to_string(), item));
        }
        Value::Map(map) => map.iter().for_each(|(key, item)| go(key, item)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn every_key_comes_back_from_what_was_read(key in prop_oneof![any_key(), "[a-z0-9_.]{1,12}"]) {
        let first = key.split('.').next().unwrap();
        let is_tier = ["hot", "warm", "cold", "ctx", "ext"].contains(&first);
        let read = Reference::parse(&key);
        prop_assert_eq!(read.is_some(), is_tier);
        if let Some(reference) = read {
            prop_assert_eq!(reference.to_string(), key);
        }
    }

    #[test]
    fn finds_what_a_reader_finds(values in prop::collection::vec(any_value(), 1..4)) {
        let values = Value::from(values);
        let frame = format!("@a>req:plan{{x:{values}}}[mid:a,note:$ctx.n]");
        let parsed = accp_frame::Frame::parse_with(
            &frame,
            &DecodeOptions { limits: Limits::NONE, marks: true },
        );
        prop_assert!(parsed.is_ok(), "{}", frame);
        let mut expected = Vec::new();
        collect(&values, &mut expected);
        expected.push("ctx.n");
        expected.sort_unstable();
        let mut found: Vec<_> = references(&frame).collect();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn values_come_back_from_their_bytes(value in any_value()) {
        let text = value.to_string();
        prop_assert_eq!(read_value(text.as_bytes()), Ok(value));
    }

    #[test]
    fn reads_any_bytes_or_refuses_them(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(value) = read_value(&bytes) {
            let text = value.to_string();
            prop_assert_eq!(read_value(text.as_bytes()), Ok(value.clone()));
        }
    }

    #[test]
    fn a_path_leads_to_every_part_of_a_value(value in any_value()) {
        let mut all = Vec::new();
        places(&value, "", &mut all);
        for (path, part) in all {
            let reference = Reference { target: Target::Context("a"), path: Some(&path) };
            prop_assert_eq!(reference.walk(&value), Some(Walk::Value(part)), "{}", path);
            let beyond = format!("{path}.zz");
            let beyond = Reference { path: Some(&beyond), ..reference }.walk(&value);
            let expected = match part {
                Value::Ref(key) => Some(Walk::Reference { key, rest: "zz" }),
                _ => None,
            };
            prop_assert_eq!(beyond, expected);
        }
    }
}

#[test]
fn tells_the_targets_apart() {
    let cold = |name| Target::Cold(ColdKey::parse(name).unwrap());
    let foreign = |session, name| Target::Foreign {
        session,
        key: ColdKey::parse(name).unwrap(),
    };
    let member = |number| MemberId::new(number).unwrap();
    let value = |number, of| ColdKey::Value {
        member: member(of),
        number,
    };
    assert_eq!(ColdKey::parse("k101_12"), Some(value(12, 101)));
    assert_eq!(ColdKey::parse("p57"), Some(ColdKey::Frame(57)));
    for (key, target, path) in [
        ("hot.p57", Target::Hot(57), None),
        ("hot.p57.task", Target::Hot(57), Some("task")),
        ("hot.p0", Target::Unknown("hot.p0"), None),
        ("hot.p057", Target::Unknown("hot.p057"), None),
        ("hot.57", Target::Unknown("hot.57"), None),
        ("warm.ckpt_1.status", Target::Warm(1), Some("status")),
        ("warm.ckpt_", Target::Unknown("warm.ckpt_"), None),
        ("cold.p57.a.0", cold("p57"), Some("a.0")),
        ("cold.k101_12", Target::Cold(value(12, 101)), None),
        ("cold.k099_1", Target::Cold(ColdKey::Other("k099_1")), None),
        (
            "cold.k0101_1",
            Target::Cold(ColdKey::Other("k0101_1")),
            None,
        ),
        ("cold.k900_1", Target::Cold(ColdKey::Other("k900_1")), None),
        ("cold.k101_0", Target::Cold(ColdKey::Other("k101_0")), None),
        ("cold.notes", Target::Cold(ColdKey::Other("notes")), None),
        (
            "cold.p99999999999999999999",
            Target::Cold(ColdKey::Other("p99999999999999999999")),
            None,
        ),
        ("cold.", Target::Unknown("cold."), None),
        ("cold", Target::Unknown("cold"), None),
        ("ctx.sales_db", Target::Context("sales_db"), None),
        ("ctx.a..b", Target::Context("a"), Some(".b")),
        ("ctx.", Target::Unknown("ctx."), None),
        (
            "ext.s1.k101_12.rows",
            foreign("s1", "k101_12"),
            Some("rows"),
        ),
        ("ext.s1.p7", foreign("s1", "p7"), None),
        ("ext.s1", Target::Unknown("ext.s1"), None),
        ("ext..p7", Target::Unknown("ext..p7"), None),
    ] {
        assert_eq!(
            Reference::parse(key),
            Some(Reference { target, path }),
            "{key}"
        );
    }
    for opaque in ["42.30", "api.crm", "Hot.p1", "hots.p1", "."] {
        assert_eq!(Reference::parse(opaque), None, "{opaque}");
    }
}

#[test]
fn says_what_is_no_value() {
    let error = |bytes: &[u8]| read_value(bytes).unwrap_err().to_string();
    insta::assert_snapshot!(error(b"[1"), @"E1001 at byte 2: expected ',' or ']' after an element, found the end");
    insta::assert_snapshot!(error(b"1|"), @"E1001 at byte 1: expected the end of the frame, found '|'");
    insta::assert_snapshot!(error(b"\xff"), @"E1001 at byte 0: expected printable ASCII; a text value writes other characters as %XX");
}
