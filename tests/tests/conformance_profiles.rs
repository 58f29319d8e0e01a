//! Conformance of the standard profiles: PRO (draft section 10).
//! `docs/conformance.md` lists the tests of each requirement.

mod transactions;

use std::borrow::Cow;
use std::fmt::Debug;

use accp_runtime::profiles::{
    ChatDone, ChatMessageFrame, ChatReq, ErrorFail, InferStream, ScheduleDone, ScheduleReq,
    ToolDone, ToolReq, TransactionDone, TransactionReq,
};
use accp_runtime::{
    AccpFrame, AgentId, Decimal, DecodeFrame, DynamicFrame, EncodeFrame, Envelope, ErrorCode, Map,
    Registry, Typed, Value,
};
use accp_tests::judges::agree;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn request<'a, T>(frame: T) -> Typed<'a, T> {
    Typed::new(
        AgentId::new("a").unwrap(),
        frame,
        Envelope::new("100001000001", 1),
    )
}

fn answer<'a, T>(frame: T) -> Typed<'a, T> {
    let envelope = Envelope::new("100001000002", 2).answering("100001000001");
    Typed::new(AgentId::new("b").unwrap(), frame, envelope)
}

/// Checks that the frame encodes to the text, and that the text decodes to the frame. Checks the same for the
/// dynamic message, and returns the JSON of its payload.
fn same<'a, T>(text: &'a str, typed: &Typed<'a, T>) -> Json
where
    T: EncodeFrame + DecodeFrame<'a> + PartialEq + Debug,
{
    assert!(agree(text.as_bytes()), "{text}");
    assert_eq!(typed.encode().unwrap(), text);
    assert_eq!(Typed::decode(text).unwrap(), *typed);
    let message = DynamicFrame::decode(text, Registry::shared()).unwrap();
    assert_eq!(message.encode(Registry::shared()).unwrap(), text);
    Value::Map(message.payload).to_json()
}

/// Checks that both readers refuse the frame with the same code.
fn refused<'a, T: DecodeFrame<'a> + Debug>(text: &'a str) -> ErrorCode {
    assert!(agree(text.as_bytes()), "{text}");
    let code = Typed::<T>::decode(text).unwrap_err().code();
    assert_eq!(
        DynamicFrame::decode(text, Registry::shared())
            .unwrap_err()
            .code(),
        code,
        "{text}"
    );
    code
}

fn fields(code: &str) -> Vec<&'static str> {
    let schema = Registry::shared().schema(code).unwrap();
    let fields = schema.fields.iter().filter(|field| !field.optional);
    fields.map(|field| field.name.as_str()).collect()
}

fn defaults(code: &str) -> Json {
    let schema = Registry::shared().schema(code).unwrap();
    let defaults = schema
        .fields
        .iter()
        .filter_map(|field| Some((field.name.clone(), field.default.clone()?)));
    Json::Object(defaults.collect())
}

/// Returns texts that are short enough to stay in the frame.
fn short() -> impl Strategy<Value = String> {
    "\\PC{0,20}"
}

fn cow(text: Option<String>) -> Option<Cow<'static, str>> {
    text.map(Cow::Owned)
}

// ---- PRO-CH ------------------------------------------------------------------------

proptest! {
    #[test]
    fn pro_ch_accepts_a_question_and_its_answer(
        role in "user|assistant|\\PC{1,9}", content: String, turn: Option<i64>,
        lang in "en|de|en-GB", reply_to in option::of(short()),
    ) {
        let frame = ChatReq { role: role.into(), content: content.into(), turn, lang: lang.into(), reply_to: cow(reply_to) };
        let ChatReq { role, content, lang, reply_to, .. } = frame.clone();
        let question = request(frame);
        let text = question.encode().unwrap();
        let payload = same(&text, &question);
        prop_assert_eq!(&payload["role"], &json!(role));
        prop_assert_eq!(&payload["content"], &json!(content));
        prop_assert_eq!(&payload["lang"], &json!(lang));
        prop_assert_eq!(text.contains("role:"), role != "assistant");
        prop_assert_eq!(text.contains("lang:"), lang != "en");
        let reply = answer(ChatDone { role, content, turn, lang, reply_to });
        same(&reply.encode().unwrap(), &reply);
    }
}

