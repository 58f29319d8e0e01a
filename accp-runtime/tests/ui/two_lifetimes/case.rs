use std::borrow::Cow;

use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task<'a, 'b> {
    assignee: Cow<'a, str>,
    task: Cow<'b, str>,
}

fn main() {}
