//! Tests that a registry stays equal when it is written as a document and read again, and tests of the wire text of
//! JSON values.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::lexical::{self, Literal, Number};
use accp_registry::{EnumValue, Field, FrameSpec, Registry, Schema, Type, diff};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |float| float.is_finite())
            .prop_map(Value::from),
        (-999..999_i32, 0..8).prop_map(|(n, places)| json!(f64::from(n) / 10f64.powi(places))),
        any::<String>().prop_map(Value::from),
        "[-#\"0-9a-z_.~:]{0,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop_oneof!["[a-z_]{1,2}", ".{0,3}", Just("_".to_owned())];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key, inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Reads an untyped wire value: the reverse of the function under test.
fn read(wire: &str, at: &mut usize) -> Value {
    let skip = |at: &mut usize, token: char| {
        let found = wire[*at..].starts_with(token);
        *at += usize::from(found);
        found
    };
    if skip(at, '~') {
        return Value::Null;
    }
    if skip(at, '[') {
        let mut items = Vec::new();
        while !skip(at, ']') {
            items.push(read(wire, at));
            skip(at, ',');
        }
        return items.into();
    }
    if skip(at, '{') {
        let mut members = Map::new();
        while !skip(at, '}') {
            let end = *at + wire[*at..].find(':').unwrap();
            let key = wire[*at..end].to_owned();
            *at = end + 1;
            members.insert(key, read(wire, at));
            skip(at, ',');
        }
        if let (1, Some(Value::Array(pairs))) = (members.len(), members.get("_")) {
            let pairs = pairs
                .iter()
                .map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].clone()));
            return Value::Object(pairs.collect());
        }
        return members.into();
    }
    let bytes = wire.as_bytes();
    let start = *at;
    while *at < bytes.len() && !matches!(bytes[*at], b',' | b']' | b'}') {
        *at += 1 + usize::from(bytes[*at] == b'\\');
    }
    match Literal::classify(&wire[start..*at]) {
        Literal::Boolean(value) => json!(value),
        Literal::Integer(value) => json!(value),
        Literal::Decimal(value) => json!(value.to_f64()),
        Literal::Number(Number::Unsigned(value)) => json!(value),
        Literal::Number(Number::Float(value)) => json!(value),
        Literal::Text(text) => json!(lexical::decode_text(text)),
        Literal::String(raw) => json!(lexical::unescape(raw)),
        other @ Literal::Number(_) => panic!("{other:?}"),
    }
}

fn wire_of(registry: &Registry, ty: &str, json: &Value) -> String {
    let mut out = String::new();
    let ty: Type = ty.parse().unwrap();
    match ty.write_json(registry, json, &mut out) {
        Ok(()) => out,
        Err(error) => {
            assert!(out.is_empty());
            format!("! {error}")
        }
    }
}

fn any_type() -> impl Strategy<Value = Type> {
    let value = ("[a-z]{1,3}", proptest::option::of("[-+<>=()#\"0-9]{1,2}"));
    let values = vec(value, 1..4).prop_map(|values| {
        let mut out: Vec<EnumValue> = Vec::new();
        for (name, symbol) in values {
            let fresh = |text: &str| {
                out.iter()
                    .all(|v| v.name != text && v.symbol.as_deref() != Some(text))
            };
            if fresh(&name) && symbol.as_deref().is_none_or(fresh) {
                out.push(EnumValue { name, symbol });
            }
        }
        Type::Enum(out)
    });
    let word = proptest::sample::select(Type::WORDS).prop_map(|word| word.parse().unwrap());
    let leaf = prop_oneof![4 => word, 1 => values, 1 => Just(Type::Schema("CH".into()))];
    leaf.prop_recursive(3, 4, 1, |inner| {
        prop_oneof![
            inner.clone().prop_map(|ty| Type::List(Box::new(ty))),
            inner.prop_map(|ty| Type::Map(Box::new(ty))),
        ]
    })
}

