//! The messages that the codecs read and write: small, typical, large with records inside, and a text that has to be
//! escaped. Each has a frame, a struct for serde that borrows what it can, and the values for prost, from which the
//! texts of all others are made.

use std::borrow::Cow;

use accp_runtime::{AccpFrame, AgentId};
use serde::{Deserialize, Serialize};

/// The types that prost makes.
pub mod proto {
    include!(concat!(env!("OUT_DIR"), "/prost/frames.rs"));
}

/// The types that buffa makes.
#[expect(clippy::all, clippy::pedantic, reason = "the generator's")]
pub mod generated {
    include!(concat!(env!("OUT_DIR"), "/buffa/buffa.rs"));
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(
    schema = "BK",
    intent = "done",
    operation = "bake",
    registry = "registry.json"
)]
pub struct Bread<'a> {
    pub loaf: Cow<'a, str>,
    pub count: i64,
    pub crisp: bool,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
pub struct ScheduleTask<'a> {
    pub assignee: AgentId<'a>,
    pub task: Cow<'a, str>,
    pub priority: Cow<'a, str>,
    pub deadline: Option<Cow<'a, str>>,
    pub deps: Vec<Cow<'a, str>>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(
    schema = "ORD",
    intent = "req",
    operation = "order",
    registry = "registry.json"
)]
pub struct Order<'a> {
    pub customer: Cow<'a, str>,
    pub lines: Vec<OrderLine<'a>>,
    pub remark: Cow<'a, str>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(schema = "LN", registry = "registry.json")]
pub struct OrderLine<'a> {
    pub article: Cow<'a, str>,
    pub name: Cow<'a, str>,
    pub count: i64,
    pub cents: i64,
    pub gift: bool,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(
    schema = "NT",
    intent = "done",
    operation = "note",
    registry = "registry.json"
)]
pub struct Note<'a> {
    pub title: Cow<'a, str>,
    pub text: Cow<'a, str>,
}

/// The structs for serde have the same fields under the same full names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Small<'a> {
    agent: &'a str,
    intent: &'a str,
    operation: &'a str,
    loaf: &'a str,
    count: i64,
    crisp: bool,
    session_id: &'a str,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Typical<'a> {
    agent: &'a str,
    intent: &'a str,
    operation: &'a str,
    assignee: &'a str,
    task: &'a str,
    priority: &'a str,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Large<'a> {
    agent: &'a str,
    intent: &'a str,
    operation: &'a str,
    customer: &'a str,
    #[serde(borrow)]
    lines: Vec<Line<'a>>,
    remark: &'a str,
    session_id: &'a str,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line<'a> {
    article: &'a str,
    name: &'a str,
    count: i64,
    cents: i64,
    gift: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Escaped<'a> {
    agent: &'a str,
    intent: &'a str,
    operation: &'a str,
    title: &'a str,
    #[serde(borrow)]
    text: Cow<'a, str>,
    session_id: &'a str,
}

/// A frame of 53 bytes.
pub const SMALL: &str = "@oven>done:bake{loaf:rye|count:12|crisp:true|schema:BK}[sid:k]";

/// A frame with a full envelope.
pub const TYPICAL: &str = "@planner>req:schedule{asgn:dev|task:impl_auth_module|pri:high|dead:sprint_14\
    |deps:[design_review,db_schema]|schema:TA}[mid:100001000008,seq:8,ts:1714000000,\
    cid:100001000001,aid:100001000007,sid:abc-session,ttl:300]";
/// The same frame with its keys in another order.
pub const SHUFFLED: &str = "@planner>req:schedule{schema:TA|deps:[design_review,db_schema]|pri:high\
    |task:impl_auth_module|dead:sprint_14|asgn:dev}[ttl:300,sid:abc-session,seq:8,mid:100001000008,\
    aid:100001000007,ts:1714000000,cid:100001000001]";
/// The same frame under full names.
pub const FULL_NAMES: &str = "@planner>req:schedule{assignee:dev|task:impl_auth_module|priority:high\
    |deadline:sprint_14|deps:[design_review,db_schema]|schema:TA}[msg_id:100001000008,sequence:8,\
    timestamp:1714000000,correlation_id:100001000001,causation_id:100001000007,\
    session_id:abc-session,ttl:300]";
/// The same frame with a field that the struct does not have.
pub const UNKNOWN: &str = "@planner>req:schedule{asgn:dev|task:impl_auth_module|pri:high|dead:sprint_14\
    |deps:[design_review,db_schema]|colour:red|schema:TA}[mid:100001000008,seq:8,ts:1714000000,\
    cid:100001000001,aid:100001000007,sid:abc-session,ttl:300]";

pub fn small() -> proto::Small {
    proto::Small {
        agent: "oven".to_owned(),
        intent: "done".to_owned(),
        operation: "bake".to_owned(),
        loaf: "rye".to_owned(),
        count: 12,
        crisp: true,
        session_id: "k".to_owned(),
    }
}

pub fn typical() -> proto::Typical {
    proto::Typical {
        agent: "planner".to_owned(),
        intent: "req".to_owned(),
        operation: "schedule".to_owned(),
        assignee: "dev".to_owned(),
        task: "impl_auth_module".to_owned(),
        priority: "high".to_owned(),
        deadline: Some("sprint_14".to_owned()),
        deps: vec!["design_review".to_owned(), "db_schema".to_owned()],
        msg_id: "100001000008".to_owned(),
        sequence: 8,
        timestamp: 1_714_000_000,
        correlation_id: "100001000001".to_owned(),
        causation_id: "100001000007".to_owned(),
        session_id: "abc-session".to_owned(),
        ttl: 300,
    }
}

pub fn large() -> proto::Large {
    let line = |number: i64| proto::Line {
        article: format!("A-{}", 1000 + number),
        name: format!("shelf_board_{number}_oiled_oak"),
        count: number % 7 + 1,
        cents: 1990 + 45 * number,
        gift: number % 5 == 0,
    };
    proto::Large {
        agent: "desk".to_owned(),
        intent: "req".to_owned(),
        operation: "order".to_owned(),
        customer: "C-2048".to_owned(),
        lines: (0..48).map(line).collect(),
        remark: "ring_twice".to_owned(),
        session_id: "abc-session".to_owned(),
    }
}

pub fn escaped() -> proto::Escaped {
    let line = "if (a > b) { log(\"done: [a|b], at $5\"); }\n\tsay(\"~ok~\");\n";
    proto::Escaped {
        agent: "scribe".to_owned(),
        intent: "done".to_owned(),
        operation: "note".to_owned(),
        title: "listing".to_owned(),
        text: line.repeat(32),
        session_id: "abc-session".to_owned(),
    }
}

/// Returns the frame of a large message.
pub fn order(large: &proto::Large) -> Order<'_> {
    let lines = large.lines.iter().map(|line| OrderLine {
        article: Cow::Borrowed(&line.article),
        name: Cow::Borrowed(&line.name),
        count: line.count,
        cents: line.cents,
        gift: line.gift,
    });
    Order {
        customer: Cow::Borrowed(&large.customer),
        lines: lines.collect(),
        remark: Cow::Borrowed(&large.remark),
    }
}
