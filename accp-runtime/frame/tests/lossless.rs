//! Round trips: every JSON value comes back equal from a frame, and every wire text decodes to a
//! value with one spelling.

use std::collections::BTreeMap;

use accp_runtime::{
    DynamicFrame, EncodeError, EncodeOptions, Envelope, External, Externals, Frame, Limits, Reason,
    Registry, Value,
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// Returns keys and texts that are often awkward.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z_ ]{0,8}",
        2 => r##"["#%$~@:{}\[\]|,\\>_ 0-9A-Fa-f]{0,8}"##,
        2 => any::<String>(),
        1 => "[ -~]{40,70}",
        1 => prop::sample::select(vec![
            "", "_", "%", "%25", "true", "false", "~", "-0", "007", "42", "1.0", "1.10", "\"", "#", "#1",
            "$ref", "$$ref", "schema", "first-name", "line\nbreak", "🙂", "#40.7127753", "1e5", "NaN",
        ]).prop_map(str::to_owned),
    ]
}

fn number() -> impl Strategy<Value = Json> {
    prop_oneof![
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>()
            .prop_filter("JSON holds finite numbers", |f| f.is_finite())
            .prop_map(|f| json!(f)),
        (-1_000_000_000_i64..1_000_000_000, 0..8_i32)
            .prop_map(|(n, places)| json!(n as f64 / 10_f64.powi(places))),
        prop::sample::select(vec![
            json!(1.0),
            json!(-0.0),
            json!(40.712_775_3),
            json!(1e300),
            json!(1e19),
            json!(1e20),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(5e-324),
            json!(1e15),
            json!(9_007_199_254_740_993_i64),
            json!(0.1),
        ]),
    ]
}

fn any_json(depth: u32) -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number(),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(depth, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::btree_map(text(), inner.clone(), 0..6)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
            // With one `$` this is a reference, and with more it is data of the same shape.
            (1..4_usize, "[a-z.]{0,6}")
                .prop_map(|(n, key)| json!({ format!("{}ref", "$".repeat(n)): key })),
        ]
    })
}

#[derive(Debug, Default)]
struct Kept(BTreeMap<String, (Json, Reason)>);

impl Externals for Kept {
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
        let key = format!("cold.k{}", self.0.len());
        let value = external
            .value
            .clone()
            .into_data(&mut |key| self.0.get(key).map(|kept| kept.0.clone()));
        let json =
            value.map_err(|key| EncodeError::new(accp_runtime::ErrorCode::REF_NOT_FOUND, key))?;
        self.0.insert(key.clone(), (json, external.reason));
        Ok(key)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_json_value_comes_back_equal(json in any_json(4)) {
        let registry = Registry::shared();
        let value = Value::from_json(&json);
        prop_assert_eq!(&value.to_json(), &json);

        let message = DynamicFrame::new("a", "qry", "lookup").unwrap().with("field", value);
        let options = EncodeOptions { limits: Limits::NONE, inline: true, ..EncodeOptions::default() };
        let frame = message.encode_with(registry, options).unwrap();
        let options = accp_runtime::DecodeOptions { limits: Limits::NONE, marks: true };
        let back = DynamicFrame::decode_with(&frame, registry, &options).unwrap();
        prop_assert_eq!(&back.payload.get("field").unwrap().to_json(), &json, "{}", frame);
        prop_assert_eq!(&back, &message);
    }

    #[test]
    fn what_does_not_fit_goes_by_reference_and_comes_back(json in any_json(8)) {
        let registry = Registry::shared();
        let message = DynamicFrame::new("a", "qry", "lookup").unwrap().with("field", Value::from_data(&json));
        let mut kept = Kept::default();
        let options = EncodeOptions { externals: Some(&mut kept), ..EncodeOptions::default() };
        let frame = message.encode_with(registry, options).unwrap();
        let back = DynamicFrame::decode(&frame, registry).unwrap();
        let value = back.payload.get("field").unwrap().clone();
        let data = value.into_data(&mut |key| kept.0.get(key).map(|kept| kept.0.clone()));
        prop_assert_eq!(data.unwrap(), json, "{}", frame);
        prop_assert!(frame.len() <= Limits::DEFAULT.frame_bytes);
    }