/// Returns a schema that passes every check.
fn any_schema() -> impl Strategy<Value = Schema> {
    let field = (
        any_type(),
        any::<[bool; 4]>(),
        proptest::option::of(".{0,5}"),
        any_json(),
    );
    let frame = (0..14_usize, "[a-z]{1,3}", proptest::option::of(Just(())));
    (
        vec(field, 0..5),
        vec(frame, 0..3),
        proptest::option::of(".{0,5}"),
        any::<u32>(),
        proptest::option::of(any::<[bool; 4]>()),
        proptest::option::of(any::<[bool; 8]>()),
    )
        .prop_map(|(fields, frames, doc, version, keep, union)| {
            let mut schema = Schema::new("made", "MD");
            schema.version = version.into();
            schema.doc = doc;
            for (index, (ty, [required, optional, inline, defaulted], doc, json)) in
                fields.into_iter().enumerate()
            {
                // In a document the optional fields come last.
                let optional = optional || schema.fields.last().is_some_and(|f| f.optional);
                let mut field = Field::new(&format!("field_{index}"), ty);
                (field.optional, field.inline, field.doc) = (optional, inline, doc);
                if inline {
                    field.short = format!("f{index}");
                }
                if defaulted && field.ty == Type::Any {
                    field.default = Some(json);
                } else if defaulted {
                    field.default = Some(Value::Null);
                } else {
                    field.required = required && !optional;
                }
                schema.fields.push(field);
            }
            let mut texts = schema
                .fields
                .iter()
                .filter(|field| field.ty == Type::String);
            let name = |field: &Field| field.name.clone();
            schema.rules.error_code = texts.clone().next().map(name);
            schema.rules.idempotency = texts.find(|field| field.required).map(name);
            for (intent, operation, about) in frames {
                let intent = accp_registry::Intent::ALL[intent].as_str();
                if schema.frame(&[intent, &operation]).is_none() {
                    let mut frame = FrameSpec::new(&[intent, &operation]);
                    let names: Vec<String> = schema.fields.iter().map(|f| f.name.clone()).collect();
                    frame.required = names.iter().take(1).cloned().collect();
                    frame.fields = about.map(|()| names);
                    frame.envelope.push("cid".into());
                    schema.frames.push(frame);
                }
            }
            if let Some(bits) = union.filter(|_| !schema.fields.is_empty()) {
                crate::unions::make_union(&mut schema, bits);
            }
            schema.keep = keep.map(|keep| {
                let kept = schema.fields.iter().zip(keep).filter(|(_, keep)| *keep);
                kept.map(|(field, _)| field.name.clone()).collect()
            });
            schema
        })
}

fn registry_with(schema: Schema) -> Registry {
    let mut registry = Registry::standard();
    registry
        .register(schema)
        .unwrap_or_else(|problems| panic!("{problems}"));
    registry
}

proptest! {
    #[test]
    fn every_json_value_comes_back(json in any_json()) {
        let registry = Registry::empty();
        let wire = wire_of(&registry, "any", &json);
        prop_assert!(wire.bytes().all(|b| b.is_ascii_graphic()), "{wire}");
        let mut end = 0;
        prop_assert_eq!(read(&wire, &mut end), json, "{}", wire);
        prop_assert_eq!(end, wire.len());
    }

    #[test]
    fn every_type_comes_back(ty in any_type()) {
        prop_assert_eq!(ty.to_string().parse(), Ok(ty));
    }

    #[test]
    fn no_type_text_panics(text in "[a-z\\[\\]{}(),=+ ]{0,12}") {
        if let Ok(ty) = text.parse::<Type>() {
            prop_assert_eq!(ty.to_string().parse(), Ok(ty));
        }
    }

    #[test]
    fn what_the_model_writes_reads_as_the_same(schema in any_schema()) {
        let registry = registry_with(schema);
        for text in [
            serde_json::to_string(&registry.to_json()).unwrap(),
            serde_json::to_string_pretty(&registry.to_json()).unwrap(),
        ] {
            let again = Registry::from_json(&text).unwrap();
            prop_assert_eq!(again.hash(), registry.hash());
            prop_assert_eq!(diff(&registry, &again), []);
            prop_assert_eq!(&again, &registry);
        }
    }

    #[test]
    fn diff_finds_a_difference_where_hashes_differ(a in any_schema(), b in any_schema()) {
        let (a, b) = (registry_with(a), registry_with(b));
        prop_assert_eq!(diff(&a, &b).is_empty(), a.hash() == b.hash());
    }

    #[test]
    fn merging_is_adding_and_again_is_nothing(schema in any_schema()) {
        let merged = registry_with(schema.clone());
        prop_assert_eq!(merged.schemas().len(), 7);
        let mut other = Registry::empty();
        prop_assume!(schema.fields.iter().all(|f| f.ty.schema_code().is_none()));
        other.register(schema).unwrap();
        prop_assert_eq!(&other.clone().with_profiles(), &merged);
        other.merge(Registry::standard()).unwrap();
        other.merge(merged.clone()).unwrap();
        prop_assert_eq!(other, merged);
    }
}

