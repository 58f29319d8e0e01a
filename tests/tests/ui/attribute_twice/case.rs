use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule", schema = "TC")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
