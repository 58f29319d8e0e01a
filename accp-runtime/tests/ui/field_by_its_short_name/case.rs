use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task {
    asgn: String,
    assignee: String,
    task: String,
}

fn main() {}
