//! Typed decode and encode of one message, compared with other codecs: `cargo bench --manifest-path
//! benches/Cargo.toml --bench codec`.
//!
//! The message is a TA frame with a full envelope. The structs of the other codecs have the same fields under the
//! same full names, and borrow from the input if the codec can. prost has numbers instead of names. A dynamic message
//! is compared with a `serde_json::Value`.

use std::borrow::Cow;

use accp_bench::{contender, race};
use accp_runtime::{AccpFrame, AgentId, DynamicFrame, EncodeOptions, Registry, Typed};
use prost::Message as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct ScheduleTask<'a> {
    assignee: AgentId<'a>,
    task: Cow<'a, str>,
    priority: Cow<'a, str>,
    deadline: Option<Cow<'a, str>>,
    deps: Vec<Cow<'a, str>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Peer<'a> {
    agent: &'a str,
    intent: &'a str,
    operation: &'a str,
    assignee: &'a str,
    task: &'a str,
    priority: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<&'a str>,
    deps: Vec<&'a str>,
    msg_id: &'a str,
    sequence: u64,
    timestamp: i64,
    correlation_id: &'a str,
    causation_id: &'a str,
    session_id: &'a str,
    ttl: i64,
}

/// The fields of the frame as owned values, for the codecs that do not borrow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Owned {
    agent: String,
    intent: String,
    operation: String,
    assignee: String,
    task: String,
    priority: String,
    deadline: Option<String>,
    deps: Vec<String>,
    msg_id: String,
    sequence: u64,
    timestamp: i64,
    correlation_id: String,
    causation_id: String,
    session_id: String,
    ttl: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Proto {
    #[prost(string, tag = "1")]
    agent: String,
    #[prost(string, tag = "2")]
    intent: String,
    #[prost(string, tag = "3")]
    operation: String,
    #[prost(string, tag = "4")]
    assignee: String,
    #[prost(string, tag = "5")]
    task: String,
    #[prost(string, tag = "6")]
    priority: String,
    #[prost(string, optional, tag = "7")]
    deadline: Option<String>,
    #[prost(string, repeated, tag = "8")]
    deps: Vec<String>,
    #[prost(string, tag = "9")]
    msg_id: String,
    #[prost(uint64, tag = "10")]
    sequence: u64,
    #[prost(int64, tag = "11")]
    timestamp: i64,
    #[prost(string, tag = "12")]
    correlation_id: String,
    #[prost(string, tag = "13")]
    causation_id: String,
    #[prost(string, tag = "14")]
    session_id: String,
    #[prost(int64, tag = "15")]
    ttl: i64,
}

const FRAME: &str = "@planner>req:schedule{asgn:dev|task:impl_auth_module|pri:high|dead:sprint_14\
    |deps:[design_review,db_schema]|schema:TA}[mid:100001000008,seq:8,ts:1714000000,\
    cid:100001000001,aid:100001000007,sid:abc-session,ttl:300]";

/// The same frame with its keys in another order.
const SHUFFLED: &str = "@planner>req:schedule{schema:TA|deps:[design_review,db_schema]|pri:high\
    |task:impl_auth_module|dead:sprint_14|asgn:dev}[ttl:300,sid:abc-session,seq:8,mid:100001000008,\
    aid:100001000007,ts:1714000000,cid:100001000001]";
/// The same frame under full names.
const FULL_NAMES: &str = "@planner>req:schedule{assignee:dev|task:impl_auth_module|priority:high\
    |deadline:sprint_14|deps:[design_review,db_schema]|schema:TA}[msg_id:100001000008,sequence:8,\
    timestamp:1714000000,correlation_id:100001000001,causation_id:100001000007,\
    session_id:abc-session,ttl:300]";
/// The same frame with a field that the struct does not have.
const UNKNOWN: &str = "@planner>req:schedule{asgn:dev|task:impl_auth_module|pri:high|dead:sprint_14\
    |deps:[design_review,db_schema]|colour:red|schema:TA}[mid:100001000008,seq:8,ts:1714000000,\
    cid:100001000001,aid:100001000007,sid:abc-session,ttl:300]";

