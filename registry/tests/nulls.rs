//! A null field is absent. An item of a list or of a map is present, so it is null only under `any`.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use accp_registry::{Registry, Type};
use serde_json::{Value, json};

fn registry(default: &Value) -> Result<Registry, String> {
    let json = json!({ "schemas": {
        "finding": {
            "code": "FD", "fields": ["topic", "priority"], "types": { "topic": "string" },
            "defaults": { "priority": "medium" }, "required": ["topic"]
        },
        "report": {
            "code": "RP", "fields": ["f"], "types": { "f": "[FD]" }, "defaults": { "f": default }
        }
    } });
    Registry::from_json(&json.to_string()).map_err(|problems| problems.to_string())
}

#[test]
fn an_item_is_null_only_under_any() {
    let registry = registry(&json!([])).unwrap();
    for (ty, json, wire) in [
        ("integer", json!(null), "~"),
        ("[any]", json!([1, null, [null]]), "[1,~,[~]]"),
        (
            "{any}",
            json!({ "a": null, "b c": null }),
            "{_:[[a,~],[\"b_c,~]]}",
        ),
        (
            "[integer]",
            json!([1, null]),
            "at /1: expected an integer, found null",
        ),
        (
            "{[integer]}",
            json!({ "a": [null] }),
            "at /a/0: expected an integer, found null",
        ),
        (
            "{integer}",
            json!({ "a": 1, "b": null }),
            "at /b: expected an integer, found null",
        ),
        (
            "{integer}",
            json!({ "a b": null }),
            "at /a b: expected an integer, found null",
        ),
        (
            "[FD]",
            json!([{ "topic": "churn", "priority": null }]),
            "[{pri:~,topic:churn}]",
        ),
        (
            "FD",
            json!({ "topic": null }),
            "at /topic: expected a string, found null",
        ),
        (
            "[FD]",
            json!([null]),
            "at /0: expected an object with the fields of `FD`, found null",
        ),
    ] {
        let (of, mut out): (Type, _) = (ty.parse().unwrap(), String::new());
        let written = of.write_json(&registry, &json, &mut out);
        let text = written.map_or_else(|error| error.to_string(), |()| out);
        assert_eq!(text, wire, "{ty} {json}");
    }
}

#[test]
fn a_default_has_no_null_item() {
    assert!(registry(&json!(null)).is_ok());
    assert!(registry(&json!([{ "topic": "churn", "priority": null }])).is_ok());
    let errors = [json!([null]), json!([{ "topic": null }])];
    // The column depends on the order of keys in serde_json's objects, so the test leaves the place
    // out.
    let without_place = |error: String| error.split_once(" at ").unwrap().1.to_owned();
    let errors = errors.map(|default| without_place(registry(&default).unwrap_err()));
    insta::assert_snapshot!(errors.join("\n"), @"
    /schemas/report/defaults/f/0: the default of `f` should be an object with the fields of `FD`; found null
        write such a value, or change the type of `f`
    /schemas/report/defaults/f/0/topic: the default of `f` should be a string; found null
        write such a value, or change the type of `f`
    ");
}
