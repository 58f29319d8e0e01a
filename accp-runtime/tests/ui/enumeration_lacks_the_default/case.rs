use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Priority {
    Low,
    High,
}

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
    priority: Priority,
}

fn main() {}
