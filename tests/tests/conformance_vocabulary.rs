//! Conformance of the vocabulary: ERR (draft section 3.6), INT, KEY and OP (4).
//! `docs/conformance.md` lists the tests of each requirement.

use accp_registry::{
    ABBREVIATIONS, Category, Field, FrameSpec, OPERATIONS, Schema, Type, is_core_operation,
};
use accp_runtime::profiles::{ErrorFail, InferStream, ScheduleReq};
use accp_runtime::{AgentId, DynamicFrame, Envelope, ErrorCode, Intent, Registry, Typed, Value};
use accp_tests::judges::agree;
use proptest::prelude::*;

use crate::codec::{code_of, decode, encode, lookup};

// ---- ERR-01 ------------------------------------------------------------------------

proptest! {
    #[test]
    fn err_01_accepts_errors_as_fail_error_of_schema_er(
        number in 0..10_000_u16, msg: String, retry: bool, at in proptest::option::of(0..70_000_i64)
    ) {
        let code = ErrorCode::new(number).unwrap().to_string();
        let frame = ErrorFail {
            code: code.as_str().into(), msg: msg.as_str().into(), retry, at,
            expected_sequence: None, version: None, field: None, holder: None, sequence: None,
            tool_name: None, escalate_to: None,
        };
        let typed = Typed::new(AgentId::new("hub").unwrap(), frame, Envelope::default());
        let text = typed.encode().unwrap();
        let start = format!("@hub>fail:error{{code:{code}|msg:");
        let end = "|schema:ER}";
        prop_assert!(text.starts_with(&start) && text.ends_with(end), "{}", text);
        prop_assert_eq!(Typed::decode(&text).unwrap(), typed);
        let message = decode(&text).unwrap();
        prop_assert_eq!((message.intent, &*message.operation), (Intent::FAIL, "error"));
        prop_assert_eq!(message.payload.get("code"), Some(&Value::from(code.as_str())));
        prop_assert_eq!(message.payload.get("msg"), Some(&Value::from(msg)));
        prop_assert_eq!(message.payload.get("retry"), Some(&Value::from(retry)));
    }
}

#[test]
fn err_01_refuses_an_error_without_code_msg_or_retry() {
    for payload in [
        "msg:m|retry:true",
        "code:E1001|retry:true",
        "code:E1001|msg:m",
        "code:E1001|msg:m|retry:yes",
    ] {
        let text = format!("@a>fail:error{{{payload}|schema:ER}}");
        assert_eq!(code_of(&text), ErrorCode::INVALID_TYPE, "{text}");
        let typed = Typed::<ErrorFail<'_>>::decode(&text).unwrap_err();
        assert_eq!(typed.code(), ErrorCode::INVALID_TYPE, "{text}");
    }
    for (text, code) in [
        (
            "@a>done:error{code:E1001|msg:m|retry:true|schema:ER}",
            ErrorCode::INVALID_TYPE,
        ),
        (
            "@a>fail:fetch{code:E1001|msg:m|retry:true|schema:ER}",
            ErrorCode::INVALID_TYPE,
        ),
        (
            "@a>fail:error{code:E1001|msg:m|retry:true|schema:CH}",
            ErrorCode::UNKNOWN_SCHEMA,
        ),
    ] {
        assert_eq!(
            Typed::<ErrorFail<'_>>::decode(text).unwrap_err().code(),
            code,
            "{text}"
        );
    }
    let message = DynamicFrame::new("a", "fail", "error")
        .unwrap()
        .under("ER")
        .with("code", "E1001");
    assert_eq!(
        encode(&message).unwrap_err().code(),
        ErrorCode::INVALID_TYPE
    );
}

// ---- ERR-02 ------------------------------------------------------------------------

/// Table 6 of the draft.
const CODES: &str = "\
    E1001 PARSE_ERROR No, E1002 INVALID_INTENT No, E1003 UNKNOWN_SCHEMA No, E1004 INVALID_TYPE No, \
    E2001 REF_NOT_FOUND No, E2002 REF_EXPIRED No, E2003 BUDGET_EXCEEDED No, E3001 TIMEOUT Yes, \
    E3002 DUPLICATE No, E3003 SEQUENCE_GAP Yes, E4001 TOOL_NOT_FOUND No, E4002 TOOL_EXEC_FAILED Yes, \
    E4003 TOOL_SCHEMA_MISMATCH No, E5001 POLICY_DENIED No, E5002 UNAUTHORIZED_REF No, \
    E9999 INTERNAL_ERROR Yes";

