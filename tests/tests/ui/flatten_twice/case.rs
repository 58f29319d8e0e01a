use std::collections::BTreeMap;

use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct Task {
    assignee: String,
    task: String,
    #[accp(flatten)]
    more: BTreeMap<String, i64>,
    #[accp(flatten)]
    most: BTreeMap<String, i64>,
}

fn main() {}
