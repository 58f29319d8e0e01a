use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TB", intent = "req", operation = "schedule")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