#[test]
fn err_02_accepts_the_sixteen_codes_with_name_category_and_retry() {
    let rows: Vec<&str> = CODES.split(", ").collect();
    assert_eq!((rows.len(), ErrorCode::ALL.len()), (16, 16));
    for row in rows {
        let [text, name, retryable] = row.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let code: ErrorCode = text.parse().unwrap();
        assert!(ErrorCode::ALL.contains(&code));
        assert_eq!((code.to_string().as_str(), code.name()), (text, Some(name)));
        assert_eq!(code.is_retryable(), Some(retryable == "Yes"));
        let category = match text.as_bytes()[1] {
            b'1' => Category::Parse,
            b'2' => Category::State,
            b'3' => Category::Transport,
            b'4' => Category::Tool,
            b'5' => Category::Policy,
            _ => Category::Internal,
        };
        assert_eq!(code.category(), category);
    }
}

proptest! {
    #[test]
    fn err_02_refuses_what_is_no_code(text in "[Ee]?[0-9]{0,5}|E[0-9]{3}[a-z+ ]|.{0,6}", number: u16) {
        let is_code = text.len() == 5 && text.starts_with('E') && text[1..].bytes().all(|byte| byte.is_ascii_digit());
        prop_assert_eq!(text.parse::<ErrorCode>().is_ok(), is_code);
        let code = ErrorCode::new(number);
        prop_assert_eq!(code.is_some(), number <= 9999);
        // A code outside the table has no name, and the library does not guess whether to retry.
        let listed = code.is_some_and(|code| CODES.contains(&code.to_string()));
        prop_assert_eq!(code.and_then(ErrorCode::is_retryable).is_some(), listed);
        prop_assert_eq!(code.and_then(ErrorCode::name).is_some(), listed);
    }
}

// ---- INT-01 ------------------------------------------------------------------------

const INTENTS: [&str; 12] = [
    "req", "done", "fail", "wait", "esc", "comp", "sync", "qry", "ack", "cancel", "stream", "end",
];

#[test]
fn int_01_accepts_the_twelve_intents() {
    assert_eq!(
        Intent::CORE
            .iter()
            .map(|intent| intent.as_str())
            .collect::<Vec<_>>(),
        INTENTS
    );
    for intent in INTENTS {
        let text = format!("@a>{intent}:plan{{}}");
        let message = decode(&text).unwrap();
        assert_eq!(message.intent.as_str(), intent);
        assert_eq!(message.encode(Registry::shared()).unwrap(), text);
    }
}

proptest! {
    #[test]
    fn int_01_refuses_any_other_intent(intent in "[A-Za-z]{1,8}|REQ|Done|reqs|cance") {
        prop_assume!(Intent::lookup(&intent).is_none());
        let text = format!("@agent>{intent}:plan{{}}");
        let error = decode(&text).unwrap_err();
        prop_assert_eq!((error.code(), error.at()), (ErrorCode::INVALID_INTENT, 7));
        let error = Typed::<InferStream<'_>>::decode(&text).unwrap_err();
        prop_assert_eq!((error.code(), error.at()), (ErrorCode::INVALID_INTENT, 7));
        let error = DynamicFrame::new("agent", &intent, "plan").unwrap_err();
        prop_assert_eq!(error.code(), ErrorCode::INVALID_INTENT);
    }
}

// ---- KEY-01 ------------------------------------------------------------------------

/// Table 8 of the draft: each short key with its full name.
const KEYS: [(&str, &str); 16] = [
    ("d", "data"),
    ("f", "findings"),
    ("nx", "next_action"),
    ("src", "source"),
    ("dst", "destination"),
    ("q", "query"),
    ("fmt", "format"),
    ("pri", "priority"),
    ("err", "error"),
    ("v", "version"),
    ("ts", "timestamp"),
    ("ttl", "time_to_live"),
    ("ctx", "context"),
    ("who", "target"),
    ("when", "temporal"),
    ("why", "rationale"),
];

