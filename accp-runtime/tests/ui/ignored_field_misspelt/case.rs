use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priorty", ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
