//! Texts of errors: the place and the expectation, and a cure for the caller.

use accp_runtime::profiles::{ScheduleReq, ToolDone};
use accp_runtime::{AgentId, DynamicFrame, ErrorCode, Frame, Registry, Typed, Value};
use serde_json::json;

fn all<T, E: std::fmt::Display>(results: impl IntoIterator<Item = Result<T, E>>) -> String {
    let texts = results.into_iter().map(|result| match result {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn of_the_grammar() {
    let texts = [
        "",
        "planner>req:x{}",
        "@>req:x{}",
        "@a:x{}",
        "@a>1:x{}",
        "@a>req{}",
        "@a>req:{}",
        "@a>req:x",
        "@a>req:x{k}",
        "@a>req:x{k:}",
        "@a>req:x{k:v",
        "@a>req:x{k:v,j:v}",
        "@a>req:x{k:a b}",
        "@a>req:x{k:\\n}",
        "@a>req:x{k:$}",
        "@a>req:x{k:[1,]}",
        "@a>req:x{k:{a}}",
        "@a>req:x{} ",
        "@a>req:x{}[]",
        "@a>req:x{}[k:v",
        "@a>req:x{k:[[[[[[1]]]]]]}",
        "@a>req:x{k:é}",
    ];
    insta::assert_snapshot!(all(texts.map(Frame::parse)), @r#"
    E1001 at byte 0: expected '@' at the start of the frame, found the end
    E1001 at byte 0: expected '@' at the start of the frame, found 'p'
    E1001 at byte 1: expected an agent id after '@', found '>'
    E1001 at byte 2: expected '>' after the agent id, found ':'
    E1001 at byte 3: expected an intent after '>', found '1'
    E1001 at byte 6: expected ':' after the intent, found '{'
    E1001 at byte 7: expected an operation after ':', found '{'
    E1001 at byte 8: expected '{' after the operation, found the end
    E1001 at byte 10: expected ':' after the key, found '}'
    E1001 at byte 11: expected a value, found '}'
    E1001 at byte 12: expected '|' or '}' after a value, found the end
    E1001 at byte 12: expected '|' or '}' after a value, found ','
    E1001 at byte 12: expected '|' or '}' after a value, found ' '
    E1001 at byte 12: expected one of the 12 delimiters after '\', found 'n'
    E1001 at byte 12: expected a reference key after '$', found '}'
    E1001 at byte 14: expected a value, found ']'
    E1001 at byte 13: expected ':' after the key, found '}'
    E1001 at byte 10: expected '[' or the end after '}', found ' '
    E1001 at byte 11: expected a key after '[', found ']'
    E1001 at byte 14: expected ',' or ']' after a value, found the end
    E1001 at byte 16: expected at most 5 levels of nesting
    E1001 at byte 11: expected a value, found 'é'
    "#);
}

#[test]
fn of_a_message() {
    let registry = Registry::shared();
    let texts = [
        "@a>ask:x{}",
        "@a>req:x{schema:ZZ}",
        "@a>req:schedule{asgn:dev|schema:TA}",
        "@a>req:schedule{asgn:dev|task:x|assignee:dev|schema:TA}",
        "@a>req:schedule{asgn:[x]|task:x|schema:TA}",
        "@a>req:schedule{asgn:dev|task:x|deps:[a,[b]]|schema:TA}",
        "@a>req:transaction{txn:t|amt:1.2345678|schema:TX}",
        "@a>done:tool{tool:x|schema:TC}",
        "@a>req:x{m:{k:1,k:2}}",
        "@a>req:x{}[mid:[1]]",
        "@a>req:x{}[seq:-1]",
        "@a>req:x{}[ts:1.5]",
        "@a>req:x{}[of:{a:1}]",
        "@a>req:x{}[mid:a,msg_id:b]",
    ];
    insta::assert_snapshot!(all(texts.map(|text| DynamicFrame::decode(text, registry))), @r#"
    E1002 at byte 3: expected an intent: req, done, fail, wait, esc, comp, sync, qry, ack, cancel, stream, end, ping, pong
    E1003 at byte 16: expected a schema of the registry: CH, ER, ST, TA, TC, TX
    E1004 at byte 34: expected the field `task`, which schema TA requires
    E1001 at byte 41 in assignee: expected every key once, under its full or its short name
    E1004 at byte 21 in assignee: expected a value of type agent
    E1004 at byte 40 in deps[1]: expected a value of type string
    E1004 at byte 29 in amount: expected a decimal of at most 6 places
    E1004 at byte 30: expected the envelope field cid, which this frame requires
    E1001 at byte 12 in m: expected every key once in a map
    E1001 at byte 15: expected one msg_id
    E1001 at byte 15: expected one sequence number, an integer from 0
    E1004 at byte 14: expected one timestamp, integer Unix seconds
    E1004 at byte 14: expected a scalar in the metadata
    E1001 at byte 24: expected one msg_id
    "#);
}

#[test]
fn of_a_type() {
    let texts = [
        "@a>done:schedule{asgn:dev|task:x|schema:TA}",
        "@a>ask:schedule{asgn:dev|task:x|schema:TA}",
        "@a>req:schedule{asgn:dev|task:x}",
        "@a>req:schedule{asgn:dev|schema:TA}",
        "@a>req:schedule{asgn:dev|task:x|deps:[a,~]|schema:TA}",
        "@a>req:schedule{asgn:dev|task:$cold.k1|schema:TA}",
        "@a>req:schedule{asgn:dev|task:x|task:y|schema:TA}",
    ];
    insta::assert_snapshot!(all(texts.map(Typed::<ScheduleReq<'_>>::decode)), @r#"
    E1004 at byte 3: expected @..>req:schedule with schema TA
    E1002 at byte 3: expected the intent req
    E1003 at byte 31: expected schema TA
    E1004 at byte 34: expected the field `task`, which schema TA requires
    E1004 at byte 40 in ScheduleReq.deps[1]: expected a string
    E2001 at byte 30 in ScheduleReq.task: expected a string; the reference has not been resolved
    E1001 at byte 37 in ScheduleReq.task: expected every key once, under its full or its short name
    "#);
    let text = "@a>done:tool{tool:x|res:1|schema:TC}[mid:1,seq:1]";
    insta::assert_snapshot!(all([Typed::<ToolDone<'_>>::decode(text)]), @r#"
    E1004 at byte 49: expected the envelope field cid, which this frame requires
    "#);
}

#[test]
fn of_the_caller() {
    let registry = Registry::shared();
    let message = || DynamicFrame::new("a", "req", "plan").unwrap();
    let encoded = [
        message().with("note", "x".repeat(51)),
        message().with("schema", "TA"),
        message().under("ZZ"),
        message().under("TA"),
        message().under("TA").with("task", 7),
        message()
            .under("TA")
            .with("task", "x")
            .with("deps", Value::Array(vec![Value::from(7)])),
        message().with("d", 1).with("data", 2),
        message().with("x", Value::Ref("no key".into())),
    ]
    .map(|message| message.encode(registry));
    insta::assert_snapshot!(all(encoded), @r#"
    note: the value has more than 50 characters, and no references are allowed: pass `EncodeOptions::externals`, list the field as inline in the registry, or set `EncodeOptions::inline`
    `schema` is reserved: set the schema of the message instead
    no schema ZZ in the registry; it has CH, ER, ST, TA, TC, TX
    task: missing; schema TA requires it
    task: the registry declares string, this is an integer
    deps[0]: the registry declares string, this is an integer
    `d` and `data` are one key
    x: `$no key` is not a reference: letters, digits, '_' and '.' only
    "#);
    insta::assert_snapshot!(all([DynamicFrame::new("a b", "req", "plan"), DynamicFrame::new("a", "ask", "plan"), DynamicFrame::new("a", "req", "a-b")]), @r#"
    `a b` is not an agent id: letters, digits, '-' and '_' only
    `ask` is not an intent: req, done, fail, wait, esc, comp, sync, qry, ack, cancel, stream, end, ping, pong
    `a-b` is not an operation: letters, digits and '_' only
    "#);
    let odd = [
        json!([]),
        json!({ "agent": "a", "intent": "req" }),
        json!({ "agent": "a", "intent": "req", "operation": "x", "assignee": "dev" }),
        json!({ "agent": "a", "intent": "req", "operation": "x", "payloads": {} }),
        json!({ "agent": "a", "intent": "req", "operation": "x", "metadata": { "seq": -1 } }),
    ];
    insta::assert_snapshot!(all(odd.iter().map(DynamicFrame::from_json)), @r#"
    a message is an object with the keys agent, intent, operation, schema, payload, metadata
    `operation` is missing or is not a string
    unknown key `assignee`; params stand under `payload`
    unknown key `payloads`; did you mean `payload`?
    metadata.seq: negative
    "#);
    insta::assert_snapshot!(all([AgentId::new("dev team")]), @r#"
    `dev team` is not an agent id: letters, digits, '-' and '_' only
    "#);
    assert!(Value::try_from(f64::NAN).is_err());
}

/// No frame can have the schema of a union, so the error lists only the other schemas.
#[test]
fn of_a_frame_under_the_schema_of_a_union() {
    let registry = r#"{ "schemas": {
        "pay": { "code": "PY", "fields": ["how", "iban"], "union": "how",
            "variants": [{ "name": "cash", "fields": [] }, { "name": "bank", "fields": ["iban"] }] },
        "order": { "code": "OR", "fields": ["pay"], "types": { "pay": "PY" } } } }"#;
    let registry = Registry::from_json(registry).unwrap();
    let message = DynamicFrame::new("a", "req", "plan").unwrap().under("PY");
    let error = message.encode(&registry).unwrap_err().to_string();
    assert_eq!(error, "no schema PY in the registry; it has OR");
}

/// A name that is not an agent id is a fault of the grammar (E1001) as the sender of a frame, and a value of the wrong
/// type (E1004) in a field. For a field, a reader gives the same code as the writer.
#[test]
fn of_an_agent_id_in_its_place() {
    let sender = AgentId::new("dev team").unwrap_err();
    assert_eq!(sender.code(), ErrorCode::PARSE_ERROR);
    let message = DynamicFrame::new("a", "req", "schedule")
        .unwrap()
        .under("TA");
    let message = message.with("assignee", "dev team").with("task", "x");
    let field = message.encode(Registry::shared()).unwrap_err();
    assert_eq!(field.code(), ErrorCode::INVALID_TYPE);
    let text = r#"@a>req:schedule{asgn:"dev_team|task:x|schema:TA}"#;
    let read = DynamicFrame::decode(text, Registry::shared()).unwrap_err();
    assert_eq!(read.code(), field.code());
}

/// The lenient reader must repair only complete shorthands, and a repaired frame must need no
/// repair.
#[test]
fn of_the_lenient_reader() {
    for text in [
        "@a>sync:x{d:{b:1,a:@d)v0}}",
        "@a>sync:x{d:@}",
        "@a>sync:x{d:[a:1,a:2]}",
        "@a>sync:x{d: [1}",
    ] {
        assert!(Frame::parse_lenient(text).is_err(), "{text}");
    }
    let (frame, repairs) =
        Frame::parse_lenient("@a>sync:x{d: {b:1, a:@d:op}|e:[y:2,x:@c]}").unwrap();
    assert_eq!(
        frame.to_string(),
        r"@a>sync:x{d:{a:\@d\:op,b:1}|e:{x:\@c,y:2}}"
    );
    assert_eq!(repairs.len(), 5);
    assert_eq!(
        Frame::parse_lenient(&frame.to_string()),
        Ok((frame, vec![]))
    );
}

/// The error points to the key that was meant for the missing field.
#[test]
fn a_misspelt_field() {
    let of = |frame| DynamicFrame::decode(frame, &Registry::standard()).unwrap_err();
    let error = of("@a>req:schedule{asgn:dev|tsk:x|schema:TA}");
    assert_eq!(
        error.to_string(),
        "E1004 at byte 25: expected the field `task`, which schema TA requires, and not `tsk`"
    );
    let error = of("@a>req:schedule{asgn:dev|goal:x|schema:TA}");
    assert_eq!(
        error.to_string(),
        "E1004 at byte 41: expected the field `task`, which schema TA requires"
    );
}
