//! Agreement of `registry.schema.json` with the loader: both accept and refuse the same documents.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::{ENVELOPE, Intent, Registry};
use serde_json::{Value, json};

fn json_schema() -> Value {
    serde_json::from_str(include_str!("../registry.schema.json")).unwrap()
}

/// Checks a value by the keywords of JSON Schema 2020-12 that the file uses; any other keyword
/// fails the test.
fn is_valid(root: &Value, schema: &Value, json: &Value) -> bool {
    schema
        .as_object()
        .unwrap()
        .iter()
        .all(|(keyword, rule)| match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap());
                is_valid(root, target.unwrap(), json)
            }
            "type" => match rule.as_str().unwrap() {
                "object" => json.is_object(),
                "array" => json.is_array(),
                "string" => json.is_string(),
                "integer" => json.is_i64() || json.is_u64(),
                other => panic!("type {other}"),
            },
            "enum" => rule.as_array().unwrap().contains(json),
            "pattern" => {
                assert_eq!(rule, "^[A-Za-z0-9_]+$");
                json.as_str().is_none_or(accp_registry::lexical::is_key)
            }
            "minimum" => json.as_f64() >= rule.as_f64(),
            "maximum" => json.as_f64() <= rule.as_f64(),
            "required" => {
                let mut keys = rule
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|key| key.as_str().unwrap());
                json.as_object()
                    .is_none_or(|object| keys.all(|key| object.contains_key(key)))
            }
            "items" => json
                .as_array()
                .is_none_or(|items| items.iter().all(|item| is_valid(root, rule, item))),
            "propertyNames" => {
                let mut names = json
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, _)| json!(name));
                names.all(|name| is_valid(root, rule, &name))
            }
            "properties" => {
                json.as_object().into_iter().flatten().all(|(key, value)| {
                    rule.get(key).is_none_or(|rule| is_valid(root, rule, value))
                })
            }
            "additionalProperties" => {
                let named = schema.get("properties");
                let is_named = |key: &str| named.is_some_and(|named| named.get(key).is_some());
                let mut others = json
                    .as_object()
                    .into_iter()
                    .flatten()
                    .filter(|(key, _)| !is_named(key));
                others.all(|(_, value)| *rule != json!(false) && is_valid(root, rule, value))
            }
            other => panic!("keyword {other}"),
        })
}

fn validates(json: &Value) -> bool {
    let schema = json_schema();
    is_valid(&schema, &schema, json)
}

/// Draft section 6.2, word for word.
const DRAFT: &str = r#"{
 "schemas": {
   "sales_report": {
     "code": "SR",
     "version": 1,
     "fields": ["period", "revenue", "growth_pct",
                 "segments", "notes"],
     "defaults": { "period": "quarterly", "segments": [] }
   },
   "task_assignment": {
     "code": "TA",
     "version": 2,
     "fields": ["assignee", "task", "priority",
                 "deadline", "deps"],
     "defaults": { "priority": "medium", "deps": [] }
   }
 }
}"#;

#[test]
fn takes_the_registry_of_the_draft() {
    assert!(validates(&serde_json::from_str(DRAFT).unwrap()));
    let registry = Registry::from_json(DRAFT).unwrap();
    let report = registry.schema("SR").unwrap();
    let defaults: Vec<_> = report
        .fields
        .iter()
        .map(|f| f.default_wire.as_deref())
        .collect();
    assert_eq!(defaults, [Some("quarterly"), None, None, Some("[]"), None]);
    let types: Vec<_> = report.fields.iter().map(|f| f.ty.to_string()).collect();
    assert_eq!(types, ["string", "any", "any", "[any]", "any"]);
    let task = registry.schema_by_name("task_assignment").unwrap();
    assert_eq!((task.code.as_str(), task.version), ("TA", 2));
    assert_eq!(task.fields[2].short, "pri");
}

#[test]
fn takes_the_profiles_and_what_the_model_writes() {
    for profile in ["CH", "TC", "TX", "ST", "TA", "ER"] {
        let file = format!("{}/profiles/{profile}.json", env!("CARGO_MANIFEST_DIR"));
        let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert!(validates(&json), "{profile}");
    }
    assert!(validates(&Registry::standard().to_json()));
}