#[test]
fn wire_texts_by_type() {
    let registry = Registry::from_json(
        r#"{ "schemas": {
            "finding": { "code": "FD", "fields": ["topic", "priority", "change"],
                "types": { "topic": "string", "change": "enum(up=+,down=-,flat)" },
                "defaults": { "priority": "medium" }, "required": ["topic"] },
            "report": { "code": "RP", "fields": ["f"], "types": { "f": "[FD]" },
                "defaults": { "f": [{ "pri": "medium", "topic": "x" }] } }
        } }"#,
    )
    .unwrap();
    for (ty, json, wire) in [
        ("string", json!("42"), "42"),
        ("any", json!("42"), "\"42"),
        ("text", json!("a b_c"), "a_b__c"),
        ("string", json!("a b"), "\"a_b"),
        ("string", Value::Null, "~"),
        ("integer", json!(-7), "-7"),
        (
            "integer",
            json!(1.0),
            "! expected an integer of 64 bits, found the number 1.0",
        ),
        (
            "integer",
            json!(u64::MAX),
            "! expected an integer of 64 bits, found the integer 18446744073709551615",
        ),
        (
            "integer",
            json!("7"),
            "! expected an integer, found the string \"7\"",
        ),
        ("decimal", json!(142), "142.0"),
        ("decimal", json!(142.50), "142.5"),
        ("decimal", json!(-0.0), "0.0"),
        (
            "decimal",
            json!(0.123_456_7),
            "! expected a decimal of at most 6 places, found the number 0.1234567",
        ),
        (
            "decimal",
            json!("1.5"),
            "! expected a decimal, found the string \"1.5\"",
        ),
        ("number", json!(5), "5.0"),
        ("number", json!(1e20), "#100000000000000000000"),
        (
            "number",
            json!(9_007_199_254_740_993_i64),
            "! expected a number that a 64-bit float holds exactly, found the integer 9007199254740993",
        ),
        (
            "number",
            json!(u64::MAX),
            "! expected a number that a 64-bit float holds exactly, found the integer 18446744073709551615",
        ),
        ("boolean", json!(true), "true"),
        (
            "boolean",
            json!(1),
            "! expected true or false, found the integer 1",
        ),
        ("agent", json!("@dev-1"), "dev-1"),
        ("agent", json!("dev_1"), "dev_1"),
        (
            "agent",
            json!("@"),
            "! expected an agent id (A-Z, a-z, 0-9, `-`, `_`), found the string \"@\"",
        ),
        ("enum(up=+,gt=>,a)", json!("up"), "+"),
        ("enum(up=+,gt=>,a)", json!(">"), "\\>"),
        ("enum(up=+,gt=>,a)", json!("a"), "a"),
        (
            "enum(up=+,a)",
            json!("b"),
            "! expected one of up, a, found the string \"b\"",
        ),
        ("[integer]", json!([1, 2]), "[1,2]"),
        (
            "[integer]",
            json!([1, "2"]),
            "! at /1: expected an integer, found the string \"2\"",
        ),
        (
            "[integer]",
            json!({}),
            "! expected an array, found an object",
        ),
        (
            "{integer}",
            json!({ "b": 1, "a": 2, "B": 3 }),
            "{B:3,a:2,b:1}",
        ),
        ("{integer}", json!({}), "{}"),
        (
            "{integer}",
            json!({ "first-name": 1 }),
            "{_:[[first-name,1]]}",
        ),
        ("{integer}", json!({ "_": 1 }), "{_:[[_,1]]}"),
        ("{integer}", json!({ "_": 1, "a": 2 }), "{_:1,a:2}"),
        (
            "{integer}",
            json!({ "42 ": 1, "": 2 }),
            "{_:[[\",2],[\"42_,1]]}",
        ),
        (
            "{{integer}}",
            json!({ "a/b": { "~": "x" } }),
            "! at /a~1b/~0: expected an integer, found the string \"x\"",
        ),
        (
            "FD",
            json!({ "change": "down", "topic": "churn", "pri": "medium" }),
            "{change:-,topic:churn}",
        ),
        (
            "FD",
            json!({ "topic": "churn", "priority": "high" }),
            "{pri:high,topic:churn}",
        ),
        (
            "FD",
            json!({ "topic": "churn", "priority": null }),
            "{pri:~,topic:churn}",
        ),
        (
            "FD",
            json!({ "topic": "a", "pri": 1, "priority": 2 }),
            "! at /priority: expected `priority` once, by its full or its short name, found both",
        ),
        (
            "FD",
            json!({ "topics": "a" }),
            "! at /topics: expected a field of `finding`, such as `topic`, found the key `topics`",
        ),
        (
            "FD",
            json!({}),
            "! expected an object with the required field `topic`, found an object without it",
        ),
        (
            "[FD]",
            json!([1]),
            "! at /0: expected an object with the fields of `FD`, found the integer 1",
        ),
        (
            "ZZ",
            json!({}),
            "! expected a schema with the code `ZZ`, found an object",
        ),
        (
            "RP",
            json!({ "findings": 1 }),
            "! at /findings: expected a field of `report`, found the key `findings`",
        ),
        ("RP", json!({ "f": [{ "topic": "x" }] }), "{}"),
        (
            "RP",
            json!({ "f": [{ "topic": "y", "priority": "low" }] }),
            "{f:[{pri:low,topic:y}]}",
        ),
    ] {
        assert_eq!(wire_of(&registry, ty, &json), wire, "{ty} {json}");
    }
    let report = registry.schema("RP").unwrap();
    assert_eq!(
        report.fields[0].default_wire.as_deref(),
        Some("[{topic:x}]")
    );
}

