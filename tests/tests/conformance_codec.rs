//! Conformance of the codec: OPT (draft section 3.3), ERR (3.6), INT, KEY, OP (4), and
//! SEC-04 (9). `docs/conformance.md` leads from each requirement to its tests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::{
    ABBREVIATIONS, Category, Field, FrameSpec, OPERATIONS, Schema, Type, is_core_operation,
};
use accp_runtime::profiles::{ErrorFail, InferStream, ScheduleReq, ToolDone};
use accp_runtime::{
    AccpFrame, AgentId, DecodeError, DecodeOptions, EncodeError, EncodeOptions, Envelope,
    ErrorCode, Frame, Intent, Limits, Message, Registry, Typed, Value,
};
use accp_tests::judges::agree;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// A frame that both judges take.
fn decode(text: &str) -> Result<Message<'_>, DecodeError> {
    assert!(agree(text.as_bytes()), "{text}");
    Message::decode(text, Registry::shared())
}

fn code_of(text: &str) -> ErrorCode {
    decode(text).unwrap_err().code()
}

fn encode(message: &Message<'_>) -> Result<String, EncodeError> {
    let options = EncodeOptions {
        inline: true,
        ..EncodeOptions::default()
    };
    message.encode_with(Registry::shared(), options)
}

fn lookup<'a>() -> Message<'a> {
    Message::new("a", "qry", "lookup").unwrap()
}

fn warehouse() -> Registry {
    Registry::from_json(include_str!("../registry/warehouse.json")).unwrap()
}

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
        let chat = Message::new("a", "done", "chat").unwrap().under("CH").with("content", content).in_envelope(envelope);
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
            // A null may stand for any type, and is no default.
            let mut message = Message::new("a", "sync", "state")
                .unwrap()
                .under(schema.code.as_str());
            for required in schema.required("sync", "state") {
                message.payload.insert(required, Value::Null);
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
            let mut message = Message::new("a", &frame.intent, frame.operation.as_str())
                .unwrap()
                .under(schema.code.as_str());
            message.envelope = Envelope::new("1", 1).answering("0");
            for required in schema.required(&frame.intent, &frame.operation) {
                message.payload.insert(required, Value::Null);
            }
            let bare = message.encode(registry).unwrap();
            let filled = decode(&bare).unwrap();
            for (index, field) in schema.fields.iter().enumerate() {
                if schema.has_default(index, &frame.intent, &frame.operation) {
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
    /// Left out exactly when it is the default.
    #[test]
    fn opt_04_accepts_every_other_value_and_writes_it(priority in "[a-z]{1,8}|medium") {
        let text = format!("@a>req:execute{{asgn:dev|task:t|pri:{priority}|schema:TA}}");
        let message = decode(&text).unwrap();
        prop_assert_eq!(message.payload.get("priority"), Some(&Value::from(priority.as_str())));
        let canonical = message.encode(Registry::shared()).unwrap();
        prop_assert_eq!(canonical.contains("pri:"), priority != "medium");
        let typed = Typed::<accp_runtime::profiles::ExecuteReq<'_>>::decode(&text).unwrap();
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
    // The registry says which omission is a value; a default that is none is a mistake.
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
    // Null is not the default, so it is said.
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
    intent = "sync",
    operation = "stock"
)]
struct Stock<'a> {
    item: std::borrow::Cow<'a, str>,
    trend: Option<Trend>,
}

fn stock(trend: &str) -> String {
    format!("@a>sync:stock{{item:x|trend:{trend}|schema:SV}}")
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
            let message = Message::decode(&text, &registry).unwrap();
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
            Message::decode(&text, &registry).unwrap_err().code(),
        ];
        assert_eq!(codes, [ErrorCode::INVALID_TYPE; 2]);
    }
    let message = Message::decode(&stock("+"), &registry)
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

// ---- ERR-01 ------------------------------------------------------------------------

proptest! {
    #[test]
    fn err_01_accepts_errors_as_fail_error_of_schema_er(
        number in 0..10_000_u16, msg: String, retry: bool, at in proptest::option::of(0..70_000_i64)
    ) {
        let code = ErrorCode::new(number).unwrap().to_string();
        let frame = ErrorFail {
            code: code.as_str().into(), msg: msg.as_str().into(), retry, at,
            expected_sequence: None, version: None, field: None, tool_name: None, escalate_to: None,
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
    let message = Message::new("a", "fail", "error")
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
        // A code outside the table has no name, and nobody invents whether to retry.
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
        let error = Message::new("agent", &intent, "plan").unwrap_err();
        prop_assert_eq!(error.code(), ErrorCode::INVALID_INTENT);
    }
}

// ---- KEY-01 ------------------------------------------------------------------------

/// Table 8 of the draft, each with the full name that stands for its meaning.
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
    // All at once, and nothing is expanded inside of data.
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
    schema.frames.push(FrameSpec::new("req", "weigh"));
    registry.register(schema).unwrap();
    assert!(registry.has_operation("weigh") && !is_core_operation("weigh"));
}

