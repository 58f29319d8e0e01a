//! Conformance, OPT-01 to OPT-06: the token rules of draft section 3.3.
//! `docs/conformance.md` lists the tests of each requirement.

use std::borrow::Cow;

use accp_registry::{Schema, Type};
use accp_runtime::profiles::{ExecuteReq, ScheduleReq};
use accp_runtime::{
    AccpFrame, DynamicFrame, Envelope, ErrorCode, Frame, Registry, TokenCounter as _, Typed, Value,
};
use accp_tests::judges::agree;
use accp_tokens::Bpe;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::codec::{code_of, decode, encode, lookup, warehouse};

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any::<String>().prop_map(Json::from),
        "[ \t\r\n\u{85}\u{a0}\u{2028}\u{3000}_%a]{0,6}".prop_map(Json::from),
    ];
    leaf.prop_recursive(1, 8, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

// ---- OPT-01 ------------------------------------------------------------------------

proptest! {
    #[test]
    fn opt_01_accepts_any_value_and_writes_it_without_white_space(
        json in any_json(), content: String, cid: String
    ) {
        let envelope = Envelope::new("1", 1).answering(cid.clone());
        let free = lookup().with("value", Value::from_json(&json)).in_envelope(envelope.clone());
        let chat = DynamicFrame::new("a", "done", "chat").unwrap().under("CH").with("content", content).in_envelope(envelope);
        for message in [free, chat] {
            let text = encode(&message).unwrap();
            prop_assert!(text.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{}", text);
            let back = decode(&text).unwrap();
            prop_assert!(message.payload.iter().all(|(key, value)| back.payload.get(key) == Some(value)));
            prop_assert_eq!(back.envelope, message.envelope);
        }
    }

    #[test]
    fn opt_01_refuses_white_space_anywhere(
        text in accp_grammar::testing::frame_text(), at: prop::sample::Index,
        space in prop::sample::select(&[" ", "\t", "\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{a0}", "\u{2003}"][..]),
    ) {
        let (before, after) = text.split_at(at.index(text.len() + 1));
        let spaced = [before, space, after].concat();
        prop_assert!(!agree(spaced.as_bytes()));
        prop_assert_eq!(Frame::parse(&spaced).unwrap_err().at(), before.len());
    }
}

/// Returns a value for a field.
fn value_of(schema: &Schema, name: &str) -> Value<'static> {
    match schema.field(name).unwrap().1.ty {
        Type::Integer | Type::Decimal => Value::from(7),
        Type::Boolean => Value::from(true),
        _ => Value::from("x"),
    }
}

// ---- OPT-02 ------------------------------------------------------------------------

#[test]
fn opt_02_accepts_full_names_and_writes_the_short_ones() {
    let registry = Registry::shared();
    for schema in registry.schemas() {
        for field in &schema.fields {
            assert!(field.short.len() <= field.name.len());
            let names = schema.fields.iter().filter(|other| {
                [&other.name, &other.short]
                    .iter()
                    .any(|&name| *name == field.short || *name == field.name)
            });
            assert_eq!(names.count(), 1, "{} {}", schema.code, field.name);
            // A field of any type that is not required can hold a null, and null is never the default.
            let mut message = DynamicFrame::new("a", "sync", "state")
                .unwrap()
                .under(schema.code.as_str());
            for required in schema.required(&["sync", "state"]) {
                message.payload.insert(required, value_of(schema, required));
            }
            if field.required {
                assert_eq!(
                    message
                        .encode(registry)
                        .unwrap()
                        .matches(&format!("{}:", field.short))
                        .count(),
                    1
                );
                continue;
            }
            message.payload.insert(field.name.as_str(), Value::Null);
            let text = message.encode(registry).unwrap();
            let frame = Frame::parse(&text).unwrap();
            assert_eq!(frame.get(&field.short).unwrap().as_str(), "~", "{text}");
            let back = decode(&text).unwrap();
            assert_eq!(back.payload.get(&field.name), Some(&Value::Null), "{text}");
        }
    }
}

/// Section 3.3 counts tokens, so a name of one token is short enough.
#[test]
fn opt_02_accepts_names_of_one_token() {
    let tokens = |name: &str| Bpe::o200k_base().count(&format!("@a>req:plan{{x:1|{name}:1}}"));
    for schema in Registry::shared().schemas() {
        for field in &schema.fields {
            let (code, short) = (&schema.code, field.short.as_str());
            // This name costs more tokens, but the draft's own examples use it.
            if short != "asgn" {
                assert_eq!(tokens(short), tokens("d"), "{code}: {short}");
            }
        }
    }
}

#[test]
fn opt_02_refuses_an_abbreviation_that_means_two_fields() {
    for (abbreviations, about) in [
        (json!({ "source_file": "s", "status": "s" }), "`s`"),
        (json!({ "source_file": "status" }), "`status`"),
        (json!({ "source_file": "src" }), "src"),
    ] {
        let schema = json!({
            "code": "RP", "fields": ["source_file", "status", "source"], "abbreviations": abbreviations
        });
        let text = json!({ "schemas": { "report": schema } }).to_string();
        let problems = Registry::from_json(&text).unwrap_err().to_string();
        assert!(problems.contains(about), "{problems}");
    }
}

// ---- OPT-04 ------------------------------------------------------------------------

#[test]
fn opt_04_accepts_defaults_and_leaves_them_out() {
    let registry = Registry::shared();
    let mut left_out = 0;
    for schema in registry.schemas() {
        for frame in &schema.frames {
            let mut message = DynamicFrame::new("a", frame.intent(), frame.operation())
                .unwrap()
                .under(schema.code.as_str());
            message.envelope = Envelope::new("1", 1).answering("0");
            for required in schema.required(&frame.head) {
                message.payload.insert(required, value_of(schema, required));
            }
            let bare = message.encode(registry).unwrap();
            let filled = decode(&bare).unwrap();
            for (index, field) in schema.fields.iter().enumerate() {
                if schema.has_default(index, &frame.head) {
                    let default = field.default.as_ref().unwrap();
                    assert_eq!(filled.payload.get(&field.name).unwrap().to_json(), *default);
                    assert!(!bare.contains(&format!("{}:", field.short)), "{bare}");
                    left_out += 1;
                }
            }
            assert_eq!(filled.encode(registry).unwrap(), bare);
        }
    }
    assert_eq!(left_out, 13);
}

proptest! {
    /// A field is left out exactly when its value is the default.
    #[test]
    fn opt_04_accepts_every_other_value_and_writes_it(priority in "[a-z]{1,8}|medium") {
        let text = format!("@a>req:execute{{asgn:dev|task:t|pri:{priority}|schema:TA}}");
        let message = decode(&text).unwrap();
        prop_assert_eq!(message.payload.get("priority"), Some(&Value::from(priority.as_str())));
        let canonical = message.encode(Registry::shared()).unwrap();
        prop_assert_eq!(canonical.contains("pri:"), priority != "medium");
        let typed = Typed::<ExecuteReq<'_>>::decode(&text).unwrap();
        prop_assert_eq!(typed.encode().unwrap(), canonical);
    }
}

#[test]
fn opt_04_refuses_an_omission_without_a_default() {
    assert_eq!(
        code_of("@a>req:execute{asgn:dev|schema:TA}"),
        ErrorCode::INVALID_TYPE
    );
    let text = "@a>req:schedule{asgn:dev|schema:TA}";
    assert_eq!(
        Typed::<ScheduleReq<'_>>::decode(text).unwrap_err().code(),
        ErrorCode::INVALID_TYPE
    );
    // A default is the value of a missing field, so a default of the wrong type is a mistake of
    // the registry.
    for (default, about) in [
        (json!("three"), "/defaults/turn"),
        (json!(1.5), "/defaults/turn"),
    ] {
        let schema = json!({ "code": "X", "fields": ["turn"], "types": { "turn": "integer" }, "defaults": { "turn": default } });
        let text = json!({ "schemas": { "x": schema } }).to_string();
        assert!(
            Registry::from_json(&text)
                .unwrap_err()
                .to_string()
                .contains(about)
        );
    }
    // Null is not the default, so it is written.
    let null = decode("@a>req:execute{asgn:dev|task:t|pri:~|schema:TA}").unwrap();
    assert_eq!(null.payload.get("priority"), Some(&Value::Null));
    assert!(null.encode(Registry::shared()).unwrap().contains("pri:~"));
}

// ---- OPT-05 ------------------------------------------------------------------------

proptest! {
    #[test]
    fn opt_05_accepts_arrays_and_writes_commas_alone(words in proptest::collection::vec("[a-z]{1,8}", 0..9)) {
        let values: Vec<Value<'_>> = words.iter().map(|word| Value::from(word.as_str())).collect();
        let text = encode(&lookup().with("list", values)).unwrap();
        let expected = format!("@a>qry:lookup{{list:[{}]}}", words.join(","));
        prop_assert!(agree(text.as_bytes()));
        prop_assert_eq!(text, expected);
    }
}

#[test]
fn opt_05_refuses_spaces_in_arrays() {
    for list in [
        "[a, b]", "[a ,b]", "[ a]", "[a ]", "[ ]", "[a,\tb]", "[a\nb]",
    ] {
        let text = format!("@a>qry:lookup{{list:{list}}}");
        assert!(!agree(text.as_bytes()));
        assert_eq!(
            Frame::parse(&text).unwrap_err().code(),
            ErrorCode::PARSE_ERROR
        );
    }
}

// ---- OPT-06 ------------------------------------------------------------------------

#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
enum Trend {
    #[accp(symbol = "+")]
    Up,
    #[accp(symbol = "-")]
    Down,
    Level,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(
    registry = "registry/warehouse.json",
    schema = "SV",
    intent = "done",
    operation = "move",
    ignore = "count"
)]
struct Stock<'a> {
    item: Cow<'a, str>,
    trend: Option<Trend>,
}

