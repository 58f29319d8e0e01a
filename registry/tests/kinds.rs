//! Tests of registries that replace a profile, of `ER` schemas that cannot hold the errors of a session, of records
//! that never end, and of the fields that a frame requires.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use accp_registry::Registry;
use insta::assert_snapshot;

/// A schema that takes the errors of sessions must be able to hold every error.
#[test]
fn errors_that_do_not_fit() {
    let of = |schema: &str| {
        let text = format!(r#"{{ "schemas": {{ "own": {schema} }} }}"#);
        Registry::from_json(&text)
    };
    let fail = r#""frames": [{ "intent": "fail", "operation": "error" }]"#;
    assert_snapshot!(of(&format!(r#"{{ "code": "ER", "fields": ["room", "msg"], "required": ["room"],
        "types": {{ "msg": "integer" }}, {fail} }}"#)).unwrap_err(), @"
    registry:1:16 at /schemas/own: `ER` is the code of errors, and `fail:error` here cannot hold them: `code` has to be of type string with the key `code`, and there is no such field
        let `own` extend the profile (`accp registry show ER` prints it), or give it another code
    registry:1:16 at /schemas/own: `ER` is the code of errors, and `fail:error` here cannot hold them: `msg` has to be of type text with the key `msg`, and `msg` is of type integer with the key `msg`
        let `own` extend the profile (`accp registry show ER` prints it), or give it another code
    registry:1:16 at /schemas/own: `ER` is the code of errors, and `fail:error` here cannot hold them: `retry` has to be of type boolean with the key `retry`, and there is no such field
        let `own` extend the profile (`accp registry show ER` prints it), or give it another code
    registry:1:16 at /schemas/own: `ER` is the code of errors, and `fail:error` here requires `room`, which most errors lack
        let `own` extend the profile (`accp registry show ER` prints it), or give it another code
    ");
    assert_snapshot!(of(r#"{ "code": "ER", "fields": ["code", "msg", "retry", "exp"],
        "types": { "code": "string", "msg": "text", "retry": "boolean" },
        "frames": [{ "intent": "fail", "operation": "error", "envelope": ["ttl"] }] }"#).unwrap_err(), @"
    registry:1:16 at /schemas/own: `ER` is the code of errors, and `fail:error` here cannot hold them: `expected_sequence` has to be of type integer with the key `exp`, and `exp` is of type any with the key `exp`
        let `own` extend the profile (`accp registry show ER` prints it), or give it another code
    registry:1:16 at /schemas/own: `ER` is the code of errors, and `fail:error` here requires `ttl`, which most errors lack
        let `own` extend the profile (`accp registry show ER` prints it), or give it another code
    ");

    // The schema may have more fields, and it may use the code for frames of its own.
    let more = r#""code": "ER", "fields": ["code", "msg", "retry", "ticket"],
        "types": { "code": "string", "msg": "text", "retry": "boolean" }"#;
    let registry = of(&format!("{{ {more}, {fail} }}")).unwrap();
    assert_eq!(
        registry.schema_of("ER", &["fail", "error"]).unwrap().name,
        "own"
    );
    for other in [
        "",
        r#", "frames": [{ "intent": "fail", "operation": "room" }]"#,
    ] {
        let registry = of(&format!(
            r#"{{ "code": "ER", "fields": ["room"] {other} }}"#
        ))
        .unwrap();
        assert_eq!(
            registry.schema_of("ER", &["fail", "error"]).unwrap().name,
            "error"
        );
        assert_eq!(
            registry.schema_of("ER", &["fail", "room"]).unwrap().name,
            "own"
        );
    }
    let none = Registry::empty();
    assert_eq!(
        none.schema_of("ER", &["fail", "error"]).unwrap().name,
        "error"
    );
    assert_eq!(none.schema_of("TX", &["req", "transaction"]), None);
    assert_eq!(none.schema_of("ER", &["req", "error"]), None);
}

#[test]
fn what_takes_the_place_of_a_profile() {
    let registry = |text: &str| Registry::from_json(text).unwrap().replaced().join("\n");
    assert_snapshot!(registry(r#"{ "schemas": {
        "error": { "code": "EX", "fields": ["why"] },
        "transaction": { "code": "PAY", "fields": ["sum"] },
        "traffic": { "code": "TC", "fields": ["lane"] },
        "room": { "code": "ER", "fields": ["room"] }
    } }"#), @"
    schema ER (room) replaces the standard profile ER (error), but not in errors (fail:error)
    schema TC (traffic) replaces the standard profile TC (tool_call): a frame with schema:TC has its fields
    schema PAY (transaction) replaces the standard profile TX (transaction): there is no schema TX
    ");
    assert_eq!(
        Registry::from_json(include_str!("../profiles/ER.json"))
            .unwrap()
            .replaced(),
        [""; 0]
    );
}

/// A record that has to hold a record of its own schema never ends.
#[test]
fn records_without_end() {
    let of = |schemas: &str| Registry::from_json(&format!(r#"{{ "schemas": {{ {schemas} }} }}"#));
    let node = |ty: &str, required: &str| {
        format!(
            r#""node": {{ "code": "ND", "fields": ["next", "name"], "types": {{ "next": "{ty}" }}, "required": ["{required}"] }}"#
        )
    };
    assert_snapshot!(of(&node("ND", "next")).unwrap_err(), @"
    registry:1:95 at /schemas/node/required: a `node` requires `next`, and so holds a `ND` without end: node.next > node
        take `next` out of `required`, or make it a list
    ");
    for ends in [
        node("ND", "name"),
        node("[ND]", "next"),
        node("{ND}", "next"),
    ] {
        assert!(of(&ends).is_ok(), "{ends}");
    }
    let other = r#", "tree": { "code": "TR", "fields": ["root"], "types": { "root": "ND" }, "required": ["root"] }"#;
    let both = node("TR", "next") + other;
    assert_snapshot!(of(&both).unwrap_err(), @"
    registry:1:95 at /schemas/node/required: a `node` requires `next`, and so holds a `ND` without end: node.next > tree.root > node
        take `next` out of `required`, or make it a list
    ");
    // A schema that only leads to a cycle is not reported.
    let leads = node("ND", "next") + other;
    assert_eq!(of(&leads).unwrap_err().into_iter().count(), 1);
    assert!(of(&(node("TR", "name") + other)).is_ok());
}

#[test]
fn a_frame_requires_of_its_schema_the_fields_that_it_is_about() {
    let registry = Registry::from_json(
        r#"{ "schemas": { "refund": {
            "code": "RF", "fields": ["order", "amount", "reason"], "required": ["order", "amount"],
            "frames": [
                { "intent": "req", "operation": "refund" },
                { "intent": "done", "operation": "refund", "fields": ["order", "reason"] },
                { "intent": "wait", "operation": "refund", "fields": [], "required": ["amount", "reason"] }
            ] } } }"#,
    )
    .unwrap();
    let schema = registry.schema("RF").unwrap();
    for (head, required) in [
        (["req", "refund"], &["order", "amount"][..]),
        (["done", "refund"], &["order"]),
        (["wait", "refund"], &["amount", "reason"]),
        (["fail", "refund"], &["order", "amount"]),
    ] {
        assert_eq!(schema.required(&head).collect::<Vec<_>>(), required);
        let by_field = schema
            .fields
            .iter()
            .filter(|field| schema.requires(field, &head));
        let by_field: Vec<_> = by_field.map(|field| field.name.as_str()).collect();
        assert_eq!(by_field, required);
    }
}

#[test]
fn failures_have_a_schema_that_can_hold_them() {
    let of = |errors: &str| {
        Registry::from_json(&format!(
            r#"{{ "schemas": {{
            "refund": {{ "code": "RF", "fields": ["order"], "rules": {{ "errors": "{errors}" }} }},
            "trouble": {{ "code": "TR", "fields": ["why"], "frames": [{{ "intent": "fail", "operation": "pay" }}] }},
            "free": {{ "code": "FR", "fields": ["why"] }},
            "order": {{ "code": "OR", "fields": ["id"], "frames": [{{ "intent": "req", "operation": "order" }}] }} }} }}"#
        ))
    };
    for code in ["ER", "TR", "FR"] {
        assert!(of(code).is_ok(), "{code}");
    }
    assert_snapshot!(of("TX").unwrap_err(), @"
    registry:2:71 at /schemas/refund/rules/errors: there is no schema `TX`
        did you mean `TR`?
    ");
    assert_snapshot!(of("trouble").unwrap_err(), @"
    registry:2:71 at /schemas/refund/rules/errors: there is no schema `trouble`
        the codes are FR, OR, RF, TR, ER
    ");
    for code in ["OR", "RF"] {
        let said = of(code).unwrap_err().to_string();
        let cure = "name `ER`, or a schema with a frame `fail` and without a rule `errors`";
        assert!(
            said.contains(&format!("no failure can have the schema `{code}`")),
            "{said}"
        );
        assert!(said.ends_with(cure), "{said}");
    }
}

#[test]
fn the_name_of_a_schema_in_the_place_of_its_code_is_told_its_code() {
    let text = r#"{ "schemas": {
        "line": { "code": "LN", "fields": ["sku"] },
        "order": { "code": "OR", "fields": ["lines"], "types": { "lines": "[line]" } } } }"#;
    assert_snapshot!(Registry::from_json(text).unwrap_err(), @"
    registry:3:66 at /schemas/order/types/lines: `line` is neither a type nor the code of a schema
        did you mean `LN`, the code of the schema `line`?
    ");
}