#[test]
fn op_01_refuses_to_register_what_is_no_operation() {
    for operation in ["", "weigh-in", "weigh in", "wägen", "a:b"] {
        let mut registry = Registry::standard();
        let mut schema = Schema::new("weighing", "WG");
        schema.frames.push(FrameSpec::new("req", operation));
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
        prop_assert_eq!(Message::new("a", "req", operation.as_str()).unwrap_err().code(), ErrorCode::PARSE_ERROR);
        let text = format!("@a>req:{operation}{{}}");
        prop_assert!(!agree(text.as_bytes()), "{}", text);
    }
}

// ---- SEC-04 ------------------------------------------------------------------------

fn nested(levels: usize) -> String {
    format!(
        "@a>qry:lookup{{k:{}v{}}}",
        "[".repeat(levels),
        "]".repeat(levels)
    )
}

fn mapped(levels: usize) -> String {
    format!(
        "@a>qry:lookup{{k:{}v{}}}",
        "{a:".repeat(levels),
        "}".repeat(levels)
    )
}

fn params(count: usize) -> String {
    let params: Vec<String> = (0..count).map(|at| format!("k{at}:v")).collect();
    format!("@a>qry:lookup{{{}}}", params.join("|"))
}

fn pairs(count: usize) -> String {
    let pairs: Vec<String> = (0..count).map(|at| format!("k{at}:v")).collect();
    format!("@a>qry:lookup{{}}[{}]", pairs.join(","))
}

/// So many elements, the param among them.
fn elements(count: usize) -> String {
    format!("@a>qry:lookup{{k:[{}]}}", vec!["v"; count - 1].join(","))
}

fn bytes(count: usize) -> String {
    let frame = "@a>qry:lookup{k:}".len();
    format!("@a>qry:lookup{{k:{}}}", "x".repeat(count - frame))
}

/// The largest that fits, and the smallest that does not.
fn limits() -> [(String, String); 6] {
    [
        (nested(5), nested(6)),
        (mapped(5), mapped(6)),
        (params(256), params(257)),
        (pairs(256), pairs(257)),
        (elements(4096), elements(4097)),
        (bytes(64 * 1024), bytes(64 * 1024 + 1)),
    ]
}

#[test]
fn sec_04_accepts_frames_at_the_limits() {
    for (fits, _) in limits() {
        let message = decode(&fits).unwrap();
        assert_eq!(decode(&encode(&message).unwrap()).unwrap(), message);
        assert!(Frame::parse_lenient(&fits).is_ok());
    }
}

#[test]
fn sec_04_refuses_frames_over_the_limits() {
    for (_, over) in limits() {
        assert!(!agree(over.as_bytes()));
        assert_eq!(
            Frame::parse(&over).unwrap_err().code(),
            ErrorCode::PARSE_ERROR
        );
        assert_eq!(
            Frame::parse_lenient(&over).unwrap_err().code(),
            ErrorCode::PARSE_ERROR
        );
        assert_eq!(
            Message::decode(&over, Registry::shared())
                .unwrap_err()
                .code(),
            ErrorCode::PARSE_ERROR
        );
    }
    let deep = "@a>done:tool{tool:t|res:[[[[[[v]]]]]]|schema:TC}[cid:1]";
    assert_eq!(Typed::<ToolDone<'_>>::decode(deep).unwrap_err().at(), 29);
}

/// Nobody writes what the others refuse to read.
#[test]
fn sec_04_refuses_to_write_frames_over_the_limits() {
    for (_, over) in limits() {
        let options = DecodeOptions {
            limits: Limits::NONE,
            ..DecodeOptions::default()
        };
        let message = Message::decode_with(&over, Registry::shared(), &options).unwrap();
        let written = encode(&message).map_err(|error| error.code());
        assert_eq!(written, Err(ErrorCode::PARSE_ERROR));
    }
}

/// A hostile text is refused at the byte that is too much, however long it goes on, and
/// the length before anything else is looked at.
#[test]
fn sec_04_refuses_before_it_reads_on() {
    let limit = 64 * 1024;
    for (start, unit, at) in [
        ("@a>b:c{k:", "[", 9 + 5),
        ("@a>b:c{k:", "{a:", 9 + 5 * 3),
        ("@a>b:c{k:", "~", 9 + 1),
        ("@", "@", 1),
    ] {
        let text = [start, &unit.repeat((limit - start.len()) / unit.len())].concat();
        assert!(!agree(text.as_bytes()));
        assert_eq!(Frame::parse(&text).unwrap_err().at(), at);
        let longer = [&text, &*unit.repeat(limit)].concat();
        assert!(!agree(longer.as_bytes()));
        assert_eq!(Frame::parse(&longer).unwrap_err().at(), limit);
    }
    // Depth stays bounded where a reader has no other limit.
    let options = DecodeOptions {
        limits: Limits::NONE,
        ..DecodeOptions::default()
    };
    assert!(Frame::parse_with(&nested(Limits::MAX_DEPTH as usize), &options).is_ok());
    assert!(Frame::parse_with(&nested(1_000_000), &options).is_err());
}
