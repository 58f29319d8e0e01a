//! Tests at run time the code that `#[derive(AccpFrame)]` makes for structs and enums. The types that the derive
//! refuses are in `accp-runtime/tests/compile_fail.rs`.

mod agreement;
mod aliases;
mod converted;
mod held;
mod made;
mod others;

use std::borrow::Cow;
use std::collections::BTreeMap;

use accp_runtime::{
    AccpFrame, AgentId, Decimal, DecodeError, DecodeFrame, DynamicFrame, EncodeFrame, Envelope,
    ErrorCode, Map, Registry, Typed, Value,
};
use proptest::prelude::*;

// A frame of the standard profile. Its fields are in another order than the registry's.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct ScheduleTask<'a> {
    task: Cow<'a, str>,
    deps: Vec<Cow<'a, str>>,
    assignee: AgentId<'a>,
    #[accp(default)]
    priority: Priority,
    #[accp(rename = "deadline")]
    due: Option<Cow<'a, str>>,
    #[accp(skip)]
    seen: u32,
}

#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
enum Priority {
    Low,
    Medium,
    High,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(
    schema = "TA",
    intent = "done",
    operation = "schedule",
    deny_unknown_fields
)]
struct Report {
    task: String,
    priority: Option<String>,
    progress: Option<u8>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
enum Work<'a> {
    Schedule(ScheduleTask<'a>),
    Report(Report),
    #[accp(
        schema = "TA",
        intent = "req",
        operation = "execute",
        ignore = "priority",
        ignore = "deps"
    )]
    Execute {
        assignee: AgentId<'a>,
        task: Cow<'a, str>,
        #[accp(skip)]
        note: u8,
    },
    #[accp(intent = "ping", operation = "link")]
    Ping {},
}

// A registry in its own file, with nested schemas.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "LC")]
struct Place<'a> {
    note: Option<Cow<'a, str>>,
    shelf: i64,
    aisle: Cow<'a, str>,
}

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
    intent = "req",
    operation = "move"
)]
struct Move<'a> {
    item: Cow<'a, str>,
    target: Place<'a>,
    stops: Option<Vec<Place<'a>>>,
    trend: Option<Trend>,
    count: Option<i32>,
    weight: Option<Decimal>,
    ratio: Option<f64>,
    fragile: bool,
    by: Option<AgentId<'a>>,
    tags: Vec<String>,
    labels: Option<Map<'a>>,
    remark: Option<Cow<'a, str>>,
    speed: Cow<'a, str>,
    #[accp(flatten)]
    others: BTreeMap<Cow<'a, str>, Value<'a>>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(
    registry = "registry/warehouse.json",
    schema = "SV",
    intent = "done",
    operation = "move"
)]
struct Moved {
    item: String,
    count: i32,
    speed: Option<String>,
}

// A frame without a schema takes any keys and any values.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "qry", operation = "lookup")]
struct Lookup<T> {
    source: String,
    query: T,
    range: Option<Range>,
    format: Option<Vec<T>>,
    #[accp(flatten)]
    others: BTreeMap<String, i64>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
struct Range {
    to: Option<i64>,
    from: i64,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(
    schema = "TA",
    intent = "req",
    operation = "execute",
    ignore = "priority"
)]
struct Generic<'a, T, const N: usize> {
    task: T,
    assignee: AgentId<'a>,
    deps: Vec<T>,
    status: Option<Box<T>>,
    #[accp(skip)]
    padding: std::marker::PhantomData<[u8; N]>,
}

fn warehouse() -> Registry {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/registry/warehouse.json");
    Registry::load(path).unwrap().with_profiles()
}

fn decode<'a, T: DecodeFrame<'a>>(text: &'a str) -> Result<T, DecodeError> {
    Typed::<T>::decode(text).map(|typed| typed.frame)
}

fn encode<T: EncodeFrame>(frame: T) -> String {
    let agent = AgentId::new("a").unwrap();
    Typed::new(agent, frame, Envelope::default())
        .encode()
        .unwrap()
}

fn error<'a, T: DecodeFrame<'a>>(text: &'a str) -> String {
    match Typed::<T>::decode(text) {
        Ok(_) => panic!("{text} is accepted"),
        Err(error) => error.to_string(),
    }
}

