//! Agreement of the standard profiles with the draft's examples.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::{Registry, Type};
use serde_json::Value;

fn columns(code: &str) -> Vec<String> {
    let registry = Registry::standard();
    let schema = registry.schema(code).unwrap();
    let fields = schema.fields.iter().map(|field| {
        let mut column = format!("{} {} {}", field.name, field.short, field.ty);
        for (flag, mark) in [
            (field.required, " required"),
            (field.optional, " optional"),
            (field.inline, " inline"),
        ] {
            column += if flag { mark } else { "" };
        }
        match &field.default_wire {
            Some(default) => column + " = " + default,
            None => column,
        }
    });
    fields.collect()
}

#[test]
fn there_are_six() {
    let registry = Registry::standard();
    let schemas = registry
        .schemas()
        .map(|schema| (schema.name.as_str(), schema.code.as_str()));
    assert_eq!(
        schemas.collect::<Vec<_>>(),
        [
            ("chat_message", "CH"),
            ("error", "ER"),
            ("stream_chunk", "ST"),
            ("task_assignment", "TA"),
            ("tool_call", "TC"),
            ("transaction", "TX"),
        ]
    );
    #[cfg(feature = "std")]
    assert_eq!(registry, *Registry::shared());
}

#[test]
fn chat_is_that_of_section_10_1() {
    assert_eq!(
        columns("CH"),
        [
            "role role string = assistant",
            "content content text required inline",
            "turn turn integer",
            "lang lang string = en",
            "reply_to re string",
        ]
    );
}

#[test]
fn tool_is_that_of_section_10_2() {
    assert_eq!(
        columns("TC"),
        [
            "tool_name tool string",
            "arguments args {any} inline",
            "result res any",
            "status stat string = ok",
            "error_code code string",
        ]
    );
}

#[test]
fn transaction_is_that_of_section_10_3() {
    assert_eq!(
        columns("TX"),
        [
            "transaction_id txn string required",
            "amount amt decimal",
            "currency currency string = USD",
            "account acc string",
            "reference reference string",
            "status stat string = pending",
            "retryable retry boolean = false",
        ]
    );
}

#[test]
fn stream_is_that_of_section_10_4() {
    assert_eq!(
        columns("ST"),
        [
            "chunk_index idx integer required",
            "total_chunks tot integer",
            "data d text required inline",
            "is_final done boolean = false",
        ]
    );
}

#[test]
fn task_is_that_of_sections_6_2_and_10_5() {
    assert_eq!(
        columns("TA"),
        [
            "assignee asgn agent",
            "task task string required",
            "priority pri string = medium",
            "deadline dead string",
            "deps deps [string] = []",
            "status stat string optional",
            "progress prog integer optional",
        ]
    );
}

#[test]
fn error_is_that_of_section_3_6() {
    assert_eq!(
        columns("ER"),
        [
            "code code string required",
            "msg msg text inline",
            "retry retry boolean",
            "expected_sequence exp integer optional",
            "version v integer optional",
            "field field string optional",
            "at at integer optional",
            "holder holder integer optional",
            "sequence seq integer optional",
            "tool_name tool string optional",
            "escalate_to esc agent optional",
        ]
    );
}

/// Every key of an example frame of the draft must be a field of the schema that the frame names.
#[test]
fn every_example_of_the_draft_fits() {
    let registry = Registry::standard();
    for (code, intent, operation, keys, envelope) in [
        ("ER", "fail", "error", "code msg retry", ""),
        ("TA", "req", "execute", "assignee task deadline", ""),
        ("CH", "req", "chat", "content role turn", ""),
        ("CH", "done", "chat", "content turn", "cid"),
        ("TC", "req", "tool", "tool args", ""),
        ("TC", "done", "tool", "tool res stat", "cid"),
        ("TX", "req", "transaction", "txn amt acc", ""),
        ("TX", "done", "transaction", "txn stat", "cid"),
        ("ST", "stream", "infer", "idx tot d", "cid"),
        ("ST", "stream", "infer", "idx tot d done", "cid"),
        ("TA", "req", "schedule", "asgn task dead pri", ""),
        ("TA", "done", "schedule", "task stat prog", "cid"),
    ] {
        let schema = registry.schema(code).unwrap();
        let example = format!("{code} {intent}:{operation}");
        let names = keys.split(' ').map(|key| {
            let field = schema
                .field(key)
                .unwrap_or_else(|| panic!("{example} has no {key}"));
            field.1.name.as_str()
        });
        let names: Vec<&str> = names.collect();
        for required in schema.required(&[intent, operation]) {
            assert!(names.contains(&required), "{example} lacks {required}");
        }
        let frame = schema.frame(&[intent, operation]);
        let frame = frame.unwrap_or_else(|| panic!("{example} is not declared"));
        for field in &frame.envelope {
            assert!(envelope.contains(field.as_str()), "{example} lacks {field}");
        }
        assert!(registry.has_operation(operation));
    }
}

#[test]
fn a_tool_response_must_carry_cid() {
    let registry = Registry::standard();
    let frame = registry
        .schema("TC")
        .unwrap()
        .frame(&["done", "tool"])
        .unwrap();
    assert_eq!(frame.envelope, ["cid"]);
}

#[test]
fn a_report_invents_nothing() {
    let registry = Registry::standard();
    let filled = |code: &str, intent: &str, operation: &str| {
        let schema = registry.schema(code).unwrap();
        let fields = schema.fields.iter().enumerate();
        let filled = fields.filter(|(index, _)| schema.has_default(*index, &[intent, operation]));
        filled
            .map(|(_, field)| field.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        filled("TX", "req", "transaction"),
        ["currency", "status", "retryable"]
    );
    assert!(filled("TX", "done", "transaction").is_empty());
    assert_eq!(filled("TA", "req", "schedule"), ["priority", "deps"]);
    assert!(filled("TA", "done", "schedule").is_empty());
    assert!(filled("TC", "req", "tool").is_empty());
    assert_eq!(filled("TC", "done", "tool"), ["status"]);
    assert!(filled("TC", "fail", "tool").is_empty());
}

#[test]
fn every_part_is_documented() {
    let registry = Registry::standard();
    for schema in registry.schemas() {
        assert!(schema.doc.is_some(), "{}", schema.name);
        for field in &schema.fields {
            assert!(field.doc.is_some(), "{}.{}", schema.name, field.name);
            assert_ne!(field.ty, Type::Schema(schema.code.clone()));
        }
        assert!(
            schema.frames.iter().all(|frame| frame.doc.is_some()),
            "{}",
            schema.name
        );
    }
}

#[test]
fn their_files_name_the_json_schema() {
    for code in ["CH", "TC", "TX", "ST", "TA", "ER"] {
        let file = format!("{}/profiles/{code}.json", env!("CARGO_MANIFEST_DIR"));
        let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(json["$schema"], "../registry.schema.json");
    }
    #[cfg(feature = "std")]
    {
        let directory = format!("{}/profiles", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(Registry::load(directory).unwrap(), Registry::standard());
    }
}
