use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
    prioritiy: String,
}

fn main() {}