    #[test]
    fn a_message_comes_back_from_json(
        payload in prop::collection::btree_map(text(), any_json(2), 0..5),
        mid in "[0-9a-f]{12}", seq in 0..i64::MAX as u64, cid in prop::option::of(text()),
    ) {
        prop_assume!(!payload.contains_key("schema"));
        let registry = Registry::shared();
        let mut message = json!({
            "agent": "planner", "intent": "done", "operation": "plan", "payload": payload,
            "metadata": { "msg_id": mid, "sequence": seq },
        });
        if let Some(cid) = cid {
            message["metadata"]["correlation_id"] = json!(cid);
        }
        let options = EncodeOptions { inline: true, ..EncodeOptions::default() };
        let Ok(frame) = DynamicFrame::from_json(&message).unwrap().encode_with(registry, options) else {
            // A frame that cannot be encoded has two names of one key, for example `d` and
            // `data`, or is nested too deep.
            return Ok(());
        };
        let back = DynamicFrame::decode(&frame, registry).unwrap();
        prop_assert_eq!(back.encode_with(registry, EncodeOptions { inline: true, ..EncodeOptions::default() }).unwrap(), frame.clone());
        prop_assert_eq!(DynamicFrame::from_json(&back.to_json()).unwrap(), back, "{}", frame);
    }

    /// Any text between the separators must be a value, and its canonical text must have the same
    /// meaning.
    #[test]
    fn a_wire_text_has_one_meaning(raw in r##"([!-?A-Z^_`a-z"#%]|\\[@>:{}\[\]|$,~\\]){1,12}"##) {
        let frame = format!("@a>qry:lookup{{field:{raw}}}");
        let Ok(frame) = Frame::parse(&frame) else { return Ok(()) };
        let value = frame.value("field").unwrap().into_owned();
        let again = format!("@a>qry:lookup{{field:{value}}}");
        let again = Frame::parse(&again).unwrap();
        prop_assert_eq!(again.value("field").unwrap(), value.clone());
        prop_assert_eq!(again.value("field").unwrap().to_string(), value.to_string());
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        let _ = Frame::parse_bytes(&bytes);
        let _ = Frame::parse_lenient(&text);
        let _ = DynamicFrame::decode(&text, Registry::shared());
        let shaped = format!("@a>qry:lookup{{{text}}}[{text}]");
        let _ = Frame::parse_lenient(&shaped);
        let _ = DynamicFrame::decode(&shaped, Registry::shared());
    }
}

#[test]
fn a_value_leaves_its_frame_for_the_first_reason_that_applies() {
    let mut deep = json!("leaf");
    for _ in 0..7 {
        deep = json!([deep]);
    }
    let long = "x".repeat(51);
    let many: Vec<Json> = (0..5000).map(Json::from).collect();
    let large = "y".repeat(70_000);
    for (json, reason) in [
        (deep, Reason::Depth),
        (json!(long), Reason::Characters),
        (json!(many), Reason::Limit),
        (json!({ "text": large }), Reason::Characters),
    ] {
        let mut kept = Kept::default();
        let message = DynamicFrame::new("a", "qry", "lookup")
            .unwrap()
            .with("field", Value::from_json(&json));
        let options = EncodeOptions {
            externals: Some(&mut kept),
            ..EncodeOptions::default()
        };
        message.encode_with(Registry::shared(), options).unwrap();
        let reasons: Vec<_> = kept.0.values().map(|kept| kept.1).collect();
        assert_eq!(reasons, [reason]);
    }
    let mut kept = Kept::default();
    let large = "y".repeat(70_000);
    let message = DynamicFrame::new("a", "qry", "lookup")
        .unwrap()
        .with("field", large.as_str())
        .in_envelope(Envelope::new("1", 1));
    let options = EncodeOptions {
        externals: Some(&mut kept),
        inline: true,
        ..EncodeOptions::default()
    };
    assert_eq!(
        message.encode_with(Registry::shared(), options).unwrap(),
        "@a>qry:lookup{field:$cold.k0}[mid:1,seq:1]"
    );
    assert_eq!(kept.0["cold.k0"].1, Reason::Limit);
}

