use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "assignee", ignore = "priority", ignore = "deps")]
struct Task {
    task: String,
}

fn main() {}