// Names, order, defaults ---------------------------------------------------------------

#[test]
fn params_follow_the_registry_under_their_short_names() {
    let frame = ScheduleTask {
        task: "impl_auth".into(),
        deps: vec!["a".into(), "b".into()],
        assignee: AgentId::new("dev").unwrap(),
        priority: Priority::High,
        due: Some("sprint_14".into()),
        seen: 7,
    };
    let text =
        "@a>req:schedule{asgn:dev|task:impl_auth|pri:high|dead:sprint_14|deps:[a,b]|schema:TA}";
    assert_eq!(encode(frame.clone()), text);
    // The field `seen` is skipped, so it is not written.
    let read: ScheduleTask<'_> = decode(text).unwrap();
    assert_eq!(read, ScheduleTask { seen: 0, ..frame });
}

#[test]
fn both_names_and_any_order_are_read() {
    let short = "@a>req:schedule{asgn:dev|task:t|pri:low|dead:d|schema:TA}";
    let full = "@a>req:schedule{schema:TA|deadline:d|priority:low|task:t|assignee:dev}";
    assert_eq!(
        decode::<ScheduleTask<'_>>(short),
        decode::<ScheduleTask<'_>>(full)
    );
}

#[test]
fn a_default_is_left_out_and_filled_in() {
    let text = "@a>req:schedule{asgn:dev|task:t|schema:TA}";
    let frame: ScheduleTask<'_> = decode(text).unwrap();
    assert_eq!(frame.priority, Priority::Medium);
    assert_eq!(encode(frame.clone()), text);
    let spelt: ScheduleTask<'_> =
        decode("@a>req:schedule{asgn:dev|task:t|pri:medium|deps:[]|schema:TA}").unwrap();
    assert_eq!(spelt, frame);
}