/// One message must have one spelling: a key that fits the grammar has its own param, and inside
/// `_` such a key is ordinary data.
#[test]
fn the_param_of_other_keys_holds_only_those() {
    let registry = Registry::shared();
    for (text, key) in [
        ("@a>qry:lookup{_:[[first-name,x]]}", "first-name"),
        ("@a>qry:lookup{_:[[_,x]]}", "_"),
        ("@a>qry:lookup{_:[[_,[[ttl,x]]]]}", "_"),
        ("@a>qry:lookup{_:[[ttl,x]]}", "_"),
        ("@a>qry:lookup{_:[[first-name,x],[ttl,x]]}", "_"),
    ] {
        let message = DynamicFrame::decode(text, registry).unwrap();
        assert!(message.payload.get(key).is_some(), "{text}");
        assert_eq!(message.payload.len(), 1);
        let canonical = message.encode(registry).unwrap();
        assert_eq!(DynamicFrame::decode(&canonical, registry).unwrap(), message);
    }
}

/// A default is left out of the frame, so it may be nested deeper than the limit would allow at its place. A reader
/// fills the default in, and the message that results must be writable again.
#[test]
fn a_default_that_is_left_out_has_no_depth() {
    let registry = json!({ "schemas": {
        "inner": { "code": "IN", "fields": ["x"], "defaults": { "x": [[[1]]] } },
        "outer": { "code": "OU", "fields": ["rows"], "types": { "rows": "[[IN]]" } } } });
    let registry = Registry::from_json(&registry.to_string()).unwrap();
    let text = "@a>req:plan{rows:[[{}]]|schema:OU}";
    let message = DynamicFrame::decode(text, &registry).unwrap();
    let default = json!([[{ "x": [[[1]]] }]]);
    assert_eq!(message.payload.get("rows").unwrap().to_json(), default);
    assert_eq!(message.encode(&registry).as_deref(), Ok(text));
    let other = json!([[{ "x": [[[2]]] }]]);
    let deeper = message.with("rows", Value::from_json(&other));
    assert!(deeper.encode(&registry).is_err());
}

/// A default may nest deeper than any frame, also because a map with keys outside the grammar is written as pairs.
#[test]
fn a_default_has_no_limits() {
    let default = json!({ "a-b": { "c-d": [[[[[1]]]]] } });
    let registry = json!({ "schemas": { "deep": {
        "code": "DE", "fields": ["x"], "defaults": { "x": default } } } });
    let registry = Registry::from_json(&registry.to_string()).unwrap();
    let text = "@a>req:plan{schema:DE}";
    let message = DynamicFrame::decode(text, &registry).unwrap();
    assert_eq!(message.payload.get("x").unwrap().to_json(), default);
    assert_eq!(message.encode(&registry).as_deref(), Ok(text));
}

/// No input of a caller may break out of its place in the frame.
#[test]
fn nothing_a_caller_gives_breaks_the_frame() {
    let registry = Registry::shared();
    let message = || DynamicFrame::new("a", "req", "plan").unwrap();
    for key in ["k|role:admin", "", "k}[mid:1", "k 1"] {
        let reference = Value::Ref(key.into());
        assert!(
            message()
                .with("x", reference.clone())
                .encode(registry)
                .is_err(),
            "{key}"
        );
        let nested = Value::Array(vec![reference.clone()]);
        assert!(
            message().with("x", nested).encode(registry).is_err(),
            "{key}"
        );
        let mut envelope = Envelope::new("1", 1);
        envelope.extra.insert("of", reference);
        assert!(
            message().in_envelope(envelope).encode(registry).is_err(),
            "{key}"
        );
    }
    let mut odd = message();
    odd.operation = "plan{}[mid:1] x".into();
    assert!(odd.encode(registry).is_err());
    for number in [f64::NAN, f64::INFINITY] {
        let number = Value::Number(accp_frame::Number::Float(number));
        assert!(message().with("x", number).encode(registry).is_err());
    }
    // A bracket at the end of a metadata value does not start the block.
    let envelope = Envelope::new("m[", 1).answering("c[");
    let text = message()
        .in_envelope(envelope.clone())
        .encode(registry)
        .unwrap();
    assert_eq!(
        DynamicFrame::decode(&text, registry).unwrap().envelope,
        envelope
    );
}
