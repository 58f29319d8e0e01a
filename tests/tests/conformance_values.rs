//! Conformance, FRAME-06 to FRAME-10: the canonical rules of draft section 3.1.1.
//! `docs/conformance.md` lists the tests of each requirement.

use std::borrow::Cow;

use accp_frame::Number;
use accp_grammar::ast::ValueKind;
use accp_runtime::profiles::{InferStream, TransactionReq};
use accp_runtime::{
    AccpFrame, AgentId, Decimal, DecodeError, DynamicFrame, EncodeError, EncodeOptions, Envelope,
    ErrorCode, Frame, Map, Registry, Typed, Value,
};
use accp_tests::judges::agree;
use proptest::prelude::*;

use crate::codec::warehouse;

fn with_value(text: &str) -> String {
    format!("@a>qry:lookup{{k:{text}}}")
}

/// Returns the value of a wire text without a declared type. Both judges accept the text.
fn read(wire: &str) -> Value<'static> {
    let text = with_value(wire);
    assert!(agree(text.as_bytes()), "{text}");
    Frame::parse(&text)
        .unwrap()
        .value("k")
        .unwrap()
        .into_owned()
}

// ---- FRAME-06 and FRAME-07 ----------------------------------------------------------

fn chunk(index: i64) -> Typed<'static, InferStream<'static>> {
    let frame = InferStream {
        chunk_index: index,
        total_chunks: None,
        data: "x".into(),
        is_final: false,
    };
    Typed::new(
        AgentId::new("a").unwrap(),
        frame,
        Envelope::new("1", 1).answering("1"),
    )
}

fn chunk_text(index: &str) -> String {
    format!("@a>stream:infer{{idx:{index}|d:x|schema:ST}}[mid:1,seq:1,cid:1]")
}

fn transaction_text(amount: &str) -> String {
    format!("@a>req:transaction{{txn:t1|amt:{amount}|schema:TX}}")
}

fn transaction(amount: Decimal) -> Typed<'static, TransactionReq<'static>> {
    let frame = TransactionReq {
        transaction_id: "t1".into(),
        amount,
        currency: "USD".into(),
        account: None,
        reference: None,
        status: "pending".into(),
        retryable: false,
    };
    Typed::new(AgentId::new("a").unwrap(), frame, Envelope::default())
}

fn any_decimal() -> impl Strategy<Value = Decimal> {
    let any = (any::<i64>(), 0..1_000_000_i128).prop_map(|(whole, millionths)| {
        i128::from(whole) * 1_000_000 + millionths * i128::from(whole.signum() | 1)
    });
    prop_oneof![any, -3_000_000..3_000_000_i128]
        .prop_map(|millionths| Decimal::from_millionths(millionths).unwrap())
}