#[test]
fn key_01_accepts_both_names_and_writes_the_abbreviation() {
    assert!(
        ABBREVIATIONS
            .iter()
            .map(|entry| (entry.short, entry.full))
            .eq(KEYS)
    );
    for (short, full) in KEYS {
        for key in [short, full] {
            let text = format!("@a>qry:lookup{{{key}:x}}");
            let message = decode(&text).unwrap();
            assert_eq!(
                message.payload.iter().collect::<Vec<_>>(),
                [(full, &Value::from("x"))]
            );
            assert_eq!(
                message.encode(Registry::shared()).unwrap(),
                format!("@a>qry:lookup{{{short}:x}}")
            );
            let given = lookup().with(key, "x");
            assert_eq!(
                encode(&given).unwrap(),
                format!("@a>qry:lookup{{{short}:x}}")
            );
        }
    }
    // One frame has all keys. Keys inside data are not expanded.
    let all: Vec<String> = KEYS
        .iter()
        .map(|(short, _)| format!("{short}:{{{short}:1}}"))
        .collect();
    let text = format!("@a>qry:lookup{{{}}}", all.join("|"));
    let message = decode(&text).unwrap();
    for (short, full) in KEYS {
        let Some(Value::Map(map)) = message.payload.get(full) else {
            panic!("{full}")
        };
        assert_eq!(map.get(short), Some(&Value::from(1)));
    }
}

#[test]
fn key_01_refuses_both_names_at_once() {
    for (short, full) in KEYS {
        for (one, two) in [(short, full), (full, short), (short, short), (full, full)] {
            let text = format!("@a>qry:lookup{{{one}:x|other:y|{two}:x}}");
            assert_eq!(code_of(&text), ErrorCode::PARSE_ERROR, "{text}");
        }
        let both = lookup().with(short, "x").with(full, "x");
        assert_eq!(encode(&both).unwrap_err().code(), ErrorCode::PARSE_ERROR);
    }
    let text = "@a>req:schedule{asgn:dev|assignee:dev|task:t|schema:TA}";
    assert_eq!(code_of(text), ErrorCode::PARSE_ERROR);
    assert_eq!(
        Typed::<ScheduleReq<'_>>::decode(text).unwrap_err().code(),
        ErrorCode::PARSE_ERROR
    );
}

// ---- OP-01 and OP-02 -----------------------------------------------------------------

#[test]
fn op_01_accepts_the_nineteen_and_what_a_schema_registers() {
    let words = "analyze plan execute review approve reject fetch transform summarize classify \
                 generate validate schedule notify merge split route cache purge";
    assert_eq!(
        OPERATIONS.to_vec(),
        words.split_whitespace().collect::<Vec<_>>()
    );
    let mut registry = Registry::empty();
    assert!(
        OPERATIONS
            .iter()
            .all(|operation| registry.has_operation(operation))
    );
    assert!(!registry.has_operation("weigh"));
    let mut schema = Schema::new("weighing", "WG");
    schema.fields.push(Field::new("item", Type::String));
    schema.frames.push(FrameSpec::new(&["req", "weigh"]));
    registry.register(schema).unwrap();
    assert!(registry.has_operation("weigh") && !is_core_operation("weigh"));
}

#[test]
fn op_01_refuses_to_register_what_is_no_operation() {
    for operation in ["", "weigh-in", "weigh in", "wägen", "a:b"] {
        let mut registry = Registry::standard();
        let mut schema = Schema::new("weighing", "WG");
        schema.frames.push(FrameSpec::new(&["req", operation]));
        registry.register(schema).unwrap_err();
        assert_eq!(registry, Registry::standard());
    }
    assert!(
        ["weigh", "Plan", "plans", ""]
            .iter()
            .all(|operation| !Registry::standard().has_operation(operation))
    );
}

proptest! {
    #[test]
    fn op_02_accepts_any_operation(
        operation in "lookup|state|chat|infer|tool|transaction|error|registry|[A-Za-z0-9_]{1,12}",
        intent in prop::sample::select(&INTENTS[..]),
    ) {
        let text = format!("@a>{intent}:{operation}{{}}");
        let message = decode(&text).unwrap();
        prop_assert_eq!(&*message.operation, &operation);
        prop_assert_eq!(message.encode(Registry::shared()).unwrap(), text);
    }

    #[test]
    fn op_02_refuses_what_is_outside_the_production(operation in "[A-Za-z0-9_]{0,4}[^A-Za-z0-9_][a-z]{0,4}|") {
        prop_assert_eq!(DynamicFrame::new("a", "req", operation.as_str()).unwrap_err().code(), ErrorCode::PARSE_ERROR);
        let text = format!("@a>req:{operation}{{}}");
        prop_assert!(!agree(text.as_bytes()), "{}", text);
    }
}
