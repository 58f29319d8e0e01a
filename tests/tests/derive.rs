//! What `#[derive(AccpFrame)]` makes of structs and enums, at run time.

use std::borrow::Cow;

use accp_runtime::{AccpFrame, AgentId, DecodeFrame, EncodeFrame, Envelope, Message, Registry, Typed};

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct ScheduleTask<'a> {
    task: Cow<'a, str>,
    assignee: AgentId<'a>,
    #[accp(default)]
    priority: Priority,
    deadline: Option<Cow<'a, str>>,
    deps: Vec<Cow<'a, str>>,
}

#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
enum Priority {
    Low,
    Medium,
    High,
}

#[test]
fn first() {
    let text = "@planner>req:schedule{asgn:dev|task:impl_auth|pri:high|dead:sprint_14|schema:TA}[mid:100001000001,seq:8,ts:1714000000]";
    let typed = Typed::<ScheduleTask<'_>>::decode(text).unwrap();
    assert_eq!(typed.frame.priority, Priority::High);
    assert_eq!(typed.encode().unwrap(), text);
}