proptest! {
    #[test]
    fn frame_06_accepts_and_writes_every_integer_one_way(integer in prop_oneof![any::<i64>(), -9..10_i64]) {
        let wire = Value::Integer(integer).to_string();
        let digits = wire.strip_prefix('-').unwrap_or(&wire);
        prop_assert!(digits.bytes().all(|byte| byte.is_ascii_digit()));
        prop_assert!(wire == "0" || !digits.starts_with('0'), "{}", wire);
        prop_assert_eq!(read(&wire), Value::Integer(integer));

        let text = chunk(integer).encode().unwrap();
        prop_assert_eq!(&text, &chunk_text(&wire));
        prop_assert_eq!(Typed::decode(&text).unwrap(), chunk(integer));
    }

    /// Other spellings of an integer stay strings where no type is declared. Where an integer is
    /// declared, they are read, and they are written in the one canonical spelling.
    #[test]
    fn frame_06_refuses_other_spellings_of_an_integer(integer: i64, zeros in "0{1,3}") {
        let sign = if integer < 0 { "-" } else { "" };
        let wire = format!("{sign}{zeros}{}", integer.unsigned_abs());
        prop_assert_eq!(read(&wire), Value::from(wire.clone()));
        let text = chunk_text(&wire);
        prop_assert_eq!(Typed::<InferStream<'_>>::decode(&text).unwrap(), chunk(integer));
    }

    #[test]
    fn frame_07_accepts_and_writes_every_decimal_one_way(decimal in any_decimal()) {
        let wire = Value::Decimal(decimal).to_string();
        let (whole, places) = wire.strip_prefix('-').unwrap_or(&wire).split_once('.').unwrap();
        prop_assert!((1..=6).contains(&places.len()) && (places == "0" || !places.ends_with('0')), "{}", wire);
        prop_assert!(whole == "0" || !whole.starts_with('0'), "{}", wire);
        prop_assert!(wire.bytes().all(|byte| b"-.0123456789".contains(&byte)) && wire != "-0.0", "{}", wire);
        prop_assert_eq!(read(&wire), Value::Decimal(decimal));

        let text = transaction(decimal).encode().unwrap();
        prop_assert_eq!(&text, &transaction_text(&wire));
        prop_assert_eq!(Typed::decode(&text).unwrap(), transaction(decimal));
    }

    /// A decimal with more than six places is never rounded, in reading or in writing.
    #[test]
    fn frame_07_refuses_a_seventh_place(whole: u32, places in "[0-9]{6}[1-9]") {
        let wire = format!("{whole}.{places}");
        prop_assert_eq!(read(&wire), Value::from(wire.clone()));
        let text = transaction_text(&wire);
        let error = Typed::<TransactionReq<'_>>::decode(&text).unwrap_err();
        prop_assert_eq!(error.code(), ErrorCode::INVALID_TYPE);
        prop_assert_eq!(error.path(), "TransactionReq.amount");
        let message = DynamicFrame::new("a", "req", "transaction").unwrap().under("TX").with("txn", "t1");
        let error = message.with("amount", wire).encode(Registry::shared()).unwrap_err();
        prop_assert_eq!(error.code(), ErrorCode::INVALID_TYPE);
        prop_assert_eq!(error.path(), "amount");
    }
}

#[test]
fn frame_06_refuses_what_is_no_integer() {
    for wire in [
        "-0",
        "-00",
        "007",
        "9223372036854775808",
        "-9223372036854775809",
    ] {
        assert_eq!(read(wire), Value::from(wire));
    }
    for wire in [
        "1.0",
        "1e3",
        "+1",
        "--1",
        "-",
        "one",
        "true",
        "9223372036854775808",
        "~",
        "$warm.n",
        "[1]",
    ] {
        let text = chunk_text(wire);
        assert!(agree(text.as_bytes()));
        assert!(Typed::<InferStream<'_>>::decode(&text).is_err(), "{text}");
    }
    let text = chunk_text("-0");
    assert_eq!(Typed::decode(&text).unwrap(), chunk(0));
}

// ---- FRAME-08 ----------------------------------------------------------------------

proptest! {
    #[test]
    fn frame_08_accepts_maps_in_any_order_and_writes_them_ascending(
        mut keys in proptest::collection::btree_set("[A-Za-z0-9_]{1,4}", 2..8).prop_map(Vec::from_iter).prop_shuffle()
    ) {
        let entries: Vec<String> = keys.iter().map(|key| format!("{key}:~")).collect();
        let written = read(&format!("{{{}}}", entries.join(","))).to_string();
        let text = with_value(&written);
        assert!(agree(text.as_bytes()));
        let tree = accp_grammar::parse(&text).unwrap();
        let ValueKind::Map(entries) = &tree.payload[0].value.kind else { panic!("{text} holds a map") };
        keys.sort_unstable();
        prop_assert_eq!(entries.iter().map(|entry| entry.key).collect::<Vec<_>>(), keys);
    }

    #[test]
    fn frame_08_refuses_a_key_that_stands_twice(key in "[A-Za-z0-9_]{1,4}", between in "[a-z]{1,4}") {
        let text = with_value(&format!("{{{key}:1,{between}2:~,{key}:1}}"));
        let error = DynamicFrame::decode(&text, Registry::shared()).unwrap_err();
        prop_assert_eq!(error.code(), ErrorCode::PARSE_ERROR);
    }
}

// ---- FRAME-09 ----------------------------------------------------------------------

fn any_scalar() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_decimal().prop_map(Value::from),
        (1_u64 << 63..).prop_map(|value| Value::Number(Number::Unsigned(value))),
        any::<f64>().prop_filter_map("finite", |value| Value::try_from(value).ok()),
        any::<String>().prop_map(Value::from),
        "[A-Za-z0-9_.]{1,12}".prop_map(|key| Value::Ref(key.into())),
    ]
}

