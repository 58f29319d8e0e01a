use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority")]
struct Task {
    assignee: String,
    task: String,
    deps: Option<Vec<Option<String>>>,
}

fn main() {}
