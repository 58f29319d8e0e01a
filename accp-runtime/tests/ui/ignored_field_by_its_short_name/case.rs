use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "pri", ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