#[test]
fn none_under_a_default_is_null() {
    let frame = |count| Moved {
        item: "i".into(),
        count,
        speed: None,
    };
    // `done:move` uses only item and count, so `speed` has no default there.
    let agent = AgentId::new("a").unwrap();
    let envelope = Envelope::new("100001000001", 1).answering("100001000000");
    let typed = Typed::new(agent, frame(1), envelope);
    let text = typed.encode().unwrap();
    assert_eq!(
        text,
        "@a>done:move{item:i|schema:SV}[mid:100001000001,seq:1,cid:100001000000]"
    );
    assert_eq!(Typed::<Moved>::decode(&text).unwrap(), typed);

    let mut frame: Move<'_> = decode("@a>req:move{item:i|who:{z:3}|schema:SV}").unwrap();
    assert_eq!((frame.count, frame.trend), (Some(1), None));
    frame.count = None;
    let text = encode(frame.clone());
    assert_eq!(text, "@a>req:move{item:i|who:{z:3}|count:~|schema:SV}");
    assert_eq!(decode::<Move<'_>>(&text).unwrap(), frame);
}

#[test]
fn the_envelope_that_the_registry_asks_for_is_asked_for() {
    insta::assert_snapshot!(error::<Moved>("@a>done:move{item:i|schema:SV}[mid:100001000001,seq:1]"), @"E1004 at byte 54: expected the envelope field cid, which this frame requires");
    let agent = AgentId::new("a").unwrap();
    let frame = Moved {
        item: "i".into(),
        count: 1,
        speed: None,
    };
    let refused = Typed::new(agent, frame, Envelope::new("100001000001", 1))
        .encode()
        .unwrap_err();
    insta::assert_snapshot!(refused, @"Moved: done:move needs the envelope field cid");
}

#[test]
fn a_required_field_is_neither_missing_nor_null() {
    #[derive(AccpFrame, Debug, PartialEq)]
    #[accp(schema = "TC", intent = "done", operation = "tool")]
    struct ToolDone<'a, T> {
        tool_name: T,
        result: Option<Value<'a>>,
        status: Cow<'a, str>,
    }
    let of = |tool: &str| format!("@a>done:tool{{{tool}res:~|schema:TC}}[mid:1,seq:1,cid:c]");
    insta::assert_snapshot!(error::<ToolDone<'_, String>>(&of("")), @"E1004 at byte 28: expected the field `tool_name`, which schema TC requires");
    insta::assert_snapshot!(error::<ToolDone<'_, String>>(&of("tool:~|")), @"E1004 at byte 18 in ToolDone.tool_name: expected a value, which schema TC requires; null is none");
    // The type of a user may accept a null, but a required field never holds one.
    insta::assert_snapshot!(error::<ToolDone<'_, Option<String>>>(&of("tool:~|")), @"E1004 at byte 18 in ToolDone.tool_name: expected a value, which schema TC requires; null is none");
    let frame = ToolDone {
        tool_name: None::<String>,
        result: None,
        status: "ok".into(),
    };
    let envelope = Envelope::new("100001000001", 1).answering("c");
    let refused = Typed::new(AgentId::new("a").unwrap(), frame, envelope).encode();
    insta::assert_snapshot!(refused.unwrap_err(), @"ToolDone.tool_name: a value has to stand here, and null is none");
}

#[test]
fn a_borrowed_decode_borrows() {
    let text = "@a>req:schedule{asgn:dev|task:impl_auth|deps:[a]|schema:TA}".to_owned();
    let frame: ScheduleTask<'_> = decode(&text).unwrap();
    assert!(matches!(frame.task, Cow::Borrowed(_)));
    assert!(matches!(frame.deps[0], Cow::Borrowed(_)));
}

// Unknown keys -------------------------------------------------------------------------

#[test]
fn unknown_keys_are_ignored_denied_or_kept() {
    let ignored = "@a>req:schedule{asgn:dev|task:t|zz:{q:[1,2]}|schema:TA}";
    assert!(decode::<ScheduleTask<'_>>(ignored).is_ok());

    insta::assert_snapshot!(error::<Report>("@a>done:schedule{task:t|zz:1|schema:TA}"), @"E1004 at byte 24: expected a field of Report: task, priority, progress");
    // The field is in the schema, but not in the struct.
    insta::assert_snapshot!(error::<Report>("@a>done:schedule{task:t|stat:ok|schema:TA}"), @"E1004 at byte 24: expected a field of Report: task, priority, progress");

    let kept = "@a>req:move{item:i|who:{z:3}|fmt:pdf|xx:[1,2]|_:[[first-name,Ada]]|schema:SV}";
    let frame: Move<'_> = decode(kept).unwrap();
    let keys: Vec<_> = frame.others.keys().collect();
    assert_eq!(keys, ["first-name", "format", "xx"]);
    assert_eq!(encode(frame), kept);
}

#[test]
fn a_key_stands_once() {
    insta::assert_snapshot!(error::<Report>("@a>done:schedule{task:t|prog:1|progress:2|schema:TA}"), @"E1001 at byte 40 in Report.progress: expected every key once, under its full or its short name");
    insta::assert_snapshot!(error::<Report>("@a>done:schedule{task:t|schema:TA|schema:TA}"), @"E1001 at byte 41 in Report.schema: expected every key once, under its full or its short name");
    insta::assert_snapshot!(error::<Move<'_>>("@a>req:move{item:i|who:{z:3,aisle:4}|schema:SV}"), @"E1001 at byte 34 in Move.target.aisle: expected every key once, under its full or its short name");
    insta::assert_snapshot!(error::<Move<'_>>("@a>req:move{item:i|who:{z:3}|xx:1|xx:2|schema:SV}"), @"E1001 at byte 37 in Move.xx: expected every key once, under its full or its short name");
}

#[test]
fn what_is_kept_must_be_unknown() {
    let mut frame: Move<'_> = decode("@a>req:move{item:i|who:{z:3}|schema:SV}").unwrap();
    frame.others.insert("count".into(), Value::Integer(2));
    let agent = AgentId::new("a").unwrap();
    let refused = Typed::new(agent, frame, Envelope::default())
        .encode()
        .unwrap_err();
    insta::assert_snapshot!(refused, @"Move.count: this key belongs to a field, or is reserved");
}

// Errors -------------------------------------------------------------------------------

#[test]
fn another_frame_is_told_by_what_is_expected() {
    insta::assert_snapshot!(error::<Report>("@a>req:schedule{task:t|schema:TA}"), @"E1004 at byte 3: expected @..>done:schedule with schema TA");
    insta::assert_snapshot!(error::<Report>("@a>done:plan{task:t|schema:TA}"), @"E1004 at byte 8: expected @..>done:schedule with schema TA");
    insta::assert_snapshot!(error::<Report>("@a>want:schedule{task:t|schema:TA}"), @"E1002 at byte 3: expected the intent done");
    insta::assert_snapshot!(error::<Report>("@a>done:schedule{task:t|schema:TC}"), @"E1003 at byte 31: expected schema TA");
    insta::assert_snapshot!(error::<Report>("@a>done:schedule{task:t}"), @"E1003 at byte 23: expected schema TA");
    insta::assert_snapshot!(error::<Lookup<i64>>("@a>qry:lookup{src:a|q:1|schema:TA}"), @"E1003 at byte 31: expected no schema");
}

#[test]
fn a_fault_has_the_path_to_its_field() {
    insta::assert_snapshot!(
        error::<ScheduleTask<'_>>("@a>req:schedule{asgn:dev|task:t|deps:[a,b,{x:1}]|schema:TA}"), @"E1004 at byte 42 in ScheduleTask.deps[2]: expected a string");
    insta::assert_snapshot!(
        error::<Move<'_>>("@a>req:move{item:i|who:{z:3}|stops:[{z:1},{z:2,sh:top}]|schema:SV}"), @"E1004 at byte 50 in Move.stops[1].shelf: expected an integer that fits i64");
    insta::assert_snapshot!(error::<Move<'_>>("@a>req:move{item:i|who:{sh:3}|schema:SV}"), @"E1004 at byte 28 in Move.target: expected the field `aisle`, which schema LC requires");
    insta::assert_snapshot!(error::<Move<'_>>("@a>req:move{item:i|schema:SV}"), @"E1004 at byte 28: expected the field `target`, which schema SV requires");
    insta::assert_snapshot!(
        error::<Move<'_>>("@a>req:move{item:i|who:{z:3}|trend:sideways|schema:SV}"), @"E1004 at byte 35 in Move.trend: expected one of up, down, level");
    insta::assert_snapshot!(
        error::<Work<'_>>("@a>req:execute{asgn:dev|task:[]|schema:TA}"), @"E1004 at byte 29 in Work::Execute.task: expected a string");
    insta::assert_snapshot!(error::<Lookup<i64>>("@a>qry:lookup{src:a|schemata:1}"), @"E1004 at byte 30: expected the field `query`, which Lookup requires");
}

#[test]
fn grammar_comes_before_types() {
    // The type of `deps` is wrong, and a bracket is missing later.
    insta::assert_snapshot!(error::<ScheduleTask<'_>>("@a>req:schedule{deps:x|schema:TA|task:[}"), @"E1001 at byte 39: expected a value, found '}'");
    insta::assert_snapshot!(error::<ScheduleTask<'_>>("@a>req:plan{task:[}"), @"E1001 at byte 18: expected a value, found '}'");
    insta::assert_snapshot!(error::<ScheduleTask<'_>>("@a>req:plan{task:t}[mid:x"), @"E1001 at byte 25: expected ',' or ']' after a value, found the end");
}

#[test]
fn a_long_value_is_refused_with_its_path() {
    let place = Place {
        aisle: "x".repeat(51).into(),
        shelf: 1,
        note: None,
    };
    let mut frame: Move<'_> = decode("@a>req:move{item:i|who:{z:3}|schema:SV}").unwrap();
    frame.stops = Some(vec![place.clone(), place]);
    let agent = AgentId::new("a").unwrap();
    let refused = Typed::new(agent, frame, Envelope::default())
        .encode()
        .unwrap_err();
    assert_eq!(refused.path(), "Move.stops[0].aisle");
}

// Enums --------------------------------------------------------------------------------

#[test]
fn an_enum_of_frames_takes_the_one_that_accepts() {
    for text in [
        "@a>req:schedule{asgn:dev|task:t|schema:TA}",
        "@a>done:schedule{task:t|prog:100|schema:TA}",
        "@a>req:execute{asgn:dev|task:t|schema:TA}",
        "@a>ping:link{}",
    ] {
        let work: Work<'_> = decode(text).unwrap();
        let variant = match &work {
            Work::Schedule(_) => "req:schedule",
            Work::Report(_) => "done:schedule",
            Work::Execute { .. } => "req:execute",
            Work::Ping {} => "ping:link",
        };
        assert!(text.contains(variant), "{text} {work:?}");
        assert_eq!(encode(work), text);
    }
    insta::assert_snapshot!(error::<Work<'_>>("@a>req:schedule{asgn:dev|task:t|schema:TC}"), @"E1004 at byte 3: expected a frame of Work, which `req:schedule` of schema TC is not; there is `req:schedule` of schema TA");
    insta::assert_snapshot!(error::<Work<'_>>("@a>want:schedule{}"), @"E1002 at byte 3: expected a frame of Work, which `want:schedule` without a schema is not; did you mean `done:schedule` of schema TA?");
    insta::assert_snapshot!(error::<Work<'_>>("@a>want:schedule{"), @"E1001 at byte 17: expected a key or '}' after '{', found the end");
}

#[test]
fn a_symbol_travels_and_both_spellings_are_read() {
    let text = "@a>req:move{item:i|who:{z:3}|trend:+|schema:SV}";
    let frame: Move<'_> = decode(text).unwrap();
    assert_eq!(frame.trend, Some(Trend::Up));
    let spelt: Move<'_> = decode("@a>req:move{item:i|who:{z:3}|trend:up|schema:SV}").unwrap();
    assert_eq!(spelt, frame);
    assert_eq!(encode(frame), text);
}

#[test]
fn an_enumeration_stands_where_nothing_is_declared() {
    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    enum Answer {
        // A frame writes this name with a mark, so that no reader takes it for a boolean.
        True,
        #[accp(rename = "42")]
        FortyTwo,
    }
    let frame = Lookup {
        source: "s".into(),
        query: Answer::True,
        range: None,
        format: Some(vec![Answer::FortyTwo]),
        others: BTreeMap::new(),
    };
    let text = encode(frame.clone());
    assert_eq!(text, "@a>qry:lookup{fmt:[\"42]|q:\"true|src:s}");
    assert_eq!(decode::<Lookup<Answer>>(&text).unwrap(), frame);
}

// Without a schema; generics -----------------------------------------------------------

#[test]
fn without_a_schema_all_keys_ascend() {
    let frame = Lookup {
        source: "crm".into(),
        query: 7_i64,
        range: Some(Range { to: None, from: 1 }),
        format: None,
        others: [
            ("alpha".to_owned(), 1),
            ("priority".to_owned(), 2),
            ("r s".to_owned(), 3),
        ]
        .into(),
    };
    let text = encode(frame.clone());
    assert_eq!(
        text,
        "@a>qry:lookup{alpha:1|pri:2|q:7|range:{from:1}|src:crm|_:[[\"r_s,3]]}"
    );
    assert_eq!(decode::<Lookup<i64>>(&text).unwrap(), frame);
    let message = DynamicFrame::decode(&text, Registry::shared()).unwrap();
    assert_eq!(message.encode(Registry::shared()).unwrap(), text);
}

#[test]
fn a_generic_struct_has_the_bounds_it_needs() {
    let text = "@a>req:execute{asgn:dev|task:t|deps:[u]|stat:v|schema:TA}";
    let owned: Generic<'_, String, 3> = decode(text).unwrap();
    let borrowed: Generic<'_, Cow<'_, str>, 0> = decode(text).unwrap();
    assert_eq!(borrowed.deps, ["u"]);
    assert_eq!(encode(owned), text);
    assert_eq!(encode(borrowed), text);
}

#[test]
fn a_nested_struct_is_read_in_the_pairs_form_too() {
    let plain: Move<'_> = decode("@a>req:move{item:i|who:{z:3,sh:4}|schema:SV}").unwrap();
    let pairs: Move<'_> =
        decode("@a>req:move{item:i|who:{_:[[sh,4],[first-name,x],[z,\"3]]}|schema:SV}").unwrap();
    assert_eq!(plain, pairs);
}