fn any_value() -> impl Strategy<Value = Value<'static>> {
    any_scalar().prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec(("[a-z]{1,6}", inner), 0..5)
                .prop_map(|entries| Value::Map(entries.into_iter().collect())),
        ]
    })
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "LC", ignore = "shelf")]
struct Place<'a> {
    aisle: Cow<'a, str>,
}

/// A struct with a field of every type.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(
    registry = "registry/warehouse.json",
    schema = "SV",
    intent = "req",
    operation = "move",
    ignore = "speed"
)]
struct Move<'a> {
    item: Cow<'a, str>,
    target: Place<'a>,
    count: i64,
    weight: Option<Decimal>,
    ratio: Option<f64>,
    fragile: bool,
    by: Option<AgentId<'a>>,
    tags: Vec<Cow<'a, str>>,
    labels: Option<Map<'a>>,
    remark: Option<Cow<'a, str>>,
}

/// Reads a move with one more param, as a type and as a message.
fn moved(param: &str) -> Result<(), (DecodeError, DecodeError)> {
    let text = format!("@a>req:move{{item:x|target:{{z:a}}|{param}|schema:SV}}");
    assert!(agree(text.as_bytes()), "{text}");
    match (
        Typed::<Move<'_>>::decode(&text),
        DynamicFrame::decode(&text, &warehouse()),
    ) {
        (Ok(_), Ok(_)) => Ok(()),
        (Err(typed), Err(dynamic)) => Err((typed, dynamic)),
        (typed, dynamic) => panic!("{text}: {typed:?}, {dynamic:?}"),
    }
}

proptest! {
    #[test]
    fn frame_09_accepts_a_value_of_every_type_and_gives_it_back(value in any_value()) {
        let wire = value.to_string();
        prop_assert_eq!(read(&wire), value);
    }

    #[test]
    fn frame_09_accepts_a_field_of_every_type_and_gives_it_back(
        item: String, aisle: String, count: i64, weight in proptest::option::of(any_decimal()),
        ratio in proptest::option::of(any::<f64>().prop_filter("finite", |value| value.is_finite())),
        fragile: bool, by in proptest::option::of("[A-Za-z0-9_-]{1,8}"),
        tags in proptest::collection::vec(any::<String>(), 0..4),
        labels in proptest::option::of(any_value()), remark: Option<String>,
    ) {
        prop_assume!([&item, &aisle].into_iter().chain(&tags).all(|text| text.chars().count() <= 50));
        let frame = Move {
            item: item.into(),
            target: Place { aisle: aisle.into() },
            count, weight, ratio, fragile,
            by: by.map(|by| AgentId::new(by).unwrap()),
            tags: tags.into_iter().map(Cow::Owned).collect(),
            labels: labels.map(|value| [("label", value)].into_iter().collect()),
            remark: remark.map(Cow::Owned),
        };
        let typed = Typed::new(AgentId::new("a").unwrap(), frame, Envelope::default());
        // Encoding refuses a long value, because only a session can replace it by a reference.
        let Ok(text) = typed.encode() else { return Ok(()) };
        prop_assert!(agree(text.as_bytes()));
        prop_assert_eq!(Typed::decode(&text).unwrap(), typed);
        let registry = warehouse();
        prop_assert_eq!(DynamicFrame::decode(&text, &registry).unwrap().encode(&registry).unwrap(), text);
    }
}