#[test]
fn pro_ch_accepts_the_examples_of_the_draft() {
    assert_eq!(
        fields("CH"),
        ["role", "content", "turn", "lang", "reply_to"]
    );
    assert_eq!(defaults("CH"), json!({ "role": "assistant", "lang": "en" }));
    let text =
        "@user>req:chat{role:user|content:What_are_Q3_findings?|turn:1|schema:CH}[mid:1,seq:1]";
    let question = Typed::<ChatReq<'_>>::decode(text).unwrap();
    assert_eq!(question.frame.content, "What are Q3 findings?");
    same(text, &question);
    let text =
        "@assistant>done:chat{content:Revenue_declined_12%.|turn:2|schema:CH}[mid:2,seq:2,cid:1]";
    let reply = Typed::<ChatDone<'_>>::decode(text).unwrap();
    assert_eq!(
        (&*reply.frame.role, &*reply.frame.lang),
        ("assistant", "en")
    );
    same(text, &reply);
}

#[test]
fn pro_ch_refuses_a_message_without_content_and_a_turn_that_is_none() {
    for payload in [
        "role:user",
        "content:x|turn:one",
        "content:x|turn:1.0",
        "content:[x]",
        "content:x|lang:{}",
    ] {
        let text = format!("@a>req:chat{{{payload}|schema:CH}}");
        assert_eq!(refused::<ChatReq<'_>>(&text), ErrorCode::INVALID_TYPE);
    }
}

// ---- PRO-TC ------------------------------------------------------------------------

proptest! {
    #[test]
    fn pro_tc_accepts_a_call_and_its_result(
        tool in "[a-z_]{1,20}", query in short(), max: i64, hits in proptest::collection::vec(short(), 0..5),
        status in "ok|partial", error_code in option::of("[A-Z]{1,8}"),
    ) {
        let arguments: Map<'_> =
            [("q", Value::from(query.as_str())), ("max", Value::from(max))].into_iter().collect();
        let call = request(ToolReq { tool_name: tool.as_str().into(), arguments: Some(arguments.clone()) });
        let payload = same(&call.encode().unwrap(), &call);
        prop_assert_eq!(payload, json!({ "tool_name": tool, "arguments": { "q": query, "max": max } }));

        let result: Vec<Value<'_>> = hits.iter().map(|hit| Value::from(hit.as_str())).collect();
        let done = answer(ToolDone {
            tool_name: tool.as_str().into(), arguments: None, result: Some(result.into()),
            status: status.as_str().into(), error_code: cow(error_code),
        });
        let text = done.encode().unwrap();
        let payload = same(&text, &done);
        prop_assert_eq!(&payload["result"], &json!(hits));
        prop_assert_eq!(&payload["status"], &json!(status));
        prop_assert_eq!(text.contains("stat:"), status != "ok");
        prop_assert!(text.contains(",cid:100001000001"));
    }
}

#[test]
fn pro_tc_accepts_the_examples_of_the_draft_and_an_error_in_er() {
    assert_eq!(
        fields("TC"),
        ["tool_name", "arguments", "result", "status", "error_code"]
    );
    assert_eq!(defaults("TC"), json!({ "status": "ok" }));
    let text =
        "@orchestrator>req:tool{tool:web_search|args:{max:5,q:ACCP}|schema:TC}[mid:m1,seq:1]";
    same(text, &Typed::<ToolReq<'_>>::decode(text).unwrap());
    let text =
        "@tool_agent>done:tool{tool:web_search|res:{hits:[...]}|schema:TC}[mid:m2,seq:2,cid:m1]";
    let done = Typed::<ToolDone<'_>>::decode(text).unwrap();
    assert_eq!(done.frame.status, "ok");
    same(text, &done);

    let text = "@tool_agent>fail:error{code:E4002|msg:no_route_to_host|retry:true|tool:web_search|schema:ER}\
                [mid:m2,seq:2,cid:m1]";
    let error = Typed::<ErrorFail<'_>>::decode(text).unwrap();
    assert_eq!(error.frame.code.parse(), Ok(ErrorCode::TOOL_EXEC_FAILED));
    assert_eq!(
        ErrorCode::TOOL_EXEC_FAILED.is_retryable(),
        Some(error.frame.retry)
    );
    same(text, &error);
}

#[test]
fn pro_tc_refuses_a_response_without_cid() {
    let text = "@b>done:tool{tool:web_search|res:7|schema:TC}[mid:100001000002,seq:2]";
    assert_eq!(refused::<ToolDone<'_>>(text), ErrorCode::INVALID_TYPE);
    let frame = ToolDone {
        tool_name: "web_search".into(),
        arguments: None,
        result: Some(Value::from(7)),
        status: "ok".into(),
        error_code: None,
    };
    assert_eq!(
        request(frame).encode().unwrap_err().code(),
        ErrorCode::INVALID_TYPE
    );
    let message = DynamicFrame::new("b", "done", "tool")
        .unwrap()
        .under("TC")
        .with("tool_name", "web_search");
    assert_eq!(
        message.encode(Registry::shared()).unwrap_err().code(),
        ErrorCode::INVALID_TYPE
    );
    for text in [
        "@a>req:tool{args:{q:x}|schema:TC}",
        "@a>req:tool{tool:t|args:[x]|schema:TC}",
    ] {
        assert_eq!(refused::<ToolReq<'_>>(text), ErrorCode::INVALID_TYPE);
    }
}

// ---- PRO-ST ------------------------------------------------------------------------

proptest! {
    #[test]
    fn pro_st_accepts_the_chunks_of_a_stream(pieces in proptest::collection::vec(any::<String>(), 1..6), counted: bool) {
        let total = pieces.len() as i64;
        let mut back = String::new();
        for (index, data) in pieces.iter().enumerate() {
            let is_final = index + 1 == pieces.len();
            let chunk = answer(InferStream {
                chunk_index: index as i64, total_chunks: counted.then_some(total), data: data.as_str().into(), is_final,
            });
            let text = chunk.encode().unwrap();
            let payload = same(&text, &chunk);
            prop_assert_eq!(text.contains("done:true"), is_final);
            prop_assert_eq!(&payload["is_final"], &json!(is_final));
            back += payload["data"].as_str().unwrap();
        }
        prop_assert_eq!(back, pieces.concat());
    }
}

#[test]
fn pro_st_accepts_the_examples_of_the_draft() {
    assert_eq!(
        fields("ST"),
        ["chunk_index", "total_chunks", "data", "is_final"]
    );
    assert_eq!(defaults("ST"), json!({ "is_final": false }));
    let mut said = String::new();
    for (at, params) in [
        "idx:0|tot:3|d:Hello",
        "idx:1|tot:3|d:_world",
        "idx:2|tot:3|d:!|done:true",
    ]
    .iter()
    .enumerate()
    {
        let text = format!(
            "@streamer>stream:infer{{{params}|schema:ST}}[mid:m{at},seq:{at},cid:stream_abc]"
        );
        assert!(agree(text.as_bytes()));
        // The draft abbreviates the stream's own field `data` to the standard key `d`.
        let chunk = Typed::<InferStream<'_>>::decode(&text).unwrap();
        assert_eq!(
            (chunk.frame.chunk_index, chunk.frame.is_final),
            (at as i64, at == 2)
        );
        same(&text, &chunk);
        said += &chunk.frame.data;
    }
    assert_eq!(said, "Hello world!");
}

#[test]
fn pro_st_refuses_a_chunk_without_index_data_or_cid() {
    for (params, metadata) in [
        ("d:x", "[cid:s]"),
        ("idx:0", "[cid:s]"),
        ("idx:0|d:x", ""),
        ("idx:0|d:x", "[sid:s]"),
        ("idx:first|d:x", "[cid:s]"),
        ("idx:0|d:x|done:yes", "[cid:s]"),
        ("idx:0|d:x|tot:3.0", "[cid:s]"),
    ] {
        let text = format!("@a>stream:infer{{{params}|schema:ST}}{metadata}");
        assert_eq!(
            refused::<InferStream<'_>>(&text),
            ErrorCode::INVALID_TYPE,
            "{text}"
        );
    }
    let frame = InferStream {
        chunk_index: 0,
        total_chunks: None,
        data: "x".into(),
        is_final: false,
    };
    assert_eq!(
        request(frame).encode().unwrap_err().code(),
        ErrorCode::INVALID_TYPE
    );
}

// ---- PRO-TA ------------------------------------------------------------------------

proptest! {
    #[test]
    fn pro_ta_accepts_a_task_and_its_report(
        assignee in "[A-Za-z0-9_-]{1,12}", task in short(), priority in "low|medium|high", deadline in option::of(short()),
        deps in proptest::collection::vec(short(), 0..4), progress in option::of(0..=100_i64),
    ) {
        let frame = ScheduleReq {
            assignee: AgentId::new(assignee.as_str()).unwrap(), task: task.as_str().into(), priority: priority.as_str().into(),
            deadline: cow(deadline), deps: deps.iter().map(|dep| dep.as_str().into()).collect(), status: None, progress: None,
        };
        let given = request(frame);
        let text = given.encode().unwrap();
        let payload = same(&text, &given);
        prop_assert_eq!(&payload["assignee"], &json!(assignee));
        prop_assert_eq!(&payload["priority"], &json!(priority));
        prop_assert_eq!(&payload["deps"], &json!(deps));
        prop_assert_eq!(text.contains("|pri:"), priority != "medium");
        prop_assert_eq!(text.contains("|deps:["), !deps.is_empty());

        let done = answer(ScheduleDone { task: task.as_str().into(), status: Some("complete".into()), progress });
        let payload = same(&done.encode().unwrap(), &done);
        prop_assert!(payload.get("priority").is_none() && payload.get("deps").is_none());
    }
}

#[test]
fn pro_ta_accepts_the_examples_of_the_draft() {
    assert_eq!(
        fields("TA"),
        ["assignee", "task", "priority", "deadline", "deps"]
    );
    assert_eq!(defaults("TA"), json!({ "priority": "medium", "deps": [] }));
    // The draft writes `asgn:@dev`, against its own grammar. This is the repaired frame.
    let text = r"@planner>req:schedule{asgn:\@dev|task:impl_auth|dead:sprint_14|pri:high|schema:TA}[mid:1,seq:8]";
    assert!(agree(text.as_bytes()));
    let given = Typed::<ScheduleReq<'_>>::decode(text).unwrap();
    assert_eq!(
        (given.frame.assignee.as_str(), &*given.frame.priority),
        ("dev", "high")
    );
    let text =
        "@dev>done:schedule{task:impl_auth|stat:complete|prog:100|schema:TA}[mid:2,seq:9,cid:1]";
    let done = Typed::<ScheduleDone<'_>>::decode(text).unwrap();
    assert_eq!(done.frame.progress, Some(100));
    same(text, &done);
}

#[test]
fn pro_ta_refuses_a_task_without_a_name_or_an_agent() {
    for payload in [
        "asgn:dev",
        "task:t",
        "asgn:dev|task:[t]",
        r"asgn:dev\:plan|task:t",
        "asgn:dev|task:t|deps:x",
        "asgn:dev|task:t|prog:most",
    ] {
        let text = format!("@a>req:schedule{{{payload}|schema:TA}}");
        assert_eq!(
            refused::<ScheduleReq<'_>>(&text),
            ErrorCode::INVALID_TYPE,
            "{text}"
        );
    }
}

// ---- PRO-ALL -----------------------------------------------------------------------

/// A receiver of frames of several profiles.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
enum Any<'a> {
    Question(ChatReq<'a>),
    Answer(ChatDone<'a>),
    Call(ToolReq<'a>),
    Result(ToolDone<'a>),
    Payment(TransactionReq<'a>),
    Chunk(InferStream<'a>),
    Task(ScheduleReq<'a>),
    Error(ErrorFail<'a>),
}

const FRAMES: [&str; 8] = [
    "@a>req:chat{role:user|content:hello|schema:CH}[mid:1,seq:1]",
    "@b>done:chat{content:hello|schema:CH}[mid:2,seq:2,cid:1]",
    "@b>req:tool{tool:search|schema:TC}[mid:3,seq:3]",
    "@c>done:tool{tool:search|res:[1,2]|schema:TC}[mid:4,seq:4,cid:3]",
    "@b>req:transaction{txn:t1|amt:1.5|schema:TX}[mid:5,seq:5]",
    "@b>stream:infer{idx:0|d:x|done:true|schema:ST}[mid:6,seq:6,cid:s]",
    "@b>req:schedule{asgn:c|task:t|schema:TA}[mid:7,seq:7]",
    "@c>fail:error{code:E4002|msg:no|retry:true|schema:ER}[mid:8,seq:8,cid:7]",
];

#[test]
fn pro_all_accepts_frames_of_every_profile_in_one_conversation() {
    let mut registry = Registry::from_json(include_str!("../registry/warehouse.json")).unwrap();
    registry.merge(Registry::standard()).unwrap();
    assert_eq!(registry.schemas().len(), 8);
    for text in FRAMES {
        let typed = Typed::<Any<'_>>::decode(text).unwrap();
        same(text, &typed);
        // Adding another registry to the profiles does not change how the frames are read.
        let message = DynamicFrame::decode(text, Registry::shared()).unwrap();
        assert_eq!(DynamicFrame::decode(text, &registry).as_ref(), Ok(&message));
    }
}

#[test]
fn pro_all_refuses_a_profile_that_is_not_active_and_two_that_clash() {
    let registry = Registry::from_json(include_str!("../registry/warehouse.json")).unwrap();
    let (error, profiles) = FRAMES.split_last().unwrap();
    for text in profiles {
        let code = DynamicFrame::decode(text, &registry).unwrap_err().code();
        assert_eq!(code, ErrorCode::UNKNOWN_SCHEMA);
    }
    // Errors are defined by section 3.6, and not by a profile, so every registry can read them.
    assert_eq!(
        DynamicFrame::decode(error, &registry),
        DynamicFrame::decode(error, Registry::shared())
    );
    for text in &FRAMES[2..] {
        assert!(Typed::<ChatMessageFrame<'_>>::decode(text).is_err());
    }
    let mut standard = Registry::standard();
    let clash = json!({ "schemas": { "chapter": { "code": "CH", "fields": ["title"] } } });
    standard
        .merge(Registry::from_json(&clash.to_string()).unwrap())
        .unwrap_err();
    assert_eq!(standard, Registry::standard());
}
