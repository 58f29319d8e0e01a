use std::collections::BTreeMap;

use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct Task {
    assignee: String,
    task: String,
    #[accp(flatten)]
    more: BTreeMap<String, accp_runtime::Value<'static>>,
    #[accp(flatten)]
    most: BTreeMap<String, accp_runtime::Value<'static>>,
}

fn main() {}