fn main() {
    let registry = Registry::shared();
    let typed = Typed::<ScheduleTask<'_>>::decode(FRAME).expect("the frame is valid");
    assert_eq!(typed.encode().as_deref(), Ok(FRAME));
    for other in [SHUFFLED, FULL_NAMES, UNKNOWN] {
        let other = Typed::<ScheduleTask<'_>>::decode(other).expect("the frame is valid");
        assert_eq!(other.frame, typed.frame);
        assert_eq!(other.envelope, typed.envelope);
    }
    let message = DynamicFrame::decode(FRAME, registry).expect("the frame is valid");

    let peer = Peer {
        agent: "planner",
        intent: "req",
        operation: "schedule",
        assignee: "dev",
        task: "impl_auth_module",
        priority: "high",
        deadline: Some("sprint_14"),
        deps: vec!["design_review", "db_schema"],
        msg_id: "100001000008",
        sequence: 8,
        timestamp: 1_714_000_000,
        correlation_id: "100001000001",
        causation_id: "100001000007",
        session_id: "abc-session",
        ttl: 300,
    };
    let json = serde_json::to_string(&peer).expect("JSON is written");
    let value: Value = serde_json::from_str(&json).expect("JSON is read");
    let owned: Owned = serde_json::from_str(&json).expect("JSON is read");
    let msgpack = rmp_serde::to_vec_named(&peer).expect("MessagePack is written");
    let proto = Proto {
        agent: owned.agent.clone(),
        intent: owned.intent.clone(),
        operation: owned.operation.clone(),
        assignee: owned.assignee.clone(),
        task: owned.task.clone(),
        priority: owned.priority.clone(),
        deadline: owned.deadline.clone(),
        deps: owned.deps.clone(),
        msg_id: owned.msg_id.clone(),
        sequence: owned.sequence,
        timestamp: owned.timestamp,
        correlation_id: owned.correlation_id.clone(),
        causation_id: owned.causation_id.clone(),
        session_id: owned.session_id.clone(),
        ttl: owned.ttl,
    };
    let protobuf = proto.encode_to_vec();
    let toon = toon_format::encode_default(&peer).expect("TOON is written");

    println!(
        "bytes: ACCP {}, JSON {}, MessagePack {}, protobuf {}, TOON {}\n",
        FRAME.len(),
        json.len(),
        msgpack.len(),
        protobuf.len(),
        toon.len()
    );

    race(
        "decode (x: times as fast as serde_json)",
        vec![
            contender("serde_json, borrowed", || {
                serde_json::from_str::<Peer<'_>>(&json).expect("valid")
            }),
            contender("accp, typed", || {
                Typed::<ScheduleTask<'_>>::decode(FRAME).expect("valid")
            }),
            contender("accp, typed, shuffled", || {
                Typed::<ScheduleTask<'_>>::decode(SHUFFLED).expect("valid")
            }),
            contender("accp, typed, full names", || {
                Typed::<ScheduleTask<'_>>::decode(FULL_NAMES).expect("valid")
            }),
            contender("accp, typed, unknown field", || {
                Typed::<ScheduleTask<'_>>::decode(UNKNOWN).expect("valid")
            }),
            contender("serde_json::Value", || {
                serde_json::from_str::<Value>(&json).expect("valid")
            }),
            contender("accp, dynamic message", || {
                DynamicFrame::decode(FRAME, registry).expect("valid")
            }),
            contender("sonic-rs, borrowed", || {
                sonic_rs::from_str::<Peer<'_>>(&json).expect("valid")
            }),
            contender("rmp-serde, borrowed", || {
                rmp_serde::from_slice::<Peer<'_>>(&msgpack).expect("valid")
            }),
            contender("prost", || {
                Proto::decode(protobuf.as_slice()).expect("valid")
            }),
            contender("toon-format", || {
                toon_format::decode_default::<Owned>(&toon).expect("valid")
            }),
        ],
    );

    let mut text = String::with_capacity(1024);
    let mut bytes = Vec::with_capacity(1024);
    let mut binary = Vec::with_capacity(1024);
    race(
        "encode, a new buffer each (x: times as fast as serde_json)",
        vec![
            contender("serde_json", || {
                serde_json::to_string(&peer).expect("written")
            }),
            contender("accp, typed", || typed.encode().expect("written")),
            contender("serde_json::Value", || {
                serde_json::to_string(&value).expect("written")
            }),
            contender("accp, dynamic message", || {
                message.encode(registry).expect("written")
            }),
            contender("sonic-rs", || sonic_rs::to_string(&peer).expect("written")),
            contender("rmp-serde", || {
                rmp_serde::to_vec_named(&peer).expect("written")
            }),
            contender("prost", || proto.encode_to_vec()),
            contender("toon-format", || {
                toon_format::encode_default(&peer).expect("written")
            }),
        ],
    );
    race(
        "encode into a buffer that is there (x: times as fast as serde_json)",
        vec![
            contender("serde_json", || {
                bytes.clear();
                serde_json::to_writer(&mut bytes, &peer).expect("written");
            }),
            contender("accp, typed", || {
                text.clear();
                typed
                    .encode_into(&mut text, EncodeOptions::default())
                    .expect("written");
            }),
            contender("prost", || {
                binary.clear();
                proto.encode(&mut binary).expect("written");
            }),
        ],
    );
}