fn stock(trend: &str) -> String {
    format!("@a>done:move{{item:x|trend:{trend}|schema:SV}}[cid:c]")
}

#[test]
fn opt_06_accepts_name_and_symbol_and_writes_the_symbol() {
    let registry = warehouse();
    for (trend, name, symbol) in [
        (Trend::Up, "up", "+"),
        (Trend::Down, "down", "-"),
        (Trend::Level, "level", "level"),
    ] {
        for wire in [name, symbol] {
            let text = stock(wire);
            assert!(agree(text.as_bytes()));
            let typed = Typed::<Stock<'_>>::decode(&text).unwrap();
            assert_eq!(typed.frame.trend, Some(trend));
            assert_eq!(typed.encode().unwrap(), stock(symbol));
            let message = DynamicFrame::decode(&text, &registry).unwrap();
            assert_eq!(message.payload.get("trend"), Some(&Value::from(name)));
            assert_eq!(message.encode(&registry).unwrap(), stock(symbol));
        }
    }
}

#[test]
fn opt_06_refuses_what_is_neither_name_nor_symbol() {
    let registry = warehouse();
    for wire in ["*", "Up", "upward", "\\>", "++"] {
        let text = stock(wire);
        let codes = [
            Typed::<Stock<'_>>::decode(&text).unwrap_err().code(),
            DynamicFrame::decode(&text, &registry).unwrap_err().code(),
        ];
        assert_eq!(codes, [ErrorCode::INVALID_TYPE; 2]);
    }
    let message = DynamicFrame::decode(&stock("+"), &registry)
        .unwrap()
        .into_owned()
        .with("trend", "sideways");
    assert_eq!(
        message.encode(&registry).unwrap_err().code(),
        ErrorCode::INVALID_TYPE
    );
    for ty in [
        "enum(up=+,more=+)",
        "enum(up=down,down)",
        "enum(up=up)",
        "enum(up=)",
    ] {
        let schema = json!({ "code": "X", "fields": ["t"], "types": { "t": ty } });
        Registry::from_json(&json!({ "schemas": { "x": schema } }).to_string()).unwrap_err();
    }
}