#[test]
fn frame_09_refuses_a_value_of_another_type() {
    for (field, fits, others) in [
        (
            "count",
            "7",
            &["x", "1.5", "true", "[1]", "{a:1}", "#1.5", "\"7"][..],
        ),
        (
            "weight",
            "7.5",
            &["x", "1.1234567", "true", "[1.5]", "{a:1}"],
        ),
        (
            "ratio",
            "#40.7127753",
            &["x", "1e5", "#1.5", "NaN", "true", "[1.5]", "{a:1}"],
        ),
        ("fragile", "true", &["True", "1", "x", "[true]", "{a:1}"]),
        ("by", "dev", &["a.b", "\\@", "\"dev_team", "[dev]", "{a:1}"]),
        ("tags", "[a,b]", &["a", "{a:1}", "[[a]]", "[{}]"]),
        ("labels", "{a:1}", &["a", "[a]", "[[a,1]]"]),
        ("remark", "a_b", &["[a]", "{a:1}"]),
    ] {
        assert_eq!(moved(&format!("{field}:{fits}")), Ok(()));
        for wire in others {
            let (typed, dynamic) = moved(&format!("{field}:{wire}")).unwrap_err();
            assert_eq!(typed.code(), ErrorCode::INVALID_TYPE, "{field}:{wire}");
            assert_eq!(dynamic.code(), typed.code(), "{field}:{wire}");
        }
    }
}

// ---- FRAME-10 ----------------------------------------------------------------------

fn ratio(value: f64) -> Result<String, EncodeError> {
    let frame = Move {
        item: "x".into(),
        target: Place { aisle: "a".into() },
        count: 1,
        weight: None,
        ratio: Some(value),
        fragile: false,
        by: None,
        tags: Vec::new(),
        labels: None,
        remark: None,
    };
    let mut text = String::new();
    let options = EncodeOptions {
        inline: true,
        ..EncodeOptions::default()
    };
    Typed::new(AgentId::new("a").unwrap(), frame, Envelope::default())
        .encode_into(&mut text, options)
        .map(|()| text)
}

proptest! {
    #[test]
    fn frame_10_accepts_any_finite_number_and_writes_it_in_plain_digits(
        value in any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite())
    ) {
        let wire = Value::try_from(value).unwrap().to_string();
        prop_assert!(wire.bytes().all(|byte| b"#-.0123456789".contains(&byte)), "{}", wire);
        let back = match read(&wire) {
            Value::Decimal(decimal) => decimal.to_f64(),
            Value::Number(Number::Float(float)) => float,
            other => panic!("{wire} is {other:?}"),
        };
        prop_assert_eq!(back.to_bits(), value.to_bits());

        let text = ratio(value).unwrap();
        let back = Typed::<Move<'_>>::decode(&text).unwrap();
        prop_assert_eq!(back.frame.ratio.map(f64::to_bits), Some(value.to_bits()));
    }
}

#[test]
fn frame_10_refuses_numbers_that_are_not_finite_or_have_an_exponent() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(
            Value::try_from(value).unwrap_err().code(),
            ErrorCode::INVALID_TYPE
        );
        let error = ratio(value).unwrap_err();
        assert_eq!(
            (error.code(), error.path().as_str()),
            (ErrorCode::INVALID_TYPE, "Move.ratio")
        );
    }
    for wire in [
        "1e5", "1E5", "1e-7", "#1e5", "NaN", "inf", "-inf", "#NaN", "#inf",
    ] {
        assert_eq!(read(wire), Value::from(wire));
        let (typed, _) = moved(&format!("ratio:{wire}")).unwrap_err();
        assert_eq!(typed.code(), ErrorCode::INVALID_TYPE);
    }
}
