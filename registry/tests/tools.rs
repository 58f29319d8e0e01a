//! The names of tools: no two frames share a name.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeSet;

use accp_registry::Registry;
use accp_registry::export::{Export, Options};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// Returns a registry with a schema for each code, and the frames of each schema.
fn registry(schemas: &[(&str, &[(&str, &str)])]) -> Registry {
    let schema = |(code, frames): &(&str, &[(&str, &str)])| {
        let frame = |(intent, operation): &(&str, &str)| json!({ "intent": intent, "operation": operation });
        let frames: Vec<Json> = frames.iter().map(frame).collect();
        let schema = json!({ "code": code, "fields": ["x"], "frames": frames });
        (format!("of_{code}"), schema)
    };
    let schemas: serde_json::Map<String, Json> = schemas.iter().map(schema).collect();
    Registry::from_json(&json!({ "schemas": schemas }).to_string()).unwrap()
}

/// Returns the name of each tool beside its frame.
fn names(registry: &Registry) -> String {
    let tools = registry.tools().into_iter();
    let lines = tools.map(|tool| {
        let (frame, code) = (tool.frame, &tool.schema.code);
        let (intent, operation) = (frame.intent(), frame.operation());
        format!("{code} {intent}:{operation} {}", tool.name)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_intent_keeps_two_frames_of_one_schema_apart() {
    let registry = registry(&[("X", &[("req", "op_qry"), ("qry", "op")])]);
    assert_snapshot!(names(&registry), @"
    X req:op_qry op_qry_req_x
    X qry:op op_qry_x
    ");
}

#[test]
fn the_spelling_of_a_code_keeps_two_schemas_apart() {
    let registry = registry(&[("PAY", &[("req", "op")]), ("Pay", &[("req", "op")])]);
    assert_snapshot!(names(&registry), @"
    PAY req:op op_req_PAY
    Pay req:op op_req_Pay
    ");
}

#[test]
fn a_name_that_no_other_tool_has_stays() {
    // `op` needs a code, and `op_x` is the name of another tool already.
    let registry = registry(&[
        ("X", &[("req", "op"), ("req", "op_x"), ("req", "other")]),
        ("Y", &[("req", "op")]),
    ]);
    assert_snapshot!(names(&registry), @"
    X req:op op_req_x
    X req:op_x op_x_req_x
    X req:other other
    Y req:op op_y
    ");
}

#[test]
fn a_number_stands_where_no_word_helps() {
    let registry = registry(&[
        ("A", &[("req", "a"), ("req", "a_req")]),
        ("a", &[("req", "a"), ("req", "a_req")]),
        ("req_A", &[("req", "a"), ("req", "a_req")]),
        ("req_a", &[("req", "a"), ("req", "a_req")]),
    ]);
    assert_snapshot!(names(&registry), @"
    A req:a a_req_A
    A req:a_req a_req_req_A
    a req:a a_req_a
    a req:a_req a_req_req_a
    req_A req:a a_req_req_A_2
    req_A req:a_req a_req_req_req_A
    req_a req:a a_req_req_a_2
    req_a req:a_req a_req_req_req_a
    ");
}

#[test]
fn the_addressee_is_a_field_that_the_frame_carries() {
    let frame = |keys: &str| {
        format!(
            r#"{{ "schemas": {{ "a": {{ "code": "A", "fields": ["who", "task"], "types": {{ "who": "agent" }},
            "frames": [{{ "intent": "req", "operation": "run", "to": "who" {keys} }}] }} }} }}"#
        )
    };
    assert_snapshot!(Registry::from_json(&frame(r#", "fields": ["task"]"#)).unwrap_err(), @"
    registry:2:63 at /schemas/a/frames/0/to: req:run has no field `who`, so it cannot name an agent
        add `who` to the `fields` of req:run
    ");
    for carries in [
        "",
        r#", "fields": ["who"]"#,
        r#", "fields": ["task"], "required": ["who"]"#,
    ] {
        assert!(Registry::from_json(&frame(carries)).is_ok(), "{carries}");
    }
}

#[test]
fn the_addressee_is_an_argument_also_where_it_is_optional() {
    let registry = Registry::from_json(
        r#"{ "schemas": { "job": { "code": "JB", "fields": ["task"], "optional": ["who", "note"], "types": { "who": "agent" },
        "frames": [{ "intent": "req", "operation": "run", "to": "who" }] } } }"#,
    )
    .unwrap();
    let tools = registry.tools();
    let arguments = tools[0].arguments().map(|(field, _)| field.name.as_str());
    assert_eq!(arguments.collect::<Vec<_>>(), ["task", "who"]);
}

#[test]
fn a_name_that_providers_refuse_is_an_error_with_a_cure() {
    let (short, long) = ("o".repeat(64), "o".repeat(65));
    let check = |operation: &str| {
        let registry = registry(&[("X", &[("req", operation)])]);
        Export::of(&registry, &Options::default())
            .unwrap()
            .check_tools()
    };
    assert_eq!(check(&short), Ok(()));
    assert_snapshot!(check(&long).unwrap_err(), @"req:ooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo of schema X would be the tool `ooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo`, but the name of a tool has at most 64 characters; shorten the operation or the code");
}

proptest! {
    #[test]
    fn no_two_tools_share_a_name(
        schemas in proptest::collection::btree_map(
            "(a|A|req_a|req_A|qry)",
            proptest::collection::btree_set(("(req|qry)", "a(_a|_req|_qry){0,2}"), 1..4),
            1..5,
        )
    ) {
        let frames: Vec<(&str, Vec<(&str, &str)>)> = schemas.iter().map(|(code, frames)| {
            let frames = frames.iter().map(|(intent, operation)| (intent.as_str(), operation.as_str()));
            (code.as_str(), frames.collect())
        }).collect();
        let frames: Vec<_> = frames.iter().map(|(code, frames)| (*code, frames.as_slice())).collect();
        let registry = registry(&frames);
        let tools = registry.tools();
        let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        prop_assert_eq!(names.len(), tools.len());
    }
}