#[test]
fn refuses_what_the_loader_refuses() {
    let good = json!({ "version": 1, "tokenizer": "o200k_base", "schemas": { "a": {
        "code": "A", "version": 1, "doc": "A.", "fields": ["x"], "optional": ["y"],
        "defaults": { "y": 1 }, "types": { "x": "any" }, "abbreviations": { "x": "ex" },
        "required": ["x"], "inline": ["x"], "docs": { "x": "X." },
        "frames": [{ "intent": "req", "operation": "o", "required": ["y"], "fields": ["x"],
            "envelope": ["cid"], "doc": "O." }],
    } } });
    assert!(validates(&good) && Registry::from_json(&good.to_string()).is_ok());

    let at = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        bad
    };
    for bad in [
        json!([]),
        json!({}),
        json!({ "schemas": {}, "other": 1 }),
        json!({ "schemas": { "a-b": { "code": "A", "fields": [] } } }),
        json!({ "schemas": { "a": { "fields": [] } } }),
        json!({ "schemas": { "a": { "code": "A" } } }),
        json!({ "schemas": { "a": { "code": "A", "fields": [], "other": 1 } } }),
        at("/version", json!(-1)),
        at("/version", json!(1.5)),
        at("/version", json!(9_007_199_254_740_992_u64)),
        at("/tokenizer", json!(1)),
        at("/schemas/a/code", json!("A-B")),
        at("/schemas/a/doc", json!(1)),
        at("/schemas/a/fields", json!("x")),
        at("/schemas/a/fields/0", json!("x y")),
        at("/schemas/a/optional", json!({})),
        at("/schemas/a/defaults", json!([])),
        at("/schemas/a/types/x", json!(1)),
        at("/schemas/a/abbreviations/x", json!("")),
        at("/schemas/a/required", json!("x")),
        at("/schemas/a/inline", json!(true)),
        at("/schemas/a/docs/x", json!(null)),
        at("/schemas/a/frames", json!({})),
        at("/schemas/a/frames/0", json!({ "intent": "req" })),
        at("/schemas/a/frames/0/intent", json!("request")),
        at("/schemas/a/frames/0/operation", json!("a-b")),
        at("/schemas/a/frames/0/envelope/0", json!("corr")),
        at("/schemas/a/frames/0/doc", json!([])),
    ] {
        assert!(!validates(&bad), "{bad}");
        assert!(Registry::from_json(&bad.to_string()).is_err(), "{bad}");
    }
}

#[test]
fn names_every_intent_and_envelope_field() {
    let schema = json_schema();
    let listed = |pointer: &str| schema.pointer(pointer).unwrap().as_array().unwrap().clone();
    let intents: Vec<Value> = Intent::ALL
        .iter()
        .map(|intent| json!(intent.as_str()))
        .collect();
    assert_eq!(listed("/$defs/frame/properties/intent/enum"), intents);
    let mut names: Vec<Value> = ENVELOPE.iter().map(|field| json!(field.short)).collect();
    names.extend(
        ENVELOPE
            .iter()
            .filter(|f| f.full != f.short)
            .map(|f| json!(f.full)),
    );
    assert_eq!(listed("/$defs/frame/properties/envelope/items/enum"), names);
}

/// The control frames of a session must be separate from the schemas that peers compare.
#[test]
fn the_frames_of_a_session_are_without_fault() {
    let folder = Registry::load(concat!(env!("CARGO_MANIFEST_DIR"), "/session")).unwrap();
    assert_eq!(folder, Registry::session());
    let said: Vec<_> = folder.schemas().flat_map(|s| &s.frames).collect();
    assert!(said.len() > 10);
    for frame in said {
        assert!(frame.doc.is_some(), "{:?}", frame.head);
        let standard = Registry::standard();
        assert!(standard.frame(&frame.head).is_none(), "{:?}", frame.head);
    }
}