#[test]
fn a_default_gives_the_type() {
    for (default, ty) in [
        (json!("a"), "string"),
        (json!(true), "boolean"),
        (json!(1), "integer"),
        (json!(1.0), "decimal"),
        (json!(1.5), "decimal"),
        (json!(0.000_000_1), "number"),
        (json!(u64::MAX), "any"),
        (json!([]), "[any]"),
        (json!({}), "{any}"),
        (json!(null), "any"),
    ] {
        assert_eq!(Type::of_default(&default).to_string(), ty, "{default}");
    }
}

#[test]
fn nested_defaults_rest_on_each_other_in_any_order() {
    let registry = Registry::from_json(
        r#"{ "schemas": {
            "a": { "code": "A", "fields": ["b"], "types": { "b": "B" }, "defaults": { "b": { "c": { "x": 1 } } } },
            "b": { "code": "B", "fields": ["c"], "types": { "c": "C" }, "defaults": { "c": { "x": 2 } } },
            "c": { "code": "C", "fields": ["x", "next"], "types": { "next": "C" }, "defaults": { "x": 1, "next": null } }
        } }"#,
    )
    .unwrap();
    let default = |code: &str| {
        registry.schema(code).unwrap().fields[0]
            .default_wire
            .clone()
            .unwrap()
    };
    assert_eq!(
        (default("A"), default("B")),
        ("{c:{}}".into(), "{x:2}".into())
    );
}

#[test]
fn fields_go_by_both_names() {
    let registry = Registry::standard();
    let schema = registry.schema("TA").unwrap();
    assert_eq!(schema.field("assignee").unwrap().0, 0);
    assert_eq!(schema.field("asgn").unwrap().0, 0);
    assert!(schema.field("Assignee").is_none());
    assert!(registry.schema("ta").is_none());
    let required = schema.required(&["req", "schedule"]).collect::<Vec<_>>();
    assert_eq!(required, ["task", "assignee"]);
    assert_eq!(
        schema.required(&["req", "other"]).collect::<Vec<_>>(),
        ["task"]
    );
    assert!(!schema.has_default(99, &["req", "schedule"]));
}

#[test]
fn operations_are_the_core_ones_and_those_of_frames() {
    let registry = Registry::standard();
    assert!(registry.has_operation("analyze") && registry.has_operation("transaction"));
    assert!(!registry.has_operation("lookup"));
}
